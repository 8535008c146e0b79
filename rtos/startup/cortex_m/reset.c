/*
 * reset.c - reset by software on Cortex-M: AIRCR.SYSRESETREQ (architecture
 * reference manuals, System Control Block).
 */
#include "fwgen_config_defaults.h"
#include "fwgen_cpu.h"
#include "fwgen_start.h"

#if FWGEN_NVMEM

#define SCB_AIRCR 0xe000ed0cu
#define AIRCR_RESET 0x05fa0004u

void fwgen_reset(void)
{
    fwgen_cpu_barrier();
    fwgen_reg_write(fwgen_reg(SCB_AIRCR, 0), AIRCR_RESET);
    fwgen_cpu_barrier();
    for (;;) {
        /* the reset takes some cycles */
    }
}

#endif
