/*
 * post.c - stages on 32-bit values and the conversion to int8 (post.h).
 *
 * A stage is a loop over the block of one pixel; what differs from stage to
 * stage is decided outside of the loops.
 */
#include "post.h"

#include <stddef.h>

#include "arith.h"
#include "lut.h"

#define STAGE_WORDS FWGEN_WORDS(struct fwgen_stage)

bool fwgen_post_is_valid(const struct fwgen_post *post, uint32_t words)
{
    return words >= FWGEN_WORDS(struct fwgen_post) && post->block != 0u &&
           post->block <= FWGEN_MAX_BLOCK &&
           post->stage_count <= FWGEN_MAX_STAGES &&
           words ==
               FWGEN_WORDS(struct fwgen_post) + post->stage_count * STAGE_WORDS;
}

static inline int64_t converted(const struct fwgen_converter *converter,
                                int64_t x)
{
    return fwgen_round_shift((x - converter->offset) * converter->scale,
                             converter->shift);
}

/* Operands of a stage for one pixel's block. */
struct operands {
    const struct fwgen_stage *stage;
    const uint8_t *bytes;
    uint32_t step; /* bytes from channel to channel */
    uint32_t size; /* 1 or 2 */
};

static struct operands operands_at(const struct fwgen_stage *stage,
                                   uint32_t block, uint32_t surface, uint32_t y,
                                   uint32_t x)
{
    struct operands operands = {stage, NULL, 1u, 1u};

    if ((stage->flags & (FWGEN_STAGE_ALU_MEMORY | FWGEN_STAGE_MUL_MEMORY)) !=
        0u) {
        operands.size = (stage->flags & FWGEN_STAGE_WIDE) != 0u ? 2u : 1u;
        operands.step = (stage->flags & FWGEN_STAGE_PAIRS) != 0u
                            ? 2u * operands.size
                            : operands.size;
        operands.bytes =
            fwgen_cube_at(&stage->operands, surface, y,
                          (stage->flags & FWGEN_STAGE_ELEMENTS) != 0u ? x : 0u,
                          block * operands.step);
    }
    return operands;
}

static inline int32_t load(const uint8_t *bytes, uint32_t size)
{
    return size == 1u ? (int8_t)bytes[0]
                      : (int16_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8);
}

static inline int64_t alu_operand(const struct operands *operands, uint32_t i)
{
    const struct fwgen_stage *stage = operands->stage;
    int64_t value = stage->alu_operand;

    if ((stage->flags & FWGEN_STAGE_ALU_MEMORY) != 0u) {
        value = load(&operands->bytes[i * operands->step], operands->size);
        if ((stage->flags & FWGEN_STAGE_ALU_CONVERT) != 0u) {
            value = fwgen_saturate32(converted(&stage->alu, value));
        }
    }
    return stage->alu_shift == 0u
               ? value
               : fwgen_shift_left(value, stage->alu_shift, 32u);
}

static inline int64_t mul_operand(const struct operands *operands, uint32_t i)
{
    const struct fwgen_stage *stage = operands->stage;
    int64_t value = stage->mul_operand;

    if ((stage->flags & FWGEN_STAGE_MUL_MEMORY) != 0u) {
        /* in pairs it follows the operand of the ALU */
        const uint32_t behind =
            (stage->flags & FWGEN_STAGE_PAIRS) != 0u ? operands->size : 0u;

        value =
            load(&operands->bytes[i * operands->step + behind], operands->size);
        if ((stage->flags & FWGEN_STAGE_MUL_CONVERT) != 0u) {
            value = fwgen_saturate32(converted(&stage->mul, value));
        }
    }
    return value;
}

static inline int64_t alu(uint32_t flags, int64_t x, int64_t operand)
{
    if ((flags & FWGEN_STAGE_ALU_MAX) != 0u) {
        return x > operand ? x : operand;
    }
    if ((flags & FWGEN_STAGE_ALU_MIN) != 0u) {
        return x < operand ? x : operand;
    }
    return x + operand;
}

/* ALU, multiplier with shift, ReLU. */
static int32_t alu_first(const struct operands *operands, uint32_t i, int64_t x)
{
    const struct fwgen_stage *stage = operands->stage;
    const uint32_t flags = stage->flags;
    int32_t y;

    if ((flags & FWGEN_STAGE_ALU) != 0u) {
        x = alu(flags, x, alu_operand(operands, i));
    }
    if ((flags & FWGEN_STAGE_PRELU) != 0u && x >= 0) {
        y = (int32_t)(uint32_t)(uint64_t)x; /* the low bits, without shift */
    } else {
        if ((flags & FWGEN_STAGE_MUL) != 0u) {
            x *= mul_operand(operands, i);
        }
        y = fwgen_saturate32(fwgen_round_shift(x, stage->mul_shift));
    }
    return (flags & FWGEN_STAGE_RELU) != 0u && y < 0 ? 0 : y;
}

/* Multiplier with shift, ALU, table. */
static int32_t mul_first(const struct operands *operands, uint32_t i, int32_t x)
{
    const struct fwgen_stage *stage = operands->stage;
    const uint32_t flags = stage->flags;

    if ((flags & FWGEN_STAGE_MUL) != 0u &&
        !((flags & FWGEN_STAGE_PRELU) != 0u && x >= 0)) {
        x = fwgen_saturate32(
            fwgen_round_shift(x * mul_operand(operands, i), stage->mul_shift));
    }
    if ((flags & FWGEN_STAGE_ALU) != 0u) {
        x = fwgen_saturate32(alu(flags, x, alu_operand(operands, i)));
    }
    if (stage->table != 0u) {
        x = fwgen_lut_wide(
            (const struct fwgen_lut *)(const void *)fwgen_bytes(stage->table),
            x);
    }
    return x;
}

void fwgen_post_pixel(const struct fwgen_post *post, uint32_t surface,
                      uint32_t y, uint32_t x, int32_t *values)
{
    uint8_t *destination =
        fwgen_cube_at(&post->destination, surface, y, x, post->block);

    for (uint32_t n = 0; n < post->stage_count; n++) {
        const struct operands operands =
            operands_at(&post->stages[n], post->block, surface, y, x);

        if ((post->stages[n].flags & FWGEN_STAGE_MUL_FIRST) != 0u) {
            for (uint32_t i = 0; i < post->block; i++) {
                values[i] = mul_first(&operands, i, values[i]);
            }
        } else {
            for (uint32_t i = 0; i < post->block; i++) {
                values[i] = alu_first(&operands, i, values[i]);
            }
        }
    }
    for (uint32_t i = 0; i < post->block; i++) {
        destination[i] =
            (uint8_t)fwgen_saturate(converted(&post->converter, values[i]), 8u);
    }
}
