/*
 * gic_v3.c - set-up of a GICv3 with system registers (gic.h).
 *
 * All interrupts of the firmware are in group 1, which arrives as IRQ: its
 * Secure half on the Secure side (GICD_IGRPMODR), else the Non-secure one. SGIs
 * and PPIs are configured in the core's redistributor, two frames of 64 KiB
 * that are found by the affinity in GICR_TYPER.
 */
#include "gic.h"

#include "FreeRTOS.h"

#define GICD_IGRPMODR 0xd00u
#define GICD_IROUTER 0x6000u
#define GICR_TYPER 0x0008u
#define GICR_WAKER 0x0014u
#define GICR_SGI_FRAME 0x10000u
#define GICR_STRIDE 0x20000u
#define GICR_STRIDE_V4 0x40000u

/* GICD_CTLR. Both halves of group 1 and of affinity routing, where this side
 * sees both; the Non-secure view has its group in bit 0, and in bit 1 when
 * affinity routing is on. */
#define CTLR_GROUP1 (3u << 1)
#define CTLR_GROUP1_NS (3u << 0)
#define CTLR_ARE (3u << 4)
#define CTLR_DS (1u << 6)
#define CTLR_RWP (1u << 31)
#define TYPER_LAST (1u << 4)
#define TYPER_VLPIS (1u << 1)
#define WAKER_SLEEP (1u << 1)
#define WAKER_ASLEEP (1u << 2)

#define SRE_ENABLE 7u /* SRE, DFB, DIB */

/* Reads of a register until the hardware is ready; a few are enough. */
#define PATIENCE 1000000u
#define REDISTRIBUTORS 256u

static uintptr_t redistributor;

uint32_t gic_mask_critical = configMAX_SYSCALL_INTERRUPT_PRIORITY;

uintptr_t gic_array(uint32_t intid, uint32_t offset)
{
    return (intid < GIC_FIRST_SPI ? redistributor + GICR_SGI_FRAME
                                  : (uintptr_t)FWGEN_GICD_BASE) +
           offset;
}

/* Aff3.Aff2.Aff1.Aff0 of this core; AArch32 has no Aff3. */
static uint32_t affinity(void)
{
    uint32_t mpidr;

    __asm volatile("mrc p15, 0, %0, c0, c0, 5" : "=r"(mpidr));
    return mpidr & 0xffffffu;
}

static uintptr_t find_redistributor(void)
{
    uintptr_t frame = (uintptr_t)FWGEN_GICR_BASE;

    for (uint32_t i = 0; i < REDISTRIBUTORS; i++) {
        const uint32_t facts = fwgen_reg_read(fwgen_reg(frame, GICR_TYPER));

        if (fwgen_reg_read(fwgen_reg(frame, GICR_TYPER + 4u)) == affinity()) {
            return frame;
        }
        if ((facts & TYPER_LAST) != 0u) {
            break;
        }
        frame += (facts & TYPER_VLPIS) != 0u ? GICR_STRIDE_V4 : GICR_STRIDE;
    }
    return 0;
}

static bool wait_clear(volatile uint32_t *reg, uint32_t bits)
{
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if ((fwgen_reg_read(reg) & bits) == 0u) {
            return true;
        }
    }
    return false;
}

static void wake_redistributor(void)
{
    volatile uint32_t *waker = fwgen_reg(redistributor, GICR_WAKER);
    bool awake;

    /* Of the Secure side; others read zero. */
    fwgen_reg_write(waker, fwgen_reg_read(waker) & ~WAKER_SLEEP);
    awake = wait_clear(waker, WAKER_ASLEEP);
    (void)awake;
    configASSERT(awake);
}

static enum gic_world find_world(void)
{
    volatile uint32_t *groups =
        fwgen_reg(redistributor + GICR_SGI_FRAME, GICD_IGROUPR);
    const uint32_t before = fwgen_reg_read(groups);
    uint32_t seen;

    if ((fwgen_reg_read(gicd(GICD_TYPER)) & TYPER_SECURITY) == 0u ||
        (fwgen_reg_read(gicd(GICD_CTLR)) & CTLR_DS) != 0u) {
        return GIC_SINGLE;
    }
    fwgen_reg_write(groups, 0xffffffffu);
    seen = fwgen_reg_read(groups);
    fwgen_reg_write(groups, before);
    return seen == 0u ? GIC_NON_SECURE : GIC_SECURE;
}

static void set_groups(uint32_t first, uint32_t count, enum gic_world world)
{
    /* Secure: group 0 with the modifier is group 1 of the Secure side. */
    const uint32_t secure = world == GIC_SECURE ? 0xffffffffu : 0u;

    gic_reset_range(first, count, ~secure);
    for (uint32_t intid = first; intid < first + count; intid += 32u) {
        fwgen_reg_write(
            fwgen_reg(gic_array(intid, GICD_IGRPMODR), intid / 32u * 4u),
            secure);
    }
}

