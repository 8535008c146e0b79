/*
 * gic_v2.c - set-up of a GICv2 (gic.h).
 *
 * With Security Extensions, Non-secure software owns interrupts of group 1
 * only: its GICD_IGROUPR reads as zero and ignores writes, which is how this
 * file tells the sides apart. The Secure side takes its own interrupts, group
 * 0, as IRQ (GICC_CTLR.FIQEn 0).
 */
#include "gic.h"

#define GICD_ITARGETSR 0x800u
#define GICC_APR 0xd0u
#define GICC_NSAPR 0xe0u
#define GICC_APR_WORDS 4u

#define CTLR_ENABLE 3u /* both groups, as far as this side has them */

uintptr_t gic_array(uint32_t intid, uint32_t offset)
{
    (void)intid;
    return (uintptr_t)FWGEN_GICD_BASE + offset;
}

static enum gic_world find_world(void)
{
    volatile uint32_t *groups = fwgen_reg(FWGEN_GICD_BASE, GICD_IGROUPR);
    const uint32_t before = fwgen_reg_read(groups);
    uint32_t seen;

    if ((fwgen_reg_read(gicd(GICD_TYPER)) & TYPER_SECURITY) == 0u) {
        return GIC_SINGLE;
    }
    fwgen_reg_write(groups, 0xffffffffu);
    seen = fwgen_reg_read(groups);
    fwgen_reg_write(groups, before);
    return seen == 0u ? GIC_NON_SECURE : GIC_SECURE;
}

/* SPIs go to this core: the one that its private interrupts name. */
static void target_this_core(uint32_t intids)
{
    volatile uint8_t *targets =
        (volatile uint8_t *)((uintptr_t)FWGEN_GICD_BASE + GICD_ITARGETSR);
    uint8_t own = 0;

    for (uint32_t intid = 0; intid < GIC_FIRST_SPI && own == 0u; intid++) {
        own = targets[intid];
    }
    if (own == 0u) {
        return; /* a GIC of one core: no targets to choose from */
    }
    for (uint32_t intid = GIC_FIRST_SPI; intid < intids; intid++) {
        targets[intid] = own;
    }
}

/* Priorities that the loader never ended would hold back ours for ever. What
 * this side does not have ignores writes. */
static void drop_active_priorities(void)
{
    for (uint32_t i = 0; i < GICC_APR_WORDS; i++) {
        fwgen_reg_write(gicc(GICC_APR + 4u * i), 0);
        fwgen_reg_write(gicc(GICC_NSAPR + 4u * i), 0);
    }
}

enum gic_world gic_init(void)
{
    const enum gic_world world = find_world();
    const uint32_t intids = gic_intids();

    fwgen_reg_write(gicd(GICD_CTLR), 0);
    fwgen_reg_write(gicc(GICC_CTLR), 0);
    gic_reset_range(0, intids, 0);
    drop_active_priorities();
    target_this_core(intids);
    gic_check_priorities(GIC_FIRST_SPI);
    fwgen_reg_write(gicc(GICC_BPR), 0); /* every bit of a priority preempts */
    fwgen_reg_write(gicd(GICD_CTLR), CTLR_ENABLE);
    fwgen_reg_write(gicc(GICC_CTLR), CTLR_ENABLE);
    gic_mask_write(GIC_MASK_NONE);
    return world;
}
