/*
 * qemu_api.h - the part of QEMU's internal interface that the device module
 * uses, declared by us.
 *
 * A distribution's qemu-system-* is built with loadable modules and therefore
 * exports its internal functions to shared objects, but ships no headers. The
 * prototypes below were compared with QEMU 7.2, 10.0 and 11.1, or called with
 * each of them (clocks, watchdog, character devices). Each function
 * is looked up by name when the module is loaded (qemu_api.c), so a QEMU that
 * lacks one is refused with its name and not with a loader error.
 *
 * What differs between versions is hidden here:
 * - the big lock: qemu_mutex_lock_iothread_impl (to 8.2), bql_lock_impl (9.0);
 * - MemTxAttrs: 4 bytes in 7.2 with `secure` in bit 1 and `unspecified` in
 *   bit 0, 8 bytes in 10.0 with `secure` in bit 0 and `unspecified` in byte 4.
 *   It travels in one integer register; QEMU_ATTRS reads right in both;
 * - use_icount: an int up to 9.0, an enumeration after, zero means off.
 */
#ifndef FWGEN_QEMU_API_H
#define FWGEN_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Object Object;
typedef struct DeviceState DeviceState;
typedef struct CPUState CPUState;
typedef struct AddressSpace AddressSpace;
typedef struct MemoryRegion MemoryRegion;
typedef struct QEMUTimer QEMUTimer;
typedef struct AioContext AioContext;
typedef struct Error Error;
typedef struct Chardev Chardev;
typedef struct CharBackend CharBackend;
typedef struct Clock Clock;
typedef struct SerialMM SerialMM;
typedef struct SysBusDevice SysBusDevice;
typedef struct IRQState *qemu_irq;

/* Opaque structures that we allocate: more than any version needs
 * (MemoryRegion is below 400 bytes, QEMUTimer is 48, CharBackend 64). */
#define QEMU_MEMORY_REGION_BYTES 4096u
#define QEMU_TIMER_BYTES 256u
#define QEMU_CHAR_BACKEND_BYTES 512u

#define QEMU_ATTRS (UINT64_C(1) | (UINT64_C(1) << 32))
#define QEMU_CLOCK_VIRTUAL 1
#define QEMU_SCALE_NS 1
#define QEMU_GUEST_RESET 7 /* SHUTDOWN_CAUSE_GUEST_RESET */
#define QEMU_DEVICE_LITTLE_ENDIAN 2
#define QEMU_MEMTX_OK 0u
#define QEMU_MEMTX_DECODE_ERROR 2u
#define QEMU_MAX_MMIO 32u /* regions of a SysBusDevice */

typedef struct Notifier {
    void (*notify)(struct Notifier *notifier, void *data);
    struct {
        struct Notifier *next;
        struct Notifier **previous;
    } node;
} Notifier;

typedef struct MemoryRegionOps {
    uint64_t (*read)(void *opaque, uint64_t addr, unsigned size);
    void (*write)(void *opaque, uint64_t addr, uint64_t data, unsigned size);
    uint32_t (*read_with_attrs)(void *opaque, uint64_t addr, uint64_t *data,
                                unsigned size, uint64_t attrs);
    uint32_t (*write_with_attrs)(void *opaque, uint64_t addr, uint64_t data,
                                 unsigned size, uint64_t attrs);
    int endianness;
    struct {
        unsigned min_access_size;
        unsigned max_access_size;
        bool unaligned;
        void *accepts;
    } valid;
    struct {
        unsigned min_access_size;
        unsigned max_access_size;
        bool unaligned;
    } impl;
} MemoryRegionOps;

