/*
 * csb.c - the register bus: what a 32-bit read or write does.
 *
 * Ping-pong blocks have two register groups. S_POINTER.PRODUCER selects the
 * one that D_* accesses reach, CONSUMER (read only) the one that runs next.
 * Writing 1 to D_OP_ENABLE arms the group; until the operation is done the
 * group takes no further writes (a guest error, the value is dropped).
 *
 * Bits that no field owns, and read-only registers, ignore writes silently, as
 * the hardware does: published register streams rely on it.
 *
 * Guest errors: an offset without a register, a block that the configuration
 * lacks, a write to an armed group, look-up table access while the unit runs
 * or outside the table.
 *
 * GEC is storage only, but for SWRESET: writing 1 resets every unit, which
 * stands for the reset line that a system on chip provides.
 */
#include <stdarg.h>
#include <stdio.h>

#include "model.h"

#define GEC_SWRESET 0x0e004u

void nvdla_guest_error(struct accel_model *model, const char *format, ...)
{
    model->error_total++;
    if (model->host.guest_error != NULL) {
        char text[ERROR_TEXT + 60];
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        model->host.guest_error(model->host.opaque, text);
    }
}

const char *nvdla_csb_name(uint32_t offset)
{
    const struct nvdla_register *reg = nvdla_register_find(offset);

    return reg != NULL ? reg->name : NULL;
}

/* Reports and returns NULL when the guest may not touch that offset. */
static const struct nvdla_register *look_up(struct accel_model *model,
                                            uint32_t offset, const char *verb)
{
    const struct nvdla_register *reg = nvdla_register_find(offset);
    unsigned block = offset >> 12;

    if (reg == NULL) {
        nvdla_guest_error(model, "%s of offset 0x%05x: no such register", verb,
                          offset);
        return NULL;
    }
    if ((block == BLOCK_BDMA && !model->config->has_bdma) ||
        (block == BLOCK_RBK && !model->config->has_rubik) ||
        (block == BLOCK_CVIF && !model->config->has_sram)) {
        nvdla_guest_error(model, "%s of %s: %s has no such block", verb,
                          reg->name, model->config->name);
        return NULL;
    }
    return reg;
}

static struct nvdla_lut_tables *lut_tables(struct accel_model *model,
                                           unsigned block)
{
    return block == BLOCK_SDP ? &model->sdp_lut : &model->cdp_lut;
}

/* S_LUT_ACCESS_DATA: the entry S_LUT_ACCESS_CFG points at; then the next one,
 * stopping at the last. */
static uint32_t lut_access(struct accel_model *model, unsigned block,
                           bool write, uint32_t value)
{
    struct nvdla_lut_tables *tables = lut_tables(model, block);
    uint32_t *config =
        &model->regs[0][block][(SDP_S_LUT_ACCESS_CFG & 0xfffu) >> 2];
    uint32_t address = *config & 0x3ffu;
    bool lo = (*config >> 16 & 1u) != 0;
    bool for_write = (*config >> 17 & 1u) != 0;
    uint32_t size = lo ? LUT_LO_SIZE : LUT_LE_SIZE;
    int16_t *table = lo ? tables->lo : tables->le;
    const char *unit = block == BLOCK_SDP ? "SDP" : "CDP";
    uint32_t result = 0;

    if (write && !for_write) {
        return 0; /* no access is selected: an inert register write */
    }
    if (!write && for_write) {
        nvdla_guest_error(model,
                          "read of %s.S_LUT_ACCESS_DATA while "
                          "S_LUT_ACCESS_CFG.LUT_ACCESS_TYPE = 1 (write)",
                          unit);
        return 0;
    }
    if (address >= size) {
        nvdla_guest_error(model,
                          "%s.S_LUT_ACCESS_CFG.LUT_ADDR = %u: the table has "
                          "%u entries",
                          unit, (unsigned)address, (unsigned)size);
        return 0;
    }
    if (write) {
        table[address] = (int16_t)(uint16_t)value;
    } else {
        result = (uint16_t)table[address];
    }
    if (address + 1u < size) {
        *config += 1u;
    }
    return result;
}

static uint32_t status_of(const struct accel_model *model, unsigned block)
{
    uint32_t status = 0;

    for (unsigned group = 0; group < 2; group++) {
        if (model->armed[block][group]) {
            /* 1 running, 2 pending */
            status |= (model->consumer[block] == group ? 1u : 2u)
                      << (16u * group);
        }
    }
    return status;
}

