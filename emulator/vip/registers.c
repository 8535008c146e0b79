/*
 * registers.c - the registers that the CPU sees.
 *
 * Names and bits are those of the etnaviv register headers (HI: host
 * interface, MC: memory controller, PM: power management, FE: front end,
 * MMU: the second MMU version). Only those that a driver without an MMU needs
 * exist here; an access to any other is a guest error, and so are a write to a
 * read-only register, a register write while a reset is held, and settings
 * that would turn on what is not modelled (the MMU).
 *
 * HI.CLOCK_CONTROL.SOFT_RESET resets for as long as it is 1, AHB_CONTROL.RESET
 * at the write. The front end starts with SEC_COMMAND_CONTROL.ENABLE;
 * FE.COMMAND_CONTROL only latches. Clock scaling and power gating have no
 * effect but that a core with a clock scale of 0, or which is isolated, starts
 * nothing.
 */
#include <inttypes.h>
#include <stddef.h>

#include "model.h"

#define CLOCK_CONTROL 0x000u
#define IDLE_STATE 0x004u
#define AXI_CONFIG 0x008u
#define AXI_STATUS 0x00cu
#define INTR_ACKNOWLEDGE 0x010u
#define INTR_ENBL 0x014u
#define MMU_CONTROL 0x18cu
#define MMU_SEC_CONTROL 0x388u
#define SEC_COMMAND_CONTROL 0x3a4u
#define AHB_CONTROL 0x3a8u
#define COMMAND_ADDRESS 0x654u
#define COMMAND_CONTROL 0x658u
#define FE_STATUS 0x65cu
#define DMA_STATE 0x660u
#define DMA_ADDRESS 0x664u
#define DMA_LOW 0x668u
#define DMA_HIGH 0x66cu

/* HI.CLOCK_CONTROL */
#define FSCALE_SHIFT 2u
#define FSCALE_MASK 0x1fcu
#define FSCALE_LOAD 0x200u
#define SOFT_RESET 0x1000u
#define IDLE_3D 0x10000u
#define IDLE_2D 0x20000u
#define IDLE_VG 0x40000u
#define ISOLATE 0x80000u
#define CLOCK_RESET_VALUE 0x00070900u /* fscale 64, debug registers off */

/* HI.IDLE_STATE: 1 = idle; bit 31 (AXI low power) stays 0. */
#define IDLE_ALL 0x7fffffffu
#define IDLE_FE 0x1u
#define IDLE_NN 0x20000u
#define IDLE_TP 0x40000u

#define AHB_RESET 0x1u

#define COMMAND_ENABLE 0x10000u
#define COMMAND_PREFETCH 0xffffu

enum access { READ_ONLY, READ_WRITE };

