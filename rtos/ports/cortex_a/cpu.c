/*
 * cpu.c - interrupts of the board as the runtime sees them (fwgen_cpu.h): SPIs,
 * counted from 0.
 */
#include "fwgen_cpu.h"

#include "FreeRTOS.h"

#include "port.h"

void fwgen_irq_enable(int32_t irq, uint32_t priority)
{
    configASSERT((uint32_t)irq < FWGEN_IRQ_COUNT &&
                 priority < (1u << FWGEN_PRIO_BITS) - 1u);
    gic_enable(GIC_FIRST_SPI + (uint32_t)irq,
               priority << (8u - FWGEN_PRIO_BITS));
}

void fwgen_irq_disable(int32_t irq)
{
    gic_disable(GIC_FIRST_SPI + (uint32_t)irq);
}

void fwgen_irq_pend(int32_t irq)
{
    gic_pend(GIC_FIRST_SPI + (uint32_t)irq);
}

bool fwgen_cpu_in_interrupt(void)
{
    return fwgen_port_intid != GIC_SPECIAL;
}

void fwgen_cpu_spin(uint32_t cycles)
{
    /* At most two of the loop's instructions in a cycle. */
    for (uint32_t i = 0; i < cycles; i++) {
        __asm volatile("nop");
    }
}
