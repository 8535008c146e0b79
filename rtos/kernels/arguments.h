/*
 * arguments.h - the argument words of the int8 kernels as structures.
 *
 * Every member is one 32-bit word; the generator writes the same words in the
 * same order (fwgen/program/kernels.py). Addresses are byte addresses, strides
 * bytes. Nothing here knows an accelerator: a lowering says what to compute.
 *
 * A cube holds its channels in blocks: element (c, y, x) lies at
 * address + c / block * surface_stride + y * line_stride + x * block + c %
 * block.
 */
#ifndef FWGEN_KERNELS_ARGUMENTS_H
#define FWGEN_KERNELS_ARGUMENTS_H

#include <stdint.h>

/* Most channels of a block. */
#define FWGEN_MAX_BLOCK 32u

struct fwgen_cube {
    uint32_t address;
    uint32_t line_stride;
    uint32_t surface_stride;
};

static inline uint8_t *fwgen_bytes(uint32_t address)
{
    return (uint8_t *)(uintptr_t)address;
}

/* Byte (0, y, x) of the cube's surface. */
static inline uint8_t *fwgen_cube_at(const struct fwgen_cube *cube,
                                     uint32_t surface, uint32_t y, uint32_t x,
                                     uint32_t block)
{
    return fwgen_bytes(cube->address + surface * cube->surface_stride +
                       y * cube->line_stride + x * block);
}

/* ---- what follows a sum: stages on 32-bit values, then int8 ---- */

/* Flags of a stage. */
#define FWGEN_STAGE_ALU (1u << 0)        /* add, or the algorithm below */
#define FWGEN_STAGE_ALU_MEMORY (1u << 1) /* its operand is in memory */
#define FWGEN_STAGE_ALU_MAX (1u << 2)    /* max instead of add */
#define FWGEN_STAGE_ALU_MIN (1u << 3)    /* min instead of add */
#define FWGEN_STAGE_MUL (1u << 4)        /* multiply */
#define FWGEN_STAGE_MUL_MEMORY (1u << 5) /* its operand is in memory */
#define FWGEN_STAGE_PRELU (1u << 6)      /* multiply negative values only */
#define FWGEN_STAGE_RELU (1u << 7)       /* max(x, 0) at the end */
#define FWGEN_STAGE_MUL_FIRST (1u << 8)  /* multiply before the ALU */
#define FWGEN_STAGE_WIDE (1u << 9)       /* operands of two bytes */
#define FWGEN_STAGE_PAIRS (1u << 10)     /* ALU and multiplier in turn */
#define FWGEN_STAGE_ELEMENTS (1u << 11)  /* one per element, not per channel */
#define FWGEN_STAGE_ALU_CONVERT (1u << 12) /* convert memory operands */
#define FWGEN_STAGE_MUL_CONVERT (1u << 13)

/* (x - offset) * scale / 2^shift */
struct fwgen_converter {
    int32_t offset;
    int32_t scale;
    uint32_t shift;
};

/*
 * Without MUL_FIRST: the ALU with its operand shifted left by alu_shift, then
 * the multiplier; what comes out is shifted right by mul_shift even when there
 * is no multiplication, but not where PRELU passes a value. With MUL_FIRST:
 * the multiplier with its shift, then the ALU, then the table.
 */
struct fwgen_stage {
    uint32_t flags;
    int32_t alu_operand;
    int32_t mul_operand;
    uint32_t alu_shift;
    uint32_t mul_shift;
    struct fwgen_cube operands;
    struct fwgen_converter alu;
    struct fwgen_converter mul;
    uint32_t table; /* struct fwgen_lut, 0: none */
};

#define FWGEN_MAX_STAGES 3u

struct fwgen_post {
    struct fwgen_cube destination;
    uint32_t block;
    struct fwgen_converter converter; /* to int8 */
    uint32_t stage_count;
    struct fwgen_stage stages[];
};

/* ---- the kernels ---- */

/*
 * CONVOLUTION: `kernels` sums over rows * columns * channels, each divided by
 * 2^truncate, then `post`. Weights are taps bytes a kernel, in the order row,
 * column, channel, with zeros at the end; taps is a multiple of 4.
 */
struct fwgen_convolution {
    struct fwgen_cube source;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    uint32_t block;
    uint32_t weights;
    uint32_t taps;
    uint32_t kernels;
    uint32_t rows;
    uint32_t columns;
    uint32_t stride_x;
    uint32_t stride_y;
    uint32_t dilation_x;
    uint32_t dilation_y;
    uint32_t pad_left;
    uint32_t pad_top;
    int32_t pad_value;
    uint32_t truncate;
    /* 256 int8 by input byte for each of table_count channels; 0: none */
    uint32_t table;
    uint32_t table_count; /* 1, or as many as channels */
    uint32_t order;       /* byte n: where channel n of a pixel lies */
    uint32_t output_width;
    uint32_t first_row;
    uint32_t end_row;
    /* int32_t[tile * post.block], then uint8_t[tile * taps] */
    uint32_t scratch;
    uint32_t tile; /* pixels that are computed together, 1 to 4 */
    struct fwgen_post post;
};

/* POINTWISE: `post` on each element of a cube. */
struct fwgen_pointwise {
    struct fwgen_cube source;
    uint32_t width;
    uint32_t height;
    uint32_t surfaces;
    struct fwgen_post post;
};

#define FWGEN_POOL_AVERAGE 0u
#define FWGEN_POOL_MAX 1u
#define FWGEN_POOL_MIN 2u

/*
 * POOLING: maximum and minimum leave padding out. The average adds, for n
 * columns of padding, padding[n] a row with values in it, for n rows of padding
 * padding[n] a column, in 16 bits; then it multiplies by the two reciprocals of
 * 16 fraction bits.
 */
struct fwgen_pooling {
    struct fwgen_cube source;
    struct fwgen_cube destination;
    uint32_t block;
    uint32_t surfaces;
    uint32_t width;
    uint32_t height;
    uint32_t output_width;
    uint32_t output_height;
    uint32_t kernel_width;
    uint32_t kernel_height;
    uint32_t stride_x;
    uint32_t stride_y;
    uint32_t pad_left;
    uint32_t pad_top;
    uint32_t method;
    int32_t reciprocal_width;
    int32_t reciprocal_height;
    int32_t padding[8];
};

#define FWGEN_NORMALISE_NO_SQUARES (1u << 0) /* look up the value itself */
#define FWGEN_NORMALISE_NO_MUL (1u << 1)     /* the looked-up value is it */

/*
 * NORMALISATION: v = values[byte]; the squares of `reach` neighbours each side
 * are summed, the sum is looked up, multiplied by v and converted.
 */
struct fwgen_normalisation {
    struct fwgen_cube source;
    struct fwgen_cube destination;
    uint32_t block;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    uint32_t values; /* int16_t[256] by input byte */
    uint32_t reach;
    uint32_t flags;
    uint32_t table; /* struct fwgen_lut */
    struct fwgen_converter converter;
};

/* Words of a fixed structure. */
#define FWGEN_WORDS(type) ((uint32_t)(sizeof(type) / sizeof(uint32_t)))

#endif
