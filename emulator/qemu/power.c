/*
 * power.c - see power.h.
 */
#include "power.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "peripheral_device.h"

bool power_add(struct power_needs *power, const char *text, char *error,
               size_t size)
{
    struct power_need need;
    char *stop;

    if (power->count == POWER_MAX_NEEDS) {
        snprintf(error, size, "more than %u needs", POWER_MAX_NEEDS);
        return false;
    }
    errno = 0;
    need.address = strtoull(text, &stop, 0);
    if (stop != text && *stop == ':') {
        text = stop + 1;
        need.mask = strtoull(text, &stop, 0);
        if (stop != text && *stop == ':' &&
            option_number(stop + 1, &need.value) && errno == 0 &&
            (need.value & ~need.mask) == 0) {
            power->needs[power->count++] = need;
            return true;
        }
    }
    snprintf(error, size, "needs= takes ADDRESS:MASK:VALUE");
    return false;
}

bool power_is_on(const struct power_needs *power, char *missing, size_t size)
{
    for (unsigned i = 0; i < power->count; i++) {
        const struct power_need *need = &power->needs[i];
        uint32_t value = 0;

        if (!peripheral_state(need->address, &value) ||
            (value & need->mask) != need->value) {
            snprintf(missing, size,
                     "0x%08" PRIx64 " is 0x%08" PRIx32 " and not 0x%08" PRIx64
                     " in bits 0x%08" PRIx64,
                     need->address, value, need->value, need->mask);
            return false;
        }
    }
    return true;
}