static const struct vip_register {
    uint16_t offset;
    uint8_t access;
    const char *name;
    uint32_t reset;
} registers[] = {
    {CLOCK_CONTROL, READ_WRITE, "HI.CLOCK_CONTROL", CLOCK_RESET_VALUE},
    {IDLE_STATE, READ_ONLY, "HI.IDLE_STATE", 0},
    {AXI_CONFIG, READ_WRITE, "HI.AXI_CONFIG", 0},
    {AXI_STATUS, READ_ONLY, "HI.AXI_STATUS", 0},
    {INTR_ACKNOWLEDGE, READ_ONLY, "HI.INTR_ACKNOWLEDGE", 0},
    {INTR_ENBL, READ_WRITE, "HI.INTR_ENBL", 0},
    {0x020, READ_ONLY, "HI.CHIP_MODEL", 0},
    {0x024, READ_ONLY, "HI.CHIP_REV", 0},
    {0x028, READ_ONLY, "HI.CHIP_DATE", 0},
    {0x02c, READ_ONLY, "HI.CHIP_TIME", 0},
    {0x030, READ_ONLY, "HI.CHIP_CUSTOMER_ID", 0},
    {0x0a8, READ_ONLY, "HI.CHIP_PRODUCT_ID", 0},
    {0x0e8, READ_ONLY, "HI.CHIP_ECO_ID", 0},
    {0x100, READ_WRITE, "PM.POWER_CONTROLS", 0},
    {0x104, READ_WRITE, "PM.MODULE_CONTROLS", 0},
    {0x108, READ_WRITE, "PM.MODULE_STATUS", 0},
    {0x10c, READ_WRITE, "PM.PULSE_EATER", 0},
    {0x184, READ_WRITE, "MMU.CONFIGURATION", 0},
    {0x188, READ_ONLY, "MMU.STATUS", 0},
    {MMU_CONTROL, READ_WRITE, "MMU.CONTROL", 0},
    {MMU_SEC_CONTROL, READ_WRITE, "MMU.SEC_CONTROL", 0},
    {SEC_COMMAND_CONTROL, READ_WRITE, "MMU.SEC_COMMAND_CONTROL", 0},
    {AHB_CONTROL, READ_WRITE, "MMU.AHB_CONTROL", 0},
    {COMMAND_ADDRESS, READ_WRITE, "FE.COMMAND_ADDRESS", 0},
    {COMMAND_CONTROL, READ_WRITE, "FE.COMMAND_CONTROL", 0},
    {FE_STATUS, READ_ONLY, "FE.COMMAND_STATUS", 0},
    {DMA_STATE, READ_ONLY, "FE.DMA_DEBUG_STATE", 0},
    {DMA_ADDRESS, READ_ONLY, "FE.DMA_ADDRESS", 0},
    {DMA_LOW, READ_ONLY, "FE.DMA_LOW", 0},
    {DMA_HIGH, READ_ONLY, "FE.DMA_HIGH", 0},
};

#define REGISTER_COUNT (sizeof registers / sizeof registers[0])

static const struct vip_register *find(uint32_t offset)
{
    for (size_t i = 0; i < REGISTER_COUNT; i++) {
        if (registers[i].offset == offset) {
            return &registers[i];
        }
    }
    return NULL;
}

const char *vip_register_name(uint32_t offset)
{
    const struct vip_register *reg = find(offset);

    return reg != NULL ? reg->name : NULL;
}

void vip_registers_reset(struct accel_model *model)
{
    const struct vip_config *config = model->config;

    for (size_t i = 0; i < REGISTER_COUNT; i++) {
        model->regs[registers[i].offset / 4u] = registers[i].reset;
    }
    model->regs[0x020 / 4] = config->model;
    model->regs[0x024 / 4] = config->revision;
    model->regs[0x030 / 4] = config->customer;
    model->regs[0x0a8 / 4] = config->product;
    model->regs[0x0e8 / 4] = config->eco;
}

static bool held_in_reset(const struct accel_model *model)
{
    return (model->regs[CLOCK_CONTROL / 4u] & SOFT_RESET) != 0;
}

static uint32_t idle_state(const struct accel_model *model)
{
    uint32_t idle = IDLE_ALL;

    if (model->fe.state != FE_IDLE) {
        idle &= ~IDLE_FE;
    }
    if (atomic_load(&model->job.state) != VIP_JOB_FREE) {
        idle &= model->job.unit == VIP_NN ? ~IDLE_NN : ~IDLE_TP;
    }
    return idle;
}

static uint32_t clock_control(const struct accel_model *model)
{
    uint32_t value = model->regs[CLOCK_CONTROL / 4u];

    if (model->fe.state == FE_IDLE) {
        value |= IDLE_3D;
    }
    return value | IDLE_2D | IDLE_VG;
}

uint32_t vip_register_read(struct accel_model *model, uint32_t offset)
{
    const struct vip_register *reg = find(offset);

    if (reg == NULL) {
        vip_guest_error(
            model, "read of offset 0x%03" PRIx32 ": no such register", offset);
        return 0;
    }
    switch (offset) {
    case CLOCK_CONTROL:
        return clock_control(model);
    case IDLE_STATE:
        return idle_state(model);
    case AXI_STATUS:
        return model->axi_status;
    case INTR_ACKNOWLEDGE:
        return vip_intr_take(model);
    case INTR_ENBL:
        return model->intr_enable;
    case FE_STATUS:
    case DMA_STATE:
        return model->fe.state == FE_IDLE ? 0u : 1u;
    case DMA_ADDRESS:
        return model->fe.at;
    case DMA_LOW:
        return model->fe.last[0];
    case DMA_HIGH:
        return model->fe.last[1];
    default:
        return model->regs[offset / 4u];
    }
}

