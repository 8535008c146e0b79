/*
 * memory_overlay.h - memory of the board at the board's addresses.
 *
 * "ram=NAME": RAM of its own. It keeps its contents over resets of the machine;
 * QEMU itself copies the image again at each of them.
 *
 * "alias=NAME": a region that the machine has elsewhere: of=TYPE-OR-PATH names
 * a memory region in QEMU's object tree, or a device whose region number mmio=
 * is meant. That is how the interrupt controller or a flash appears at the
 * board's addresses.
 *
 * "unassigned=NAME": what neither the board's memory nor its devices cover. An
 * access is a guest error and ends in an abort of the core, as on a bus on
 * which nobody answers. It hides the machine's own devices.
 */
#ifndef FWGEN_QEMU_MEMORY_OVERLAY_H
#define FWGEN_QEMU_MEMORY_OVERLAY_H

#include "overlay.h"

extern const struct overlay_kind ram_overlay_kind;
extern const struct overlay_kind alias_overlay_kind;
extern const struct overlay_kind unassigned_overlay_kind;

#endif
