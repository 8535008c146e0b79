/*
 * sdp_operands.h - where the operands of SDP's stages come from.
 */
#ifndef FWGEN_NVDLA_SDP_OPERANDS_H
#define FWGEN_NVDLA_SDP_OPERANDS_H

#include "units.h"

/* Elements that go through the stages together: whole pixels of any atom. */
#define SDP_CHUNK 1024u

/* Fields of the three operand ports of SDP_RDMA (B, N, E). */
struct sdp_port_fields {
    uint32_t disable, use, size, mode, ram_type;
    uint32_t base_high, base_low, line, surface;
};

/* What becomes of an operand after it was read. */
struct sdp_operand_form {
    bool from_memory;
    int64_t constant;    /* from_memory false */
    unsigned left_shift; /* X stages: sat32(value << left_shift) */
    bool convert;        /* Y stage, memory only */
    int64_t offset, scale;
    unsigned truncate;
};

struct sdp_operands {
    struct nvdla_port port;
    bool used; /* at least one operand comes from memory */
    bool has_alu, has_mul;
    bool per_element;
    unsigned bytes;        /* of one component */
    int64_t known_surface; /* per channel: surface that the arrays hold */
    unsigned filled;       /* values that a chunk of this cube has at most */
    struct sdp_operand_form alu, mul;
    /* Per channel: repeated for every pixel of a chunk, 16 values at least. */
    int32_t alu_values[SDP_CHUNK];
    int32_t mul_values[SDP_CHUNK];
};

/* alu, mul: forms, with from_memory already cleared where the stage does not
 * use them. False after an error. */
bool sdp_operands_open(struct nvdla_job *job, struct sdp_operands *operands,
                       const struct sdp_port_fields *fields);
/* Fills the value arrays for `pixels` pixels from x of a line. */
bool sdp_operands_fetch(struct nvdla_job *job, struct sdp_operands *operands,
                        uint32_t surface, uint32_t y, uint32_t x,
                        uint32_t pixels);

#endif
