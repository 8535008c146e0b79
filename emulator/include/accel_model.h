/*
 * accel_model.h - the interface of an emulated accelerator.
 *
 * A model is a plain C11 library: it knows registers, memory and an interrupt
 * line, and nothing of QEMU, threads or files. Three users drive it: the replay
 * and test binding (fwgen.machine.model_library, through ctypes), the QEMU
 * device module (emulator/qemu), and the fuzz target.
 *
 * Time. A model counts cycles of the accelerator's core clock. It never
 * reads a clock: the owner calls advance(). A register write may launch an
 * operation; the operation's result reaches memory, its status bits change and
 * its interrupt rises when advance() passes its completion time.
 * next_event() tells how far that is, so that an owner with a timer (QEMU)
 * can arm it and an owner without one can call advance(UINT64_MAX), which runs
 * until nothing is left to complete.
 *
 * Threads. A model is used by one thread at a time, with one exception:
 * execute() may run in a worker thread while other calls are made from the
 * owner's thread. It computes the operations launched so far into private
 * buffers or memory, so that a later advance() has little left to do. A model
 * that has no such split leaves the pointer NULL.
 *
 * Guest errors. Whatever a guest does wrong (a reserved value, an access to a
 * register that does not exist, a mode that is not modelled, a DMA address
 * outside the memory) is reported through guest_error() with the register's
 * name, counted, and never crashes or hangs the host.
 */
#ifndef FWGEN_ACCEL_MODEL_H
#define FWGEN_ACCEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACCEL_NO_EVENT UINT64_MAX

/* Memory ports of an accelerator. */
enum accel_space {
    ACCEL_DRAM = 0, /* NVDLA: DBBIF, "MC", pri_mem */
    ACCEL_SRAM = 1, /* NVDLA: SRAMIF (CVSRAM), "CV", sec_mem */
};

/* One finished operation, for profiles and the trace. */
struct accel_op_event {
    const char *unit;     /* static string, e.g. "CONV", "SDP", "PDP" */
    unsigned group;       /* register group that held the operation */
    uint64_t start_cycle; /* model time at which the operation started */
    uint64_t end_cycle;   /* model time at which it completed */
    uint64_t macs;        /* multiply-accumulates, 0 where there are none */
    uint64_t bytes_read;  /* DMA bytes in, by the cycle estimate's rules */
    uint64_t bytes_written;
};

/* What the owner provides. Every pointer may be NULL except read and write. */
struct accel_host {
    void *opaque;
    /* Both return false when any byte of [addr, addr + len) is not memory the
     * accelerator may reach; then nothing has been transferred. */
    bool (*read)(void *opaque, enum accel_space space, uint64_t addr, void *dst,
                 size_t len);
    bool (*write)(void *opaque, enum accel_space space, uint64_t addr,
                  const void *src, size_t len);
    /* Level of the interrupt line; called only when it changes. */
    void (*irq)(void *opaque, bool level);
    /* One line of text without a newline, valid during the call. */
    void (*guest_error)(void *opaque, const char *message);
    void (*op_done)(void *opaque, const struct accel_op_event *event);
};

struct accel_model; /* private to the family */

/* Entry points of one family. Offsets are byte offsets in the register window
 * and multiples of 4; other accesses are the owner's guest error. */
struct accel_family {
    const char *name; /* "nvdla" */
    /* NULL-terminated list of configuration names. */
    const char *const *(*configs)(void);
    /* Returns NULL and fills error (a sentence) when config is unknown or
     * memory ran out. The host structure is copied. */
    struct accel_model *(*create)(const char *config,
                                  const struct accel_host *host, char *error,
                                  size_t error_size);
    void (*destroy)(struct accel_model *model);
    void (*reset)(struct accel_model *model);
    uint32_t (*read)(struct accel_model *model, uint32_t offset);
    void (*write)(struct accel_model *model, uint32_t offset, uint32_t value);
    /* Cycles from now to the next completion, or ACCEL_NO_EVENT. */
    uint64_t (*next_event)(const struct accel_model *model);
    void (*advance)(struct accel_model *model, uint64_t cycles);
    void (*execute)(struct accel_model *model);
    uint64_t (*guest_errors)(const struct accel_model *model);
    /* Name of the register at offset ("CDMA.D_BANK"), or NULL. */
    const char *(*register_name)(uint32_t offset);
    /* Arms one fault for driver tests. spec is "KIND[:N[:ARG]]" with N the
     * 0-based count of completed operations at which it strikes, or "*" for
     * each: irq-lost, irq-late:N:CYCLES, irq-twice, irq-spurious, stuck-busy,
     * dma-error, bit-flip:N:BIT. Returns false and fills error on a bad spec.
     */
    bool (*fault)(struct accel_model *model, const char *spec, char *error,
                  size_t error_size);
    uint32_t window_size; /* bytes of the register window */
    /* Whether this register write resets the accelerator. It then waits for an
     * execute() under way, which an owner may want to wait for beforehand, with
     * its own locks open. NULL: no register does. */
    bool (*resets)(uint32_t offset, uint32_t value);
};

/* The families built into this library, NULL-terminated. */
const struct accel_family *const *accel_families(void);
/* NULL when there is none of that name. */
const struct accel_family *accel_family_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
