/*
 * watchdog_cmsdk.c - the APB watchdog of Arm's Cortex-M System Design Kit.
 *
 * Facts: Arm DDI0479, section 4.5. It counts down from WDOGLOAD; zero raises
 * the interrupt, which is the NMI, and starts anew; zero with the interrupt
 * still raised resets. So a reset takes two periods. Writes are locked without
 * the magic word in WDOGLOCK.
 */
#include "fwgen_cpu.h"
#include "fwgen_vectors.h"
#include "fwgen_watchdog.h"

#define WDOGLOAD 0x000u
#define WDOGCONTROL 0x008u
#define WDOGINTCLR 0x00cu
#define WDOGLOCK 0xc00u

#define CONTROL_ON 3u /* INTEN, RESEN */
#define UNLOCK 0x1acce551u

static void feed(uintptr_t base, uint32_t load)
{
    fwgen_reg_write(fwgen_reg(base, WDOGLOCK), UNLOCK);
    fwgen_reg_write(fwgen_reg(base, WDOGINTCLR), 1);
    fwgen_reg_write(fwgen_reg(base, WDOGLOAD), load);
    fwgen_reg_write(fwgen_reg(base, WDOGLOCK), 0);
}

static void start(uintptr_t base, uint32_t load)
{
    feed(base, load);
    fwgen_reg_write(fwgen_reg(base, WDOGLOCK), UNLOCK);
    fwgen_reg_write(fwgen_reg(base, WDOGCONTROL), CONTROL_ON);
    fwgen_reg_write(fwgen_reg(base, WDOGLOCK), 0);
}

/* The first period is over: the supervisor has given up or does not run. The
 * second one ends in the reset. */
void NMI_Handler(void)
{
    for (;;) {
        /* nothing may go on from here */
    }
}

const struct fwgen_watchdog_driver fwgen_watchdog_cmsdk = {
    .start = start,
    .feed = feed,
};
