/*
 * sdp_operands.c - operands of SDP's stages from registers and memory.
 *
 * A port of SDP_RDMA delivers multipliers, addends or both (interleaved: the
 * addend first), of one or two bytes each, signed. Per channel they lie
 * contiguously from the base, padded to the atom; per element in a cube whose
 * pixels are atom * components * bytes wide. The channels of the last atom
 * that the cube does not use take the bytes that are really in memory.
 */
#include "sdp_operands.h"

#include <string.h>

#include "arith.h"

#define MAX_PIECE (SDP_CHUNK * 4u)

static int64_t shape(const struct sdp_operand_form *form, int64_t value)
{
    if (form->convert) {
        return nvdla_convert(value, form->offset, form->scale, form->truncate,
                             32);
    }
    if (form->left_shift != 0) {
        /* 16 bits shifted by 32 or more saturate unless they are 0. */
        unsigned shift = form->left_shift < 32u ? form->left_shift : 32u;

        return nvdla_saturate(value * ((int64_t)1 << shift), 32);
    }
    return value;
}

/* The first `count` values (a power of two) again up to `end`, or a bit more.
 */
static void repeat(int32_t *values, unsigned count, unsigned end)
{
    for (; count < end; count *= 2u) {
        memcpy(values + count, values, count * sizeof *values);
    }
}

bool sdp_operands_open(struct nvdla_job *job, struct sdp_operands *operands,
                       const struct sdp_port_fields *fields)
{
    uint64_t line;
    uint32_t use;

    operands->used = operands->alu.from_memory || operands->mul.from_memory;
    operands->known_surface = -1;
    line = (uint64_t)job_count(job, SDP_D_DATA_CUBE_WIDTH__WIDTH) *
           job->config->atom;
    operands->filled = line > SDP_CHUNK ? SDP_CHUNK
                       : line < 16u     ? 16u
                                        : (unsigned)line;
    operands->alu_values[0] =
        (int32_t)shape(&operands->alu, operands->alu.constant);
    operands->mul_values[0] = (int32_t)operands->mul.constant;
    repeat(operands->alu_values, 1, operands->filled);
    repeat(operands->mul_values, 1, operands->filled);
    if (!operands->used) {
        return true;
    }
    if (job_field(job, fields->disable) != 0) {
        nvdla_job_reject(job, fields->disable,
                         "SDP takes an operand from a port that is disabled");
        return false;
    }
    use = job_field(job, fields->use);
    operands->has_mul = use == 0 || use == 2;
    operands->has_alu = use == 1 || use == 2;
    if (use > 2 || (operands->alu.from_memory && !operands->has_alu) ||
        (operands->mul.from_memory && !operands->has_mul)) {
        nvdla_job_reject(job, fields->use,
                         "the port does not deliver the operand SDP takes");
        return false;
    }
    operands->bytes = job_field(job, fields->size) != 0 ? 2u : 1u;
    operands->per_element = job_field(job, fields->mode) != 0;
    operands->port.name = nvdla_csb_name(nvdla_field_offset(fields->base_low));
    operands->port.base = job_address(job, fields->base_high, fields->base_low);
    operands->port.line = job_field(job, fields->line);
    operands->port.surface = job_field(job, fields->surface);
    return nvdla_port_select(job, &operands->port, fields->ram_type);
}

static int64_t component(const uint8_t *bytes, unsigned width)
{
    if (width == 1u) {
        return (int8_t)bytes[0];
    }
    return (int16_t)(uint16_t)(bytes[0] | (unsigned)bytes[1] << 8);
}

static void unpack(struct sdp_operands *operands, const uint8_t *bytes,
                   uint32_t count)
{
    unsigned width = operands->bytes;
    unsigned step = width * (operands->has_alu && operands->has_mul ? 2u : 1u);
    unsigned mul_at = operands->has_alu ? width : 0u;

    for (uint32_t i = 0; i < count; i++, bytes += step) {
        if (operands->alu.from_memory) {
            operands->alu_values[i] =
                (int32_t)shape(&operands->alu, component(bytes, width));
        }
        if (operands->mul.from_memory) {
            operands->mul_values[i] = (int32_t)shape(
                &operands->mul, component(bytes + mul_at, width));
        }
    }
}

bool sdp_operands_fetch(struct nvdla_job *job, struct sdp_operands *operands,
                        uint32_t surface, uint32_t y, uint32_t x,
                        uint32_t pixels)
{
    uint8_t bytes[MAX_PIECE];
    uint32_t atom = job->config->atom;
    uint32_t pixel = atom * operands->bytes *
                     (operands->has_alu && operands->has_mul ? 2u : 1u);

    if (!operands->used) {
        return true;
    }
    if (operands->per_element) {
        uint64_t offset = (uint64_t)surface * operands->port.surface +
                          (uint64_t)y * operands->port.line +
                          (uint64_t)x * pixel;

        if (!nvdla_dma_read(job, &operands->port, offset, bytes,
                            (size_t)pixels * pixel)) {
            return false;
        }
        unpack(operands, bytes, pixels * atom);
        return true;
    }
    if (operands->known_surface == (int64_t)surface) {
        return true;
    }
    if (!nvdla_dma_read(job, &operands->port, (uint64_t)surface * pixel, bytes,
                        pixel)) {
        return false;
    }
    unpack(operands, bytes, atom);
    if (operands->alu.from_memory) {
        repeat(operands->alu_values, atom, operands->filled);
    }
    if (operands->mul.from_memory) {
        repeat(operands->mul_values, atom, operands->filled);
    }
    operands->known_surface = (int64_t)surface;
    return true;
}
