/*
 * peripheral_device.h - "peripheral=KIND": a UART, watchdog or controller of
 * the board (board/peripheral.h).
 */
#ifndef FWGEN_QEMU_PERIPHERAL_DEVICE_H
#define FWGEN_QEMU_PERIPHERAL_DEVICE_H

#include "overlay.h"

extern const struct overlay_kind peripheral_device_kind;

#endif
