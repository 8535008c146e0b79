/*
 * states.c - state writes of the command stream.
 *
 * Names are those of the etnaviv state headers; states without a public name
 * are called by their address. Writes to them, and to the flushes of caches,
 * are accepted and change nothing that software could see: the model has no
 * caches. A write to any other state is a guest error and is dropped.
 */
#include <inttypes.h>
#include <stddef.h>

#include "model.h"

enum effect {
    NOTHING,
    NN_JOB,
    TP_JOB,
    GROUP_END,
    EVENT,
    SEMAPHORE,
    NN_CONFIG,
    SRAM_REMAP,
    AXI_START,
    AXI_END,
    API_MODE,
    SHADER,
};

static const struct {
    uint32_t address;
    enum effect effect;
} states[] = {
    {0x0920, SHADER},     /* CL.KICKER */
    {0x0a28, NOTHING},    /* unnamed, first of every graph */
    {0x10a0, NN_JOB},     /* PS.NN_INST_ADDR */
    {0x10a4, GROUP_END},  /* behind the last job of a group */
    {0x10b8, TP_JOB},     /* PS.TP_INST_ADDR */
    {0x1650, NOTHING},    /* TS.FLUSH_CACHE */
    {0x3804, EVENT},      /* GL.EVENT */
    {0x3808, SEMAPHORE},  /* GL.SEMAPHORE_TOKEN */
    {0x380c, NOTHING},    /* GL.FLUSH_CACHE */
    {0x384c, API_MODE},   /* GL.API_MODE */
    {0x3884, NOTHING},    /* unnamed, V7 */
    {0x389c, NOTHING},    /* unnamed */
    {0x3930, NN_CONFIG},  /* GL.NN_CONFIG */
    {0x3938, SRAM_REMAP}, /* GL.SRAM_REMAP_ADDRESS */
    {0x393c, AXI_START},  /* GL.OCB_REMAP_START */
    {0x3940, AXI_END},    /* GL.OCB_REMAP_END */
    {0x394c, NOTHING},    /* GL.TP_CONFIG */
    {0x3950, NOTHING},    /* unnamed, before TP jobs */
    {0x1a698, NOTHING},   /* unnamed, before NN jobs */
};

static void event(struct accel_model *model, uint32_t value)
{
    unsigned id = value & 0x1fu;
    uint32_t source = value >> 5 & 7u; /* FE, PE, BLT */

    if (id >= VIP_EVENTS || (source & (source - 1u)) != 0 || source == 0) {
        vip_guest_error(model,
                        "FE: GL.EVENT = 0x%08" PRIx32
                        ": wants an event of 0 to 29 and one source",
                        value);
        return;
    }
    vip_intr_event(model, id);
}

static void open_window(struct accel_model *model, uint32_t value)
{
    if (value > UINT32_MAX - (model->route.sram_size - 1u)) {
        vip_fe_fail(model,
                    "FE: GL.SRAM_REMAP_ADDRESS = 0x%08" PRIx32
                    ": the VIP SRAM does not fit there",
                    value);
        return;
    }
    model->route.has_window = true;
    model->route.window = value;
}

void vip_state_write(struct accel_model *model, uint32_t address,
                     uint32_t value)
{
    enum effect effect = NOTHING;
    bool known = false;

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (states[i].address == address) {
            effect = states[i].effect;
            known = true;
        }
    }
    if (!known) {
        vip_guest_error(model,
                        "FE: write of 0x%08" PRIx32 " to state 0x%05" PRIx32
                        ": not known, dropped",
                        value, address);
        return;
    }
    switch (effect) {
    case NN_JOB:
        vip_job_launch(model, VIP_NN, value);
        break;
    case TP_JOB:
        vip_job_launch(model, VIP_TP, value);
        break;
    case GROUP_END:
        model->fe.group = false;
        break;
    case EVENT:
        event(model, value);
        break;
    case SEMAPHORE:
        vip_fe_semaphore(model, value);
        break;
    case NN_CONFIG:
        model->fe.nn_config = value;
        break;
    case SRAM_REMAP:
        open_window(model, value);
        break;
    case AXI_START:
        model->route.axi_start = value;
        break;
    case AXI_END:
        model->route.axi_end = value;
        break;
    case API_MODE:
        if (value != 2u) {
            vip_guest_error(
                model, "FE: GL.API_MODE = %" PRIu32 ": only 2 (CL) is modelled",
                value);
        }
        break;
    case SHADER:
        vip_fe_fail(model, "FE: CL.KICKER (state 0x00920) starts a shader "
                           "job: shaders are not modelled");
        break;
    case NOTHING:
        break;
    }
}