/* X(return type, name, parameters): every function that must exist. */
#define QEMU_FUNCTIONS(X)                                                      \
    X(void, qemu_add_machine_init_done_notifier, (Notifier *))                 \
    X(MemoryRegion *, get_system_memory, (void))                               \
    X(void, memory_region_init_io,                                             \
      (MemoryRegion *, Object *, const MemoryRegionOps *, void *,              \
       const char *, uint64_t))                                                \
    X(void, memory_region_init,                                                \
      (MemoryRegion *, Object *, const char *, uint64_t))                      \
    X(void, memory_region_init_alias,                                          \
      (MemoryRegion *, Object *, const char *, MemoryRegion *, uint64_t,       \
       uint64_t))                                                              \
    /* From 9.0 on it returns a bool beside the error. */                      \
    X(void, memory_region_init_ram,                                            \
      (MemoryRegion *, Object *, const char *, uint64_t, Error **))            \
    X(uint64_t, memory_region_size, (MemoryRegion *))                          \
    X(MemoryRegion *, sysbus_mmio_get_region, (SysBusDevice *, int))           \
    X(void, memory_region_add_subregion_overlap,                               \
      (MemoryRegion *, uint64_t, MemoryRegion *, int))                         \
    X(CPUState *, qemu_get_cpu, (int))                                         \
    X(AddressSpace *, cpu_get_address_space, (CPUState *, int))                \
    X(uint32_t, address_space_rw,                                              \
      (AddressSpace *, uint64_t, uint64_t, void *, uint64_t, bool))            \
    X(Object *, object_resolve_path, (const char *, bool *))                   \
    X(Object *, object_resolve_path_type,                                      \
      (const char *, const char *, bool *))                                    \
    X(Object *, object_dynamic_cast, (Object *, const char *))                 \
    X(uint64_t, object_property_get_uint, (Object *, const char *, Error **))  \
    X(const char *, object_get_typename, (const Object *))                     \
    X(void, error_free, (Error *))                                             \
    X(const char *, error_get_pretty, (const Error *))                         \
    X(qemu_irq, qdev_get_gpio_in, (DeviceState *, int))                        \
    X(void, qemu_set_irq, (qemu_irq, int))                                     \
    X(void, qemu_register_reset, (void (*)(void *), void *))                   \
    X(void, watchdog_perform_action, (void))                                   \
    X(void, qemu_system_reset_request, (int))                                  \
    X(bool, clock_set, (Clock *, uint64_t))                                    \
    X(void, clock_propagate, (Clock *))                                        \
    X(Chardev *, qemu_chr_find, (const char *))                                \
    X(bool, qemu_chr_fe_init, (CharBackend *, Chardev *, Error **))            \
    X(void, qemu_chr_fe_set_handlers,                                          \
      (CharBackend *, int (*)(void *), void (*)(void *, const uint8_t *, int), \
       void (*)(void *, int), int (*)(void *), void *, void *, bool))          \
    X(int, qemu_chr_fe_write_all, (CharBackend *, const uint8_t *, int))       \
    X(void, qemu_chr_fe_accept_input, (CharBackend *))                         \
    X(SerialMM *, serial_mm_init,                                              \
      (MemoryRegion *, uint64_t, int, qemu_irq, int, Chardev *, int))          \
    X(void, timer_init_full,                                                   \
      (QEMUTimer *, void *, int, int, int, void (*)(void *), void *))          \
    X(void, timer_mod_ns, (QEMUTimer *, int64_t))                              \
    X(void, timer_del, (QEMUTimer *))                                          \
    X(int64_t, qemu_clock_get_ns, (int))                                       \
    X(AioContext *, qemu_get_aio_context, (void))                              \
    X(void, aio_bh_schedule_oneshot_full,                                      \
      (AioContext *, void (*)(void *), void *, const char *))                  \
    X(void, rcu_register_thread, (void))                                       \
    X(void, rcu_unregister_thread, (void))

struct qemu_api {
#define QEMU_MEMBER(type, name, parameters) type(*name) parameters;
    QEMU_FUNCTIONS(QEMU_MEMBER)
#undef QEMU_MEMBER
    /* The big lock, under the name this version has. */
    void (*lock)(const char *file, int line);
    void (*unlock)(void);
    const int *use_icount; /* NULL when this QEMU has none */
};

extern struct qemu_api qemu;

/* Fills `qemu`. Returns false when something is missing and writes the
 * comma-separated names into missing[0..size). */
bool qemu_api_load(char *missing, size_t size);

/* True when virtual time is counted in instructions (-icount). */
static inline bool qemu_icount(void)
{
    return qemu.use_icount != NULL && *qemu.use_icount != 0;
}

#endif
