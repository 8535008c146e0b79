/*
 * ram.c - memory that plays flash: for boards whose RAM keeps its contents
 * across a reset, and for the emulator. It has flash's manners, so that what
 * works here works on flash: programming clears bits and sets none.
 */
#include "fwgen_nvmem.h"

#include <string.h>

#if FWGEN_NVMEM

static enum fwgen_result start(const struct fwgen_nvmem *device)
{
    return device->base != 0u ? FWGEN_OK : FWGEN_ERROR_FLASH;
}

static uint8_t *cells(const struct fwgen_nvmem *device, uint32_t offset)
{
    return (uint8_t *)(device->base + offset);
}

static enum fwgen_result read(const struct fwgen_nvmem *device, uint32_t offset,
                              void *data, uint32_t length)
{
    (void)memcpy(data, cells(device, offset), length);
    return FWGEN_OK;
}

static enum fwgen_result program(const struct fwgen_nvmem *device,
                                 uint32_t offset, const void *data,
                                 uint32_t length)
{
    volatile uint8_t *cell = cells(device, offset);
    const uint8_t *byte = data;

    for (uint32_t i = 0; i < length; i++) {
        cell[i] = (uint8_t)(cell[i] & byte[i]);
    }
    return FWGEN_OK;
}

static enum fwgen_result erase(const struct fwgen_nvmem *device,
                               uint32_t offset)
{
    (void)memset(cells(device, offset), 0xff, device->erase_size);
    return FWGEN_OK;
}

static enum fwgen_result commit(const struct fwgen_nvmem *device)
{
    (void)device;
    return FWGEN_OK;
}

const struct fwgen_nvmem_driver fwgen_nvmem_ram = {
    .start = start,
    .read = read,
    .program = program,
    .erase = erase,
    .commit = commit,
};

#endif
