/*
 * soc_reset.h - resets of the machine that its own devices ask for, with the
 * cause, which a status word tells the firmware afterwards.
 */
#ifndef FWGEN_QEMU_SOC_RESET_H
#define FWGEN_QEMU_SOC_RESET_H

#include "peripheral.h"

/* Resets the machine soon. A watchdog's reset obeys -action watchdog=. */
void soc_reset_request(enum reset_cause cause);

/* The cause of the reset that is being made; for reset handlers. */
enum reset_cause soc_reset_cause(void);

/* Registers the handler that forgets the cause: after those of all devices. */
void soc_reset_register(void);

#endif
