/*
 * gic_common.c - the distributor, as far as GICv2 and GICv3 agree (gic.h).
 */
#include "gic.h"

#include "FreeRTOS.h"

#include "fwgen_cpu.h"

#define PRIORITY_BITS ((0xff00u >> FWGEN_PRIO_BITS) & 0xffu)
#define PRIORITY_LOWEST 0xffu

uint32_t gic_intids(void)
{
    const uint32_t lines = fwgen_reg_read(gicd(GICD_TYPER)) & TYPER_LINES;
    const uint32_t intids = 32u * (lines + 1u);

    return intids < GIC_SPECIAL ? intids : GIC_SPECIAL;
}

static volatile uint32_t *bits_of(uint32_t intid, uint32_t offset)
{
    return fwgen_reg(gic_array(intid, offset), intid / 32u * 4u);
}

static volatile uint8_t *priority_of(uint32_t intid)
{
    return (volatile uint8_t *)(gic_array(intid, GICD_IPRIORITYR) + intid);
}

/* Whatever ran before may have left interrupts enabled, pending or active. */
void gic_reset_range(uint32_t first, uint32_t count, uint32_t groups)
{
    for (uint32_t intid = first; intid < first + count; intid += 32u) {
        fwgen_reg_write(bits_of(intid, GICD_ICENABLER), 0xffffffffu);
        fwgen_reg_write(bits_of(intid, GICD_ICPENDR), 0xffffffffu);
        fwgen_reg_write(bits_of(intid, GICD_ICACTIVER), 0xffffffffu);
        fwgen_reg_write(bits_of(intid, GICD_IGROUPR), groups);
    }
    /* Devices hold their lines until they are served: level, not edge. Those of
     * SGIs and PPIs are fixed. */
    for (uint32_t intid = first; intid < first + count; intid += 16u) {
        if (intid >= GIC_FIRST_SPI) {
            fwgen_reg_write(
                fwgen_reg(gic_array(intid, GICD_ICFGR), intid / 16u * 4u), 0);
        }
    }
    for (uint32_t intid = first; intid < first + count; intid++) {
        *priority_of(intid) = PRIORITY_LOWEST;
    }
}

/* Fewer bits than the profile promises would merge priorities. */
void gic_check_priorities(uint32_t intid)
{
    const uint8_t found = *priority_of(intid);

    (void)found;
    configASSERT((found & PRIORITY_BITS) == PRIORITY_BITS);
}

void gic_enable(uint32_t intid, uint32_t priority)
{
    const uint32_t bit = 1u << (intid % 32u);

    *priority_of(intid) = (uint8_t)priority;
    fwgen_reg_write(bits_of(intid, GICD_ICPENDR), bit);
    fwgen_reg_write(bits_of(intid, GICD_ISENABLER), bit);
}

void gic_disable(uint32_t intid)
{
    fwgen_reg_write(bits_of(intid, GICD_ICENABLER), 1u << (intid % 32u));
    gic_synchronise();
}

void gic_pend(uint32_t intid)
{
    fwgen_reg_write(bits_of(intid, GICD_ISPENDR), 1u << (intid % 32u));
    fwgen_cpu_barrier();
}
