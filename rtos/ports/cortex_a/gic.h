/*
 * gic.h - the interrupt controller as the port uses it. Private to the port.
 *
 * Facts from the Arm Generic Interrupt Controller architecture specifications
 * 2.0 (GICv2: IHI 0048) and 3/4 (GICv3: IHI 0069). The CPU interface is memory
 * in GICv2 and system registers in GICv3; what lies on the way of every
 * interrupt and critical section is inline.
 *
 * Interrupts are numbered by INTID: 0-15 SGI, 16-31 PPI, from 32 SPI.
 */
#ifndef FWGEN_PORT_GIC_H
#define FWGEN_PORT_GIC_H

#include <stdbool.h>
#include <stdint.h>

#include "fwgen_config_defaults.h"
#include "fwgen_cpu.h"

#define GIC_FIRST_SPI 32u
#define GIC_SPECIAL 1020u /* INTIDs from here on mean: no interrupt */
#define GIC_MASK_NONE 0xffu

/* What the GIC lets this core do. */
enum gic_world {
    GIC_SINGLE,     /* no Security Extensions, or disabled */
    GIC_SECURE,     /* with them, from the Secure side */
    GIC_NON_SECURE, /* with them, from the Non-secure side */
};

/* Distributor registers that both versions have. */
#define GICD_CTLR 0x000u
#define GICD_TYPER 0x004u
#define GICD_IGROUPR 0x080u
#define GICD_ISENABLER 0x100u
#define GICD_ICENABLER 0x180u
#define GICD_ISPENDR 0x200u
#define GICD_ICPENDR 0x280u
#define GICD_ICACTIVER 0x380u
#define GICD_IPRIORITYR 0x400u
#define GICD_ICFGR 0xc00u

#define TYPER_LINES 0x1fu
#define TYPER_SECURITY (1u << 10)

/* Prepares distributor and CPU interface: everything disabled, no interrupt
 * masked by its priority. Returns the side that this core is on. Interrupts
 * are masked at the core. */
enum gic_world gic_init(void);

/* `priority` is the register's value, in the upper bits of eight. */
void gic_enable(uint32_t intid, uint32_t priority);
void gic_disable(uint32_t intid);
void gic_pend(uint32_t intid);

/* The distributor's register of a byte or bit array that holds `intid`; for
 * SGIs and PPIs of a GICv3, the redistributor's. */
uintptr_t gic_array(uint32_t intid, uint32_t offset);

/* Parts of gic_init that both versions share (gic_common.c): the number of
 * INTIDs; reset of a range of interrupts; a check of the priority bits. */
uint32_t gic_intids(void);
void gic_reset_range(uint32_t first, uint32_t count, uint32_t groups);
void gic_check_priorities(uint32_t intid);

static inline volatile uint32_t *gicd(uint32_t offset)
{
    return fwgen_reg(FWGEN_GICD_BASE, offset);
}

/* A mask that was written must act on the next instruction. */
static inline void gic_synchronise(void)
{
    __asm volatile("dsb\n isb" ::: "memory");
}

#if FWGEN_GIC == 2

/* The mask that lets only interrupts pass that must not call the kernel. */
#define GIC_MASK_CRITICAL ((uint32_t)configMAX_SYSCALL_INTERRUPT_PRIORITY)

#define GICC_CTLR 0x00u
#define GICC_PMR 0x04u
#define GICC_BPR 0x08u
#define GICC_IAR 0x0cu
#define GICC_EOIR 0x10u
#define GICC_RPR 0x14u

static inline volatile uint32_t *gicc(uint32_t offset)
{
    return fwgen_reg(FWGEN_GICC_BASE, offset);
}

static inline uint32_t gic_mask_read(void)
{
    return fwgen_reg_read(gicc(GICC_PMR));
}

static inline void gic_mask_write(uint32_t mask)
{
    fwgen_reg_write(gicc(GICC_PMR), mask);
    gic_synchronise();
}

/* The whole register goes back with gic_end: it names the sender of an SGI. */
static inline uint32_t gic_acknowledge(void)
{
    return fwgen_reg_read(gicc(GICC_IAR));
}

static inline uint32_t gic_intid(uint32_t acknowledged)
{
    return acknowledged & 0x3ffu;
}

static inline void gic_end(uint32_t acknowledged)
{
    fwgen_reg_write(gicc(GICC_EOIR), acknowledged);
}

static inline uint32_t gic_running_priority(void)
{
    return fwgen_reg_read(gicc(GICC_RPR)) & 0xffu;
}

#else

/* The same; the CPU interface may count priorities otherwise than the
 * distributor, which gic_init finds out. */
extern uint32_t gic_mask_critical;
#define GIC_MASK_CRITICAL gic_mask_critical

/* ICC_PMR, ICC_IAR1, ICC_EOIR1, ICC_RPR: coprocessor 15. */
static inline uint32_t gic_mask_read(void)
{
    uint32_t mask;

    __asm volatile("mrc p15, 0, %0, c4, c6, 0" : "=r"(mask) : : "memory");
    return mask;
}

static inline void gic_mask_write(uint32_t mask)
{
    __asm volatile("mcr p15, 0, %0, c4, c6, 0" : : "r"(mask) : "memory");
    gic_synchronise();
}

static inline uint32_t gic_acknowledge(void)
{
    uint32_t intid;

    __asm volatile("mrc p15, 0, %0, c12, c12, 0" : "=r"(intid) : : "memory");
    __asm volatile("dsb" ::: "memory");
    return intid;
}

static inline uint32_t gic_intid(uint32_t acknowledged)
{
    return acknowledged & 0xffffffu;
}

static inline void gic_end(uint32_t acknowledged)
{
    __asm volatile("mcr p15, 0, %0, c12, c12, 1"
                   :
                   : "r"(acknowledged)
                   : "memory");
    __asm volatile("isb" ::: "memory");
}

static inline uint32_t gic_running_priority(void)
{
    uint32_t priority;

    __asm volatile("mrc p15, 0, %0, c12, c11, 3" : "=r"(priority) : : "memory");
    return priority & 0xffu;
}

#endif

#endif
