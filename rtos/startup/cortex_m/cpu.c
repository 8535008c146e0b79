/*
 * cpu.c - interrupts, caches and the timer of Cortex-M (fwgen_cpu.h).
 *
 * Facts from the Armv7-M and Armv8-M architecture reference manuals: NVIC at
 * 0xe000e100, SysTick at 0xe000e010, cache maintenance at 0xe000ef50.
 */
#include "fwgen_cpu.h"

#include "FreeRTOS.h"
#include "task.h"

#ifndef FWGEN_PRIO_BITS
#define FWGEN_PRIO_BITS configPRIO_BITS
#endif

#define SYSTICK_LOAD 0xe000e014u
#define SYSTICK_VALUE 0xe000e018u
#define NVIC_ISER 0xe000e100u
#define NVIC_ICER 0xe000e180u
#define NVIC_ISPR 0xe000e200u
#define NVIC_ICPR 0xe000e280u
#define NVIC_IPR 0xe000e400u
#define SCB_ICSR 0xe000ed04u
#define SCB_CCR 0xe000ed14u
#define SCB_CLIDR 0xe000ed78u
#define SCB_CCSIDR 0xe000ed80u
#define SCB_CSSELR 0xe000ed84u
#define SCB_ICIALLU 0xe000ef50u
#define SCB_DCIMVAC 0xe000ef5cu
#define SCB_DCISW 0xe000ef60u
#define SCB_DCCMVAC 0xe000ef68u

#define ICSR_PENDSTSET (1u << 26)
#define CCR_DC (1u << 16)
#define CCR_IC (1u << 17)

/* Line size of the data caches of Cortex-M7 and M55. */
#define LINE 32u

static volatile uint32_t *reg(uint32_t address)
{
    return fwgen_reg(address, 0);
}

void fwgen_irq_enable(int32_t irq, uint32_t priority)
{
    const uint32_t number = (uint32_t)irq;
    const uint32_t bit = 1u << (number % 32u);

    configASSERT(irq >= 0 && priority < (1u << FWGEN_PRIO_BITS));
    *(volatile uint8_t *)(uintptr_t)(NVIC_IPR + number) =
        (uint8_t)(priority << (8u - FWGEN_PRIO_BITS));
    fwgen_reg_write(reg(NVIC_ICPR + number / 32u * 4u), bit);
    fwgen_reg_write(reg(NVIC_ISER + number / 32u * 4u), bit);
}

void fwgen_irq_disable(int32_t irq)
{
    const uint32_t number = (uint32_t)irq;

    fwgen_reg_write(reg(NVIC_ICER + number / 32u * 4u), 1u << (number % 32u));
    fwgen_cpu_barrier();
    __asm volatile("isb" ::: "memory");
}

void fwgen_irq_pend(int32_t irq)
{
    const uint32_t number = (uint32_t)irq;

    fwgen_reg_write(reg(NVIC_ISPR + number / 32u * 4u), 1u << (number % 32u));
    fwgen_cpu_barrier();
}

bool fwgen_cpu_in_interrupt(void)
{
    uint32_t exception;

    __asm volatile("mrs %0, ipsr" : "=r"(exception));
    return exception != 0u;
}

/* Cycles since start; the interrupts of the kernel are masked. */
static uint64_t read_timer(uint32_t ticks)
{
    const uint32_t period = fwgen_reg_read(reg(SYSTICK_LOAD)) + 1u;
    uint32_t value = fwgen_reg_read(reg(SYSTICK_VALUE));

    if ((fwgen_reg_read(reg(SCB_ICSR)) & ICSR_PENDSTSET) != 0u) {
        /* The counter has started anew and the tick is not counted yet. */
        value = fwgen_reg_read(reg(SYSTICK_VALUE));
        ticks++;
    }
    /* It counts LOAD ... 1, 0; a period begins when it reaches 0. */
    return (uint64_t)ticks * period + (value == 0u ? 0u : period - value);
}

uint64_t fwgen_timer_read(void)
{
    uint64_t now;

    taskENTER_CRITICAL();
    now = read_timer(xTaskGetTickCount());
    taskEXIT_CRITICAL();
    return now;
}

#if configGENERATE_RUN_TIME_STATS == 1
uint32_t fwgen_run_time(void)
{
    const UBaseType_t mask = portSET_INTERRUPT_MASK_FROM_ISR();
    const uint64_t now = read_timer(xTaskGetTickCountFromISR());

    portCLEAR_INTERRUPT_MASK_FROM_ISR(mask);
    return (uint32_t)(now >> FWGEN_RUN_TIME_SHIFT);
}
#endif

uint32_t fwgen_timer_hz(void)
{
#ifdef configSYSTICK_CLOCK_HZ
    return configSYSTICK_CLOCK_HZ;
#else
    return configCPU_CLOCK_HZ;
#endif
}

void fwgen_cpu_spin(uint32_t cycles)
{
    /* At least one cycle per instruction, and more than one instruction. */
    for (uint32_t i = 0; i < cycles; i++) {
        __asm volatile("nop");
    }
}

#if FWGEN_DCACHE

static void each_line(uint32_t operation, uintptr_t address, uint32_t length)
{
    const uintptr_t end = address + length;

    fwgen_cpu_barrier();
    for (uintptr_t line = address & ~(uintptr_t)(LINE - 1u); line < end;
         line += LINE) {
        fwgen_reg_write(reg(operation), (uint32_t)line);
    }
    fwgen_cpu_barrier();
}

void fwgen_cache_clean(uintptr_t address, uint32_t length)
{
    each_line(SCB_DCCMVAC, address, length);
}

void fwgen_cache_invalidate(uintptr_t address, uint32_t length)
{
    each_line(SCB_DCIMVAC, address, length);
}

/* Both caches are invalidated first: their contents are unknown after reset. */
void fwgen_cache_enable(void)
{
    uint32_t size;

    if (fwgen_reg_read(reg(SCB_CLIDR)) == 0u) {
        return; /* built without caches */
    }
    fwgen_reg_write(reg(SCB_CSSELR), 0); /* level 1 data cache */
    fwgen_cpu_barrier();
    size = fwgen_reg_read(reg(SCB_CCSIDR));
    fwgen_reg_write(reg(SCB_ICIALLU), 0);
    for (uint32_t set = 0; set <= ((size >> 13) & 0x7fffu); set++) {
        for (uint32_t way = 0; way <= ((size >> 3) & 0x3ffu); way++) {
            /* four ways, and lines of 32 bytes */
            fwgen_reg_write(reg(SCB_DCISW), (way << 30) | (set << 5));
        }
    }
    fwgen_cpu_barrier();
    fwgen_reg_write(reg(SCB_CCR),
                    fwgen_reg_read(reg(SCB_CCR)) | CCR_DC | CCR_IC);
    fwgen_cpu_barrier();
    __asm volatile("isb" ::: "memory");
}

#else

void fwgen_cache_clean(uintptr_t address, uint32_t length)
{
    (void)address;
    (void)length;
}

void fwgen_cache_invalidate(uintptr_t address, uint32_t length)
{
    (void)address;
    (void)length;
}

void fwgen_cache_enable(void)
{
}

#endif
