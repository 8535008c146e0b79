/*
 * registers.c - tables of the register map and their look-up.
 */
#include "registers.h"

static const struct nvdla_register registers[] = {
#define REGISTER(offset, reset, mask, grouped, name)                           \
    {(offset), (reset), (mask), (grouped) != 0, (name)},
#include "register_table.inc"
#undef REGISTER
};

static const struct {
    uint32_t field;
    const char *name;
} field_names[] = {
#define FIELD(field, name) {(field), (name)},
#include "field_names.inc"
#undef FIELD
};

#define REGISTER_COUNT (sizeof registers / sizeof registers[0])
#define FIELD_COUNT (sizeof field_names / sizeof field_names[0])

const struct nvdla_register *nvdla_register_find(uint32_t offset)
{
    size_t low = 0;
    size_t high = REGISTER_COUNT;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (registers[middle].offset == offset) {
            return &registers[middle];
        }
        if (registers[middle].offset < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

const struct nvdla_register *nvdla_register_at(size_t index)
{
    return &registers[index];
}

size_t nvdla_register_count(void)
{
    return REGISTER_COUNT;
}

const char *nvdla_field_name(uint32_t field)
{
    size_t low = 0;
    size_t high = FIELD_COUNT;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (field_names[middle].field == field) {
            return field_names[middle].name;
        }
        if (field_names[middle].field < field) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return "?";
}

uint32_t nvdla_op_enable_offset(unsigned block)
{
    switch (block) {
    case BLOCK_CDMA:
        return 0x10;
    case BLOCK_SDP:
        return 0x38;
    case BLOCK_CDP:
        return 0x48;
    case BLOCK_CSC:
    case BLOCK_CMAC_A:
    case BLOCK_CMAC_B:
    case BLOCK_CACC:
    case BLOCK_SDP_RDMA:
    case BLOCK_PDP_RDMA:
    case BLOCK_PDP:
    case BLOCK_CDP_RDMA:
    case BLOCK_RBK:
        return 0x08;
    default:
        return 0;
    }
}
