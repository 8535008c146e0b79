/*
 * watchdog_dw.c - Synopsys DesignWare watchdog (DW_apb_wdt) with fixed periods.
 *
 * Facts: registers as in the Linux driver drivers/watchdog/dw_wdt.c. The period
 * is 2^(16 + TOP) clocks; TOP and TOP_INIT are set alike, because start and
 * restart may use either. Response mode 0: expiry resets, without an interrupt
 * first. Once on it cannot be switched off; the loader may have done so.
 */
#include "fwgen_cpu.h"
#include "fwgen_watchdog.h"

#define WDT_CR 0x00u
#define WDT_TORR 0x04u
#define WDT_CRR 0x0cu

#define CR_ENABLE 1u
#define CR_INTERRUPT_FIRST 2u
#define RESTART 0x76u

static void feed(uintptr_t base, uint32_t load)
{
    (void)load;
    fwgen_reg_write(fwgen_reg(base, WDT_CRR), RESTART);
}

static void start(uintptr_t base, uint32_t load)
{
    volatile uint32_t *control = fwgen_reg(base, WDT_CR);

    fwgen_reg_write(fwgen_reg(base, WDT_TORR), load | load << 4);
    /* The length of the reset pulse stays the SoC's. */
    fwgen_reg_write(control, (fwgen_reg_read(control) & ~CR_INTERRUPT_FIRST) |
                                 CR_ENABLE);
    feed(base, load);
}

const struct fwgen_watchdog_driver fwgen_watchdog_dw = {
    .start = start,
    .feed = feed,
};