uint32_t nvdla_csb_read(struct accel_model *model, uint32_t offset)
{
    const struct nvdla_register *reg = look_up(model, offset, "read");
    unsigned block = offset >> 12;
    uint32_t inside = offset & 0xfffu;

    if (reg == NULL) {
        return 0;
    }
    switch (offset) {
    case GLB_S_INTR_MASK:
        return model->intr_mask;
    case GLB_S_INTR_SET:
        return 0;
    case GLB_S_INTR_STATUS:
        return nvdla_glb_read_status(model);
    case CDMA_S_CBUF_FLUSH_STATUS:
        /* The buffer needs no flush here: ready at once. */
        return 1;
    case SDP_S_LUT_ACCESS_DATA:
    case CDP_S_LUT_ACCESS_DATA:
        return lut_access(model, block, false, 0);
    case BDMA_STATUS:
        return nvdla_bdma_status(model);
    default:
        break;
    }
    if (nvdla_op_enable_offset(block) != 0) {
        unsigned group = model->producer[block];

        if (inside == 0) {
            return status_of(model, block);
        }
        if (inside == 4) {
            return (uint32_t)group | (uint32_t)model->consumer[block] << 16;
        }
        if (inside == nvdla_op_enable_offset(block)) {
            return model->armed[block][group] ? 1u : 0u;
        }
        if (reg->grouped) {
            return model->regs[group][block][inside >> 2];
        }
    }
    return model->regs[0][block][inside >> 2];
}

static void arm(struct accel_model *model, unsigned block, const char *name,
                uint32_t value)
{
    unsigned group = model->producer[block];

    if (model->armed[block][group]) {
        nvdla_guest_error(model,
                          "write of 0x%08x to %s: group %u is armed already",
                          value, name, group);
        return;
    }
    if ((value & 1u) != 0) {
        model->armed[block][group] = true;
        nvdla_launch_ready(model);
    }
}

/* A D_* or plain register. */
static void store(struct accel_model *model, const struct nvdla_register *reg,
                  uint32_t value)
{
    unsigned block = reg->offset >> 12;
    uint32_t inside = reg->offset & 0xfffu;
    unsigned group = reg->grouped ? model->producer[block] : 0u;

    if (reg->mask == 0) {
        return;
    }
    if (reg->grouped && model->armed[block][group]) {
        nvdla_guest_error(model,
                          "write of 0x%08x to %s: group %u is armed, the "
                          "value is dropped",
                          value, reg->name, group);
        return;
    }

    uint32_t *word = &model->regs[group][block][inside >> 2];

    *word = (*word & ~reg->mask) | (value & reg->mask);
}

static bool is_lut_register(uint32_t offset)
{
    return (offset >= SDP_S_LUT_ACCESS_CFG && offset < SDP_D_OP_ENABLE) ||
           (offset >= CDP_S_LUT_ACCESS_CFG && offset < CDP_D_OP_ENABLE);
}

bool nvdla_csb_resets(uint32_t offset, uint32_t value)
{
    return offset == GEC_SWRESET && (value & 1u) != 0;
}

void nvdla_csb_write(struct accel_model *model, uint32_t offset, uint32_t value)
{
    const struct nvdla_register *reg = look_up(model, offset, "write");
    unsigned block = offset >> 12;
    uint32_t inside = offset & 0xfffu;

    if (reg == NULL) {
        return;
    }
    if (is_lut_register(offset) && model->running[block]) {
        nvdla_guest_error(model,
                          "write of 0x%08x to %s: the unit is running, the "
                          "value is dropped",
                          value, reg->name);
        return;
    }
    switch (offset) {
    case GLB_S_INTR_MASK:
        model->intr_mask = value & reg->mask;
        nvdla_glb_update(model);
        return;
    case GLB_S_INTR_SET:
        nvdla_glb_raise(model, value & reg->mask);
        return;
    case GLB_S_INTR_STATUS:
        nvdla_glb_clear(model, value & reg->mask);
        return;
    case SDP_S_LUT_ACCESS_DATA:
    case CDP_S_LUT_ACCESS_DATA:
        (void)lut_access(model, block, true, value);
        return;
    case BDMA_CFG_OP:
        if ((value & 1u) != 0) {
            nvdla_bdma_store(model);
        }
        return;
    case BDMA_CFG_LAUNCH0:
    case BDMA_CFG_LAUNCH1:
        if ((value & 1u) != 0) {
            nvdla_bdma_launch(model, offset == BDMA_CFG_LAUNCH1 ? 1u : 0u);
        }
        return;
    case GEC_SWRESET:
        if (nvdla_csb_resets(offset, value)) {
            nvdla_family.reset(model);
        }
        return;
    default:
        break;
    }
    if (nvdla_op_enable_offset(block) != 0) {
        if (inside == 0) {
            return;
        }
        if (inside == 4) {
            model->producer[block] = (uint8_t)(value & 1u);
            return;
        }
        if (inside == nvdla_op_enable_offset(block)) {
            arm(model, block, reg->name, value);
            return;
        }
    }
    store(model, reg, value);
}
