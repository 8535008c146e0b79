/*
 * job.h - what the front end hands to the NN and TP engines, and gets back.
 *
 * A job is one descriptor of 128 bytes (32 words) that a state write names. An
 * engine is a function of the descriptor, the facts of the configuration and
 * the memory; it keeps no state, so that it may run in a worker thread.
 */
#ifndef FWGEN_VIP_JOB_H
#define FWGEN_VIP_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VIP_JOB_WORDS 32u

/* Memory as the engines see it: the window of the VIP SRAM, the AXI SRAM and
 * system memory behind one 32-bit address. */
struct vip_memory {
    void *opaque;
    /* Both return false when any byte of [addr, addr + len) is not memory; the
     * error has been reported then, nothing has been transferred, and the
     * engine gives up the job. */
    bool (*read)(void *opaque, uint64_t addr, void *dst, size_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *src, size_t len);
    /* A descriptor or coefficient field that the hardware rules exclude or
     * that is not modelled: one line that names word, field and value. */
    void (*error)(void *opaque, const char *message);
};

enum vip_generation { VIP_V7, VIP_V8 };

struct vip_job_facts {
    enum vip_generation generation;
    unsigned nn_cores; /* of the configuration, however many a job uses */
    unsigned tp_cores;
    uint32_t nn_config; /* state GL_NN_CONFIG (0x3930) when the job started */
    /* Work that one job may cause on the host; more is an error. Products of
     * descriptor fields must be compared to these without overflow. */
    uint64_t max_macs;     /* NN: multiply-accumulates */
    uint64_t max_elements; /* elements read, decoded or written */
    size_t max_bytes;      /* one host buffer */
};

/* For the profile and the cycle estimate; all zero when a job was refused. */
struct vip_job_cost {
    uint64_t macs;
    uint64_t bytes_read;
    uint64_t bytes_written;
};

/* Runs one job to its end. False when it was refused or cut short: then
 * memory->error, or memory->read or write, has reported why. */
bool vip_nn_run(const struct vip_memory *memory,
                const struct vip_job_facts *facts,
                const uint32_t words[VIP_JOB_WORDS], struct vip_job_cost *cost);
bool vip_tp_run(const struct vip_memory *memory,
                const struct vip_job_facts *facts,
                const uint32_t words[VIP_JOB_WORDS], struct vip_job_cost *cost);

/* Formats one line for memory->error; returns false for "return ...". */
__attribute__((format(printf, 2, 3))) bool
vip_job_error(const struct vip_memory *memory, const char *format, ...);

/* Bits [low, low + count) of a descriptor word, 0 < count <= 32. */
static inline uint32_t vip_bits(const uint32_t words[VIP_JOB_WORDS],
                                unsigned word, unsigned low, unsigned count)
{
    return words[word] >> low & (uint32_t)(((uint64_t)1 << count) - 1u);
}

/* A ring buffer: addresses from its end on start again at its beginning. */
struct vip_ring {
    uint64_t size; /* bytes, 0: no ring */
    uint64_t end;  /* address of the first byte behind it */
};

/* The two ring fields of a descriptor, each an address >> 6 in 26 bits. */
static inline struct vip_ring vip_ring_of(uint32_t size_word, uint32_t end_word)
{
    struct vip_ring ring = {(uint64_t)(size_word & 0x3ffffffu) << 6,
                            (uint64_t)(end_word & 0x3ffffffu) << 6};

    return ring;
}

/* The address after wrapping, in one step however far it is beyond the end. */
static inline uint64_t vip_ring_wrap(struct vip_ring ring, uint64_t address)
{
    if (ring.size == 0 || address < ring.end) {
        return address;
    }
    return ring.end - ring.size + (address - ring.end) % ring.size;
}

#ifdef __cplusplus
}
#endif

#endif
