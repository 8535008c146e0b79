/*
 * peripheral_device.h - "peripheral=KIND": a UART, watchdog or controller of
 * the board (board/peripheral.h).
 */
#ifndef FWGEN_QEMU_PERIPHERAL_DEVICE_H
#define FWGEN_QEMU_PERIPHERAL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay.h"

/* What firmware would read at that address of a controller (rk_cru, rk_pmu,
 * registers). False when none is there. */
bool peripheral_state(uint64_t address, uint32_t *value);

extern const struct overlay_kind peripheral_device_kind;

#endif
