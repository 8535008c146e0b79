/*
 * placement.h - where overlays lie among what the machine has itself.
 *
 * A machine maps its devices with priority 0. What the board has none of
 * (unassigned) hides all of it, the board's memory hides that, and the board's
 * devices lie on top.
 */
#ifndef FWGEN_QEMU_PLACEMENT_H
#define FWGEN_QEMU_PLACEMENT_H

#include "qemu_api.h"

enum {
    PRIORITY_UNASSIGNED = 1,
    PRIORITY_MEMORY = 5,
    PRIORITY_DEVICE = 10,
};

#define PLACEMENT_PAGE 4096u

static inline void place(MemoryRegion *region, uint64_t base, int priority)
{
    qemu.memory_region_add_subregion_overlap(qemu.get_system_memory(), base,
                                             region, priority);
}

#endif
