/*
 * timer.c - the kernel's tick, from the generic timer.
 *
 * Facts from the Armv7-A/R architecture reference manual, chapter B8: CNTFRQ,
 * CNTPCT and CNTVCT, CNTP_CVAL/CTL and CNTV_CVAL/CTL; private interrupts from
 * the Base System Architecture: 29 (Secure physical), 30 (Non-secure
 * physical), 27 (virtual).
 *
 * Which timer may be used depends on how the core was entered:
 * - on the Secure side: the physical one, whose Secure bank interrupts with 29;
 * - in HYP: start.S has given the physical timer to PL1, interrupt 30;
 * - in Non-secure SVC: a hypervisor may keep the physical timer to itself, the
 *   virtual one is always PL1's, interrupt 27.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "port.h"

#define INTID_VIRTUAL 27u
#define INTID_SECURE 29u
#define INTID_NON_SECURE 30u

#define CTL_ENABLE 1u

/* Ticks that are caught up after interrupts were off for long; more are lost,
 * as a debugger that stops the core loses them. */
#define CATCH_UP 10000u

struct timer {
    uint64_t start;   /* count at start-up */
    uint64_t compare; /* count of the next tick */
    uint32_t hz;
    uint32_t intid;
    uint32_t period;    /* counts of a tick ... */
    uint32_t remainder; /* ... and what is left of a second, in counts */
    uint32_t carry;
};

static struct timer timer;

static bool is_virtual(void)
{
    return timer.intid == INTID_VIRTUAL;
}

static uint64_t read_counter(void)
{
    uint64_t count;

    __asm volatile("isb" ::: "memory");
    if (is_virtual()) {
        __asm volatile("mrrc p15, 1, %Q0, %R0, c14" : "=r"(count));
    } else {
        __asm volatile("mrrc p15, 0, %Q0, %R0, c14" : "=r"(count));
    }
    return count;
}

static void write_compare(uint64_t count)
{
    if (is_virtual()) {
        __asm volatile("mcrr p15, 3, %Q0, %R0, c14" : : "r"(count));
    } else {
        __asm volatile("mcrr p15, 2, %Q0, %R0, c14" : : "r"(count));
    }
    __asm volatile("isb" ::: "memory");
}

static void write_control(uint32_t bits)
{
    if (is_virtual()) {
        __asm volatile("mcr p15, 0, %0, c14, c3, 1" : : "r"(bits));
    } else {
        __asm volatile("mcr p15, 0, %0, c14, c2, 1" : : "r"(bits));
    }
    __asm volatile("isb" ::: "memory");
}

void fwgen_timer_init(uint32_t entry_mode, enum gic_world world)
{
    if (world == GIC_SECURE || entry_mode == MODE_MON) {
        timer.intid = INTID_SECURE;
    } else if (entry_mode == MODE_HYP) {
        timer.intid = INTID_NON_SECURE;
    } else {
        timer.intid = INTID_VIRTUAL;
    }
    __asm volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(timer.hz)); /* CNTFRQ */
#if FWGEN_TIMER_HZ != 0
    if (timer.hz == 0u) {
        timer.hz = FWGEN_TIMER_HZ;
    }
#endif
    write_control(0);
    timer.start = read_counter();
}

void fwgen_timer_start(void)
{
    if (timer.hz < configTICK_RATE_HZ) {
        fwgen_log("no tick: CNTFRQ is zero, and the profile has no timer_hz");
    }
    configASSERT(timer.hz >= configTICK_RATE_HZ);
    timer.period = timer.hz / configTICK_RATE_HZ;
    timer.remainder = timer.hz % configTICK_RATE_HZ;
    timer.carry = 0;
    timer.compare = read_counter() + timer.period;
    write_compare(timer.compare);
    gic_enable(timer.intid, PORT_LOWEST_PRIORITY);
    write_control(CTL_ENABLE);
}

uint32_t fwgen_timer_intid(void)
{
    return timer.intid;
}

/* The next tick is one period after the last one, whenever this one is
 * handled, so that ticks do not drift; a second has exactly its counts. */
static void advance(void)
{
    timer.compare += timer.period;
    timer.carry += timer.remainder;
    if (timer.carry >= configTICK_RATE_HZ) {
        timer.carry -= configTICK_RATE_HZ;
        timer.compare++;
    }
}

void fwgen_timer_interrupt(void)
{
    const uint64_t now = read_counter();
    bool woken = false;

    for (uint32_t i = 0; i < CATCH_UP && now >= timer.compare; i++) {
        const UBaseType_t mask = portSET_INTERRUPT_MASK_FROM_ISR();

        woken = xTaskIncrementTick() != pdFALSE || woken;
        portCLEAR_INTERRUPT_MASK_FROM_ISR(mask);
        advance();
    }
    if (now >= timer.compare) {
        timer.compare = now + timer.period;
    }
    write_compare(timer.compare);
    portYIELD_FROM_ISR(woken ? pdTRUE : pdFALSE);
}

uint64_t fwgen_timer_read(void)
{
    return read_counter() - timer.start;
}

uint32_t fwgen_timer_hz(void)
{
    return timer.hz;
}

#if configGENERATE_RUN_TIME_STATS == 1
uint32_t fwgen_run_time(void)
{
    return (uint32_t)(fwgen_timer_read() >> FWGEN_RUN_TIME_SHIFT);
}
#endif
