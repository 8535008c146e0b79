/*
 * peripheral.c - see peripheral.h.
 */
#include "peripheral.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct peripheral_kind *const kinds[] = {
    &dw_wdt_kind,
    &imx_uart_kind,
    &meson_uart_kind,
    &registers_kind,
    &rk_cru_kind,
    &rk_pmu_kind,
    NULL,
};

const struct peripheral_kind *const *peripheral_kinds(void)
{
    return kinds;
}

const struct peripheral_kind *peripheral_find(const char *name)
{
    for (size_t i = 0; kinds[i] != NULL; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

void peripheral_complain(const struct peripheral_host *host,
                         const struct peripheral_kind *kind, const char *verb,
                         uint32_t offset, const char *why)
{
    const char *name = NULL;
    char message[160];

    if (kind->register_name != NULL) {
        name = kind->register_name(offset);
    }
    snprintf(message, sizeof(message), "%s %s at offset 0x%03" PRIx32 ": %s",
             verb, name != NULL ? name : "a register", offset, why);
    host->guest_error(host->opaque, message);
}
