/*
 * fwgen_cpu.h - what the runtime needs of a CPU: register access, barriers,
 * cache maintenance, interrupts, a timer.
 *
 * Inline parts are for GCC on Arm; with FWGEN_HOST_TEST register accesses call
 * functions of the test. The rest is in rtos/startup/cortex_m/cpu.c and
 * rtos/ports/cortex_a/.
 */
#ifndef FWGEN_CPU_H
#define FWGEN_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fwgen_config_defaults.h"

#ifdef FWGEN_HOST_TEST
void fwgen_host_write(volatile uint32_t *reg, uint32_t value);
uint32_t fwgen_host_read(const volatile uint32_t *reg);
#endif

/* One 32-bit access to a device register. */
static inline void fwgen_reg_write(volatile uint32_t *reg, uint32_t value)
{
#ifdef FWGEN_HOST_TEST
    fwgen_host_write(reg, value);
#else
    *reg = value;
#endif
}

static inline uint32_t fwgen_reg_read(const volatile uint32_t *reg)
{
#ifdef FWGEN_HOST_TEST
    return fwgen_host_read(reg);
#else
    return *reg;
#endif
}

/*
 * Copies `count` words, at least one, to consecutive registers and returns the
 * word behind them. This loop is most of what the executor does; the compiler
 * does not find the post-increments of volatile stores by itself.
 */
static inline const uint32_t *
fwgen_reg_copy(volatile uint32_t *reg, const uint32_t *from, uint32_t count)
{
#if defined(__thumb2__) && !defined(FWGEN_HOST_TEST)
    uint32_t first;
    uint32_t second;

    __asm volatile("   lsrs %3, %3, #1      \n" /* carry: one by itself */
                   "   bcc  1f              \n"
                   "   ldr  %0, [%2], #4    \n"
                   "   str  %0, [%4], #4    \n"
                   "   cbz  %3, 2f          \n"
                   "1: ldr  %0, [%2], #4    \n"
                   "   ldr  %1, [%2], #4    \n"
                   "   str  %0, [%4], #4    \n"
                   "   str  %1, [%4], #4    \n"
                   "   subs %3, %3, #1      \n"
                   "   bne  1b              \n"
                   "2:                      \n"
                   : "=&l"(first), "=&l"(second), "+l"(from), "+l"(count),
                     "+l"(reg)
                   :
                   : "cc", "memory");
#else
    do {
        fwgen_reg_write(reg++, *from++);
    } while (--count != 0u);
#endif
    return from;
}

/* The register at `offset` bytes in the window at `base`. */
static inline volatile uint32_t *fwgen_reg(uintptr_t base, uint32_t offset)
{
    return (volatile uint32_t *)(base + offset);
}

/* Memory an operation reads is written before the operation starts, and memory
 * it wrote is read after its interrupt: a full barrier between the two. */
static inline void fwgen_cpu_barrier(void)
{
#ifdef FWGEN_HOST_TEST
    __asm volatile("" ::: "memory");
#else
    __asm volatile("dsb" ::: "memory");
#endif
}

/* Data cache maintenance over whole lines; both do nothing with
 * FWGEN_DCACHE 0. Clean writes dirty lines back; invalidate drops lines, so
 * the range must not share a line with other data. Any context. */
void fwgen_cache_clean(uintptr_t address, uint32_t length);
void fwgen_cache_invalidate(uintptr_t address, uint32_t length);

/* Switches the caches on; called by start-up code when FWGEN_DCACHE is 1. */
void fwgen_cache_enable(void);

/* Enables an interrupt at the controller. `priority` in steps of the
 * implemented bits (FWGEN_PRIO_BITS), 0 is the highest; the kernel may be
 * called from handlers at or below configMAX_SYSCALL_INTERRUPT_PRIORITY. */
void fwgen_irq_enable(int32_t irq, uint32_t priority);
void fwgen_irq_disable(int32_t irq);
/* Makes an interrupt pending, as if its device had asked for it. */
void fwgen_irq_pend(int32_t irq);

/* True in an exception handler. */
bool fwgen_cpu_in_interrupt(void);

/* A timer that counts up from start: SysTick's cycles on Cortex-M, the generic
 * timer on Cortex-A. Valid while
 * the scheduler runs; any context that can call the kernel. */
uint64_t fwgen_timer_read(void);
uint32_t fwgen_timer_hz(void);

/* What the kernel counts run times with: cycles / 2^FWGEN_RUN_TIME_SHIFT, which
 * wraps after 3 hours at 25 MHz. Any context. Only with
 * configGENERATE_RUN_TIME_STATS. */
#define FWGEN_RUN_TIME_SHIFT 6u
uint32_t fwgen_run_time(void);

/* Waits in a busy loop for at least `cycles` CPU cycles. */
void fwgen_cpu_spin(uint32_t cycles);

#endif