bool vip_register_resets(uint32_t offset, uint32_t value)
{
    return (offset == CLOCK_CONTROL && (value & SOFT_RESET) != 0) ||
           (offset == AHB_CONTROL && (value & AHB_RESET) != 0);
}

static void write_clock(struct accel_model *model, uint32_t value)
{
    uint32_t old = model->regs[CLOCK_CONTROL / 4u];

    if (vip_register_resets(CLOCK_CONTROL, value)) {
        vip_model_reset(model);
    }
    if ((value & FSCALE_LOAD) == 0) {
        /* The scale takes effect with the load bit only. */
        value = (value & ~FSCALE_MASK) | (old & FSCALE_MASK);
    }
    model->regs[CLOCK_CONTROL / 4u] =
        value & ~(FSCALE_LOAD | IDLE_3D | IDLE_2D | IDLE_VG);
}

static void start(struct accel_model *model, uint32_t value)
{
    uint32_t clock = model->regs[CLOCK_CONTROL / 4u];
    const char *reason = NULL;

    if ((value & COMMAND_ENABLE) == 0) {
        return;
    }
    if ((clock & ISOLATE) != 0) {
        reason = "HI.CLOCK_CONTROL isolates the core";
    } else if ((clock & FSCALE_MASK) >> FSCALE_SHIFT == 0) {
        reason = "the clock scale of HI.CLOCK_CONTROL is 0";
    } else if (model->fe.state == FE_STUCK) {
        reason = "the front end has stopped at an error and wants a reset";
    } else if (model->fe.state != FE_IDLE) {
        reason = "the front end is running";
    }
    if (reason != NULL) {
        vip_guest_error(model,
                        "write of 0x%08" PRIx32
                        " to MMU.SEC_COMMAND_CONTROL: %s; nothing is started",
                        value, reason);
        return;
    }
    vip_fe_start(model, model->regs[COMMAND_ADDRESS / 4u],
                 value & COMMAND_PREFETCH);
}

void vip_register_write(struct accel_model *model, uint32_t offset,
                        uint32_t value)
{
    const struct vip_register *reg = find(offset);

    if (reg == NULL) {
        vip_guest_error(model,
                        "write of 0x%08" PRIx32 " to offset 0x%03" PRIx32
                        ": no such register",
                        value, offset);
        return;
    }
    if (reg->access == READ_ONLY) {
        vip_guest_error(model, "write of 0x%08" PRIx32 " to %s: read only",
                        value, reg->name);
        return;
    }
    if (held_in_reset(model) && offset != CLOCK_CONTROL &&
        offset != AHB_CONTROL) {
        vip_guest_error(model,
                        "write of 0x%08" PRIx32
                        " to %s: HI.CLOCK_CONTROL.SOFT_RESET is 1, the value "
                        "is dropped",
                        value, reg->name);
        return;
    }
    switch (offset) {
    case CLOCK_CONTROL:
        write_clock(model, value);
        return;
    case INTR_ENBL:
        model->intr_enable = value;
        vip_intr_update(model);
        return;
    case AHB_CONTROL:
        if (vip_register_resets(AHB_CONTROL, value)) {
            uint32_t clock = model->regs[CLOCK_CONTROL / 4u];

            vip_model_reset(model);
            model->regs[CLOCK_CONTROL / 4u] = clock;
        }
        model->regs[AHB_CONTROL / 4u] = value & ~AHB_RESET;
        return;
    case MMU_CONTROL:
    case MMU_SEC_CONTROL:
        if ((value & 1u) != 0) {
            vip_guest_error(model,
                            "write of 0x%08" PRIx32
                            " to %s: the MMU is not modelled",
                            value, reg->name);
            return;
        }
        break;
    case SEC_COMMAND_CONTROL:
        model->regs[offset / 4u] = value;
        start(model, value);
        return;
    default:
        break;
    }
    model->regs[offset / 4u] = value;
}
