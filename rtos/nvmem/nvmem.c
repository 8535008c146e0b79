/*
 * nvmem.c - partitions over the driver of the device: bounds, alignment, and
 * what was written is read back.
 */
#include "fwgen_nvmem.h"

#include <string.h>

#if FWGEN_NVMEM

const struct fwgen_partition *fwgen_partition_find(const char *name)
{
    for (uint32_t i = 0; i < fwgen_partition_count; i++) {
        if (strcmp(fwgen_partitions[i].name, name) == 0) {
            return &fwgen_partitions[i];
        }
    }
    return NULL;
}

uintptr_t fwgen_partition_address(const struct fwgen_partition *partition)
{
    const uintptr_t base = partition->device->base;

    return base == 0u ? 0u : base + partition->offset;
}

static bool is_inside(const struct fwgen_partition *partition, uint32_t offset,
                      uint32_t length)
{
    return length <= partition->size && offset <= partition->size - length;
}

enum fwgen_result fwgen_nvmem_read(const struct fwgen_partition *partition,
                                   uint32_t offset, void *data, uint32_t length)
{
    const struct fwgen_nvmem *device = partition->device;

    if (!is_inside(partition, offset, length)) {
        return FWGEN_ERROR_BAD_RANGE;
    }
    return device->driver->read(device, partition->offset + offset, data,
                                length);
}

/* Whether the cells hold what was programmed. */
static enum fwgen_result compare(const struct fwgen_partition *partition,
                                 uint32_t offset, const uint8_t *data,
                                 uint32_t length)
{
    uint8_t found[64];

    while (length != 0u) {
        const uint32_t part = length < sizeof(found) ? length : sizeof(found);
        const enum fwgen_result result =
            fwgen_nvmem_read(partition, offset, found, part);

        if (result != FWGEN_OK) {
            return result;
        }
        if (memcmp(found, data, part) != 0) {
            return FWGEN_ERROR_FLASH;
        }
        offset += part;
        data += part;
        length -= part;
    }
    return FWGEN_OK;
}

enum fwgen_result fwgen_nvmem_write(const struct fwgen_partition *partition,
                                    uint32_t offset, const void *data,
                                    uint32_t length)
{
    const struct fwgen_nvmem *device = partition->device;
    enum fwgen_result result;

    if (!is_inside(partition, offset, length)) {
        return FWGEN_ERROR_BAD_RANGE;
    }
    if (offset % device->program_size != 0u ||
        length % device->program_size != 0u) {
        return FWGEN_ERROR_ALIGNMENT;
    }
    result = device->driver->program(device, partition->offset + offset, data,
                                     length);
    return result != FWGEN_OK ? result
                              : compare(partition, offset, data, length);
}

enum fwgen_result fwgen_nvmem_erase(const struct fwgen_partition *partition,
                                    uint32_t offset, uint32_t length)
{
    const struct fwgen_nvmem *device = partition->device;

    if (!is_inside(partition, offset, length)) {
        return FWGEN_ERROR_BAD_RANGE;
    }
    if (offset % device->erase_size != 0u ||
        length % device->erase_size != 0u) {
        return FWGEN_ERROR_ALIGNMENT;
    }
    for (uint32_t at = 0; at < length; at += device->erase_size) {
        const enum fwgen_result result =
            device->driver->erase(device, partition->offset + offset + at);

        if (result != FWGEN_OK) {
            return result;
        }
    }
    return FWGEN_OK;
}

enum fwgen_result fwgen_nvmem_commit(const struct fwgen_partition *partition)
{
    return partition->device->driver->commit(partition->device);
}

#endif
