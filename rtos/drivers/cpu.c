/*
 * cpu.c - driver of the family "cpu": programs whose commands are all CPU
 * kernels. There are no registers and no interrupt, so there is nothing to
 * identify, to acknowledge or to bring back.
 */
#include "fwgen_driver.h"

static enum fwgen_result cpu_recover(struct fwgen_engine *engine)
{
    engine->parity = 0;
    engine->status = 0;
    return FWGEN_OK;
}

static void cpu_prepare(struct fwgen_engine *engine,
                        const struct fwgen_model *model)
{
    (void)engine;
    (void)model;
}

static uint32_t cpu_interrupt(struct fwgen_engine *engine)
{
    (void)engine;
    return 0;
}

const struct fwgen_accel_driver fwgen_cpu_driver = {
    .recover = cpu_recover,
    .prepare = cpu_prepare,
    .interrupt = cpu_interrupt,
};
