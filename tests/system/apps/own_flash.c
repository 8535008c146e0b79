/*
 * own_flash.c - an application that brings the driver of the non-volatile
 * memory, and crashes while a model is on trial if there is a setting "crash".
 *
 * The cells hold every bit inverted, so whoever reads past the driver is found.
 */
#include <string.h>

#include "fwgen_app.h"
#include "fwgen_nvmem.h"
#include "fwgen_slots.h"
#include "fwgen_store.h"

static volatile uint8_t *cells(const struct fwgen_nvmem *device,
                               uint32_t offset)
{
    return (volatile uint8_t *)(device->base + offset);
}

static enum fwgen_result start(const struct fwgen_nvmem *device)
{
    return device->base != 0u ? FWGEN_OK : FWGEN_ERROR_FLASH;
}

static enum fwgen_result read(const struct fwgen_nvmem *device, uint32_t offset,
                              void *data, uint32_t length)
{
    uint8_t *byte = data;

    for (uint32_t i = 0; i < length; i++) {
        byte[i] = (uint8_t)~cells(device, offset)[i];
    }
    return FWGEN_OK;
}

static enum fwgen_result program(const struct fwgen_nvmem *device,
                                 uint32_t offset, const void *data,
                                 uint32_t length)
{
    const uint8_t *byte = data;

    for (uint32_t i = 0; i < length; i++) {
        volatile uint8_t *cell = &cells(device, offset)[i];

        *cell = (uint8_t)(*cell | (uint8_t)~byte[i]);
    }
    return FWGEN_OK;
}

static enum fwgen_result erase(const struct fwgen_nvmem *device,
                               uint32_t offset)
{
    for (uint32_t i = 0; i < device->erase_size; i++) {
        cells(device, offset)[i] = 0;
    }
    return FWGEN_OK;
}

static enum fwgen_result commit(const struct fwgen_nvmem *device)
{
    (void)device;
    return FWGEN_OK;
}

const struct fwgen_nvmem_driver fwgen_nvmem_user = {
    .start = start,
    .read = read,
    .program = program,
    .erase = erase,
    .commit = commit,
};

void fwgen_app_start(void)
{
    const struct fwgen_slots_state *state = fwgen_slots_state();
    uint8_t value;
    uint32_t length;

    if (state->running != FWGEN_NO_SLOT && state->running == state->trial &&
        fwgen_store_get(fwgen_settings(), "crash", &value, 1, &length) ==
            FWGEN_OK) {
        __asm volatile("udf #0");
    }
}
