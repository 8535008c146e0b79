/*
 * soc_reset.c - see soc_reset.h.
 */
#include "soc_reset.h"

#include "qemu_api.h"

/* The first reset is the start of the machine. */
static enum reset_cause pending = RESET_POWER_ON;

void soc_reset_request(enum reset_cause cause)
{
    pending = cause;
    if (cause == RESET_WATCHDOG) {
        qemu.watchdog_perform_action();
    } else {
        qemu.qemu_system_reset_request(QEMU_GUEST_RESET);
    }
}

enum reset_cause soc_reset_cause(void)
{
    return pending;
}

static void forget(void *opaque)
{
    (void)opaque;
    pending = RESET_EXTERNAL;
}

void soc_reset_register(void)
{
    qemu.qemu_register_reset(forget, NULL);
}
