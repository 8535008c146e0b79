/*
 * registers.h - the register map of nv_small ... nv_large (NVDLA register
 * manual): what exists, its reset value and which bits software can write.
 */
#ifndef FWGEN_NVDLA_REGISTERS_H
#define FWGEN_NVDLA_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "register_fields.h"

/* A block is one 4 KiB page of the window; its number is offset >> 12. */
enum nvdla_block {
    BLOCK_CFGROM,
    BLOCK_GLB,
    BLOCK_MCIF,
    BLOCK_CDMA,
    BLOCK_CSC,
    BLOCK_CMAC_A,
    BLOCK_CMAC_B,
    BLOCK_CACC,
    BLOCK_SDP_RDMA,
    BLOCK_SDP,
    BLOCK_PDP_RDMA,
    BLOCK_PDP,
    BLOCK_CDP_RDMA,
    BLOCK_CDP,
    BLOCK_GEC,
    BLOCK_CVIF,
    BLOCK_BDMA,
    BLOCK_RBK,
    BLOCK_COUNT
};

#define NVDLA_WINDOW 0x20000u /* bytes decoded by the window */
#define BLOCK_WORDS 128u      /* no register lies beyond +0x1fc of its page */

struct nvdla_register {
    uint32_t offset;
    uint32_t reset;
    uint32_t mask; /* bits software can write */
    bool grouped;  /* exists once per ping-pong group */
    const char *name;
};

/* NULL when no register has that byte offset. */
const struct nvdla_register *nvdla_register_find(uint32_t offset);
const struct nvdla_register *nvdla_register_at(size_t index);
size_t nvdla_register_count(void);
/* Name of a field constant of register_fields.h, "?" when unknown. */
const char *nvdla_field_name(uint32_t field);
/* Byte offset of D_OP_ENABLE in the block, 0 for a block without groups. */
uint32_t nvdla_op_enable_offset(unsigned block);

static inline uint32_t nvdla_field_offset(uint32_t field)
{
    return field >> 11;
}

static inline uint32_t nvdla_field_get(uint32_t field, uint32_t word)
{
    unsigned lsb = (field >> 6) & 31u;
    unsigned width = field & 63u;
    uint32_t mask = width >= 32u ? UINT32_MAX : (1u << width) - 1u;

    return (word >> lsb) & mask;
}

#endif
