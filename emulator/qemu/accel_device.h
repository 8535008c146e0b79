/*
 * accel_device.h - one emulated accelerator on the machine's bus.
 */
#ifndef FWGEN_QEMU_ACCEL_DEVICE_H
#define FWGEN_QEMU_ACCEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "overlay.h"

/* The "accel=FAMILY" kind of the option parser. */
extern const struct overlay_kind accel_device_kind;

#endif
