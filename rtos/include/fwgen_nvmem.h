/*
 * fwgen_nvmem.h - non-volatile memory: partitions of one flash device, and the
 * driver below them.
 *
 * The device is the one of the board profile, `[nvmem]`. It is flash in the
 * general sense: an erase sets a block to all ones, programming clears bits of
 * whole program units, and a cut of power may leave either half done. Whoever
 * writes here must expect that (docs/update.md says how the runtime does).
 *
 * The functions may be called from any task, before the scheduler runs too; not
 * from an interrupt. One task at a time uses the device: a caller that shares
 * it holds fwgen_nvmem_lock(). None of them waits longer than the driver's
 * bounds for one block or unit.
 */
#ifndef FWGEN_NVMEM_H
#define FWGEN_NVMEM_H

#include <stdbool.h>
#include <stdint.h>

#include "fwgen_config_defaults.h"
#include "fwgen_result.h"

/* Largest program unit that the runtime's own data structures can use. */
#define FWGEN_PROGRAM_MAX 512u

struct fwgen_nvmem;

/*
 * Driver of a kind of device. Offsets count from the start of the device and
 * are checked by the caller: `read` any range, `program` whole units of an
 * erased range, `erase` one block by its first byte, `commit` returns when
 * everything before has reached the cells. Each returns FWGEN_OK, or
 * FWGEN_ERROR_FLASH after its own bounded time.
 */
struct fwgen_nvmem_driver {
    enum fwgen_result (*start)(const struct fwgen_nvmem *device);
    enum fwgen_result (*read)(const struct fwgen_nvmem *device, uint32_t offset,
                              void *data, uint32_t length);
    enum fwgen_result (*program)(const struct fwgen_nvmem *device,
                                 uint32_t offset, const void *data,
                                 uint32_t length);
    enum fwgen_result (*erase)(const struct fwgen_nvmem *device,
                               uint32_t offset);
    enum fwgen_result (*commit)(const struct fwgen_nvmem *device);
};

/* The device. */
struct fwgen_nvmem {
    const struct fwgen_nvmem_driver *driver;
    uintptr_t base; /* where the CPU reads it; 0: not memory-mapped */
    uint32_t size;
    uint32_t erase_size;   /* of a block */
    uint32_t program_size; /* of a unit, at most FWGEN_PROGRAM_MAX */
};

enum fwgen_partition_kind {
    FWGEN_PARTITION_RAW = 0,      /* the application's */
    FWGEN_PARTITION_SETTINGS = 1, /* fwgen_store.h */
    FWGEN_PARTITION_STATE = 2,    /* of the slots; the runtime's own */
    FWGEN_PARTITION_SLOT = 3,     /* a model package */
};

/* A named range of the device; whole blocks. */
struct fwgen_partition {
    const char *name;
    const struct fwgen_nvmem *device;
    uint32_t offset;
    uint32_t size;
    uint8_t kind; /* enum fwgen_partition_kind */
};

/* The partitions of the board, generated. */
extern const struct fwgen_partition fwgen_partitions[];
extern const uint32_t fwgen_partition_count;

/* The partition of that name, or NULL. Any context. */
const struct fwgen_partition *fwgen_partition_find(const char *name);

/* Where the CPU reads a partition's first byte; 0: it cannot. Any context. */
uintptr_t fwgen_partition_address(const struct fwgen_partition *partition);

/*
 * Reads any range. Returns FWGEN_OK, FWGEN_ERROR_BAD_RANGE (outside the
 * partition) or FWGEN_ERROR_FLASH.
 */
enum fwgen_result fwgen_nvmem_read(const struct fwgen_partition *partition,
                                   uint32_t offset, void *data,
                                   uint32_t length);

/*
 * Programs whole units and reads them back. The range was erased and not
 * written since. Returns FWGEN_OK, FWGEN_ERROR_BAD_RANGE,
 * FWGEN_ERROR_ALIGNMENT (offset or length is no multiple of the unit), or
 * FWGEN_ERROR_FLASH: the device failed, or holds something else now.
 */
enum fwgen_result fwgen_nvmem_write(const struct fwgen_partition *partition,
                                    uint32_t offset, const void *data,
                                    uint32_t length);

/* Erases whole blocks; errors as above, alignment to the block. */
enum fwgen_result fwgen_nvmem_erase(const struct fwgen_partition *partition,
                                    uint32_t offset, uint32_t length);

/* Returns when everything written before is safe from a cut of power. */
enum fwgen_result fwgen_nvmem_commit(const struct fwgen_partition *partition);

/* The lock that tasks share the device with. Not recursive. */
void fwgen_nvmem_lock(void);
void fwgen_nvmem_unlock(void);

/* The drivers. `ram`: memory that behaves like flash and keeps its contents
 * across a reset; `cfi`: NOR flash with a Common Flash Interface (nvmem/cfi.c);
 * `user`: the application's, which defines the object. */
extern const struct fwgen_nvmem_driver fwgen_nvmem_ram;
extern const struct fwgen_nvmem_driver fwgen_nvmem_cfi;
extern const struct fwgen_nvmem_driver fwgen_nvmem_user;

#endif