static void route_to_this_core(uint32_t intids)
{
    for (uint32_t intid = GIC_FIRST_SPI; intid < intids; intid++) {
        fwgen_reg_write(gicd(GICD_IROUTER + 8u * intid), affinity());
        fwgen_reg_write(gicd(GICD_IROUTER + 8u * intid + 4u), 0);
    }
}

/* Priorities that the loader never ended would hold back ours for ever. There
 * is a register for each 32 levels that preempt. */
static void drop_active_priorities(uint32_t bits)
{
    __asm volatile("mcr p15, 0, %0, c12, c9, 0" : : "r"(0)); /* ICC_AP1R0 */
    if (bits > 5u) {
        __asm volatile("mcr p15, 0, %0, c12, c9, 1" : : "r"(0));
    }
    if (bits > 6u) {
        __asm volatile("mcr p15, 0, %0, c12, c9, 2" : : "r"(0));
        __asm volatile("mcr p15, 0, %0, c12, c9, 3" : : "r"(0));
    }
}

/* Bits of priority that the CPU interface has: ICC_CTLR.PRIbits + 1. */
static uint32_t priority_bits(void)
{
    uint32_t control;

    __asm volatile("mrc p15, 0, %0, c12, c12, 4" : "=r"(control));
    return ((control >> 8) & 7u) + 1u;
}

static void start_interface(void)
{
    uint32_t enabled;

    __asm volatile("mrc p15, 0, %0, c12, c12, 5" : "=r"(enabled)); /* ICC_SRE */
    __asm volatile("mcr p15, 0, %0, c12, c12, 5\n isb"
                   :
                   : "r"(enabled | SRE_ENABLE));
    __asm volatile("mrc p15, 0, %0, c12, c12, 5" : "=r"(enabled));
    /* Firmware at a higher level may have kept the registers to itself. */
    configASSERT((enabled & 1u) != 0u);
    drop_active_priorities(priority_bits());
    __asm volatile("mcr p15, 0, %0, c12, c12, 4" : : "r"(0)); /* ICC_CTLR */
    __asm volatile("mcr p15, 0, %0, c12, c12, 3" : : "r"(0)); /* ICC_BPR1 */
    __asm volatile("mcr p15, 0, %0, c12, c12, 7\n isb"        /* ICC_IGRPEN1 */
                   :
                   : "r"(1));
}

/*
 * Non-secure priorities are the lower half of all: the distributor shows 0 for
 * 0x80. The CPU interface does the same, but only if group 0 goes to EL3
 * (SCR.FIQ); else it shows them as they are. A small number tells: where it is
 * shifted, its last bit is lost.
 */
static void find_view(enum gic_world world)
{
    const uint32_t smallest = 1u << (8u - priority_bits());

    gic_mask_write(smallest);
    if (world == GIC_NON_SECURE && gic_mask_read() == smallest) {
        gic_mask_critical =
            0x80u | ((uint32_t)configMAX_SYSCALL_INTERRUPT_PRIORITY >> 1);
    }
    gic_mask_write(GIC_MASK_NONE);
}

enum gic_world gic_init(void)
{
    const uint32_t intids = gic_intids();
    enum gic_world world;
    bool settled;

    redistributor = find_redistributor();
    configASSERT(redistributor != 0u);
    wake_redistributor();
    world = find_world();

    /* Affinity routing may be switched on only while all groups are disabled,
     * and never off again. */
    fwgen_reg_write(gicd(GICD_CTLR),
                    fwgen_reg_read(gicd(GICD_CTLR)) & (CTLR_ARE | CTLR_DS));
    settled = wait_clear(gicd(GICD_CTLR), CTLR_RWP);
    configASSERT(settled);
    fwgen_reg_write(gicd(GICD_CTLR), CTLR_ARE);
    settled = wait_clear(gicd(GICD_CTLR), CTLR_RWP);
    configASSERT(settled);
    (void)settled;
    set_groups(0, GIC_FIRST_SPI, world);
    set_groups(GIC_FIRST_SPI, intids - GIC_FIRST_SPI, world);
    route_to_this_core(intids);
    gic_check_priorities(GIC_FIRST_SPI);
    fwgen_reg_write(
        gicd(GICD_CTLR),
        CTLR_ARE | (world == GIC_NON_SECURE ? CTLR_GROUP1_NS : CTLR_GROUP1));
    fwgen_cpu_barrier();
    start_interface();
    find_view(world);
    return world;
}
