/*
 * clock_overlay.h - "machine_clock=PATH": another frequency (hz=) for a clock
 * of the machine, as where a stock machine with the right core stands in for a
 * faster one and its SysTick should keep the board's time.
 */
#ifndef FWGEN_QEMU_CLOCK_OVERLAY_H
#define FWGEN_QEMU_CLOCK_OVERLAY_H

#include "overlay.h"

extern const struct overlay_kind clock_overlay_kind;

#endif
