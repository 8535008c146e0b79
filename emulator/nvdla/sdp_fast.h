/*
 * sdp_fast.h - the common settings of SDP in 32 bits and without clamping.
 *
 * Where neither intermediate result can leave 32 bits, whatever the values
 * are, saturation has nothing to do and the arithmetic of sdp_stages.c comes
 * down to: add, multiply, shift, cut off below 0. A plan says whether that is
 * so for the operands of one surface.
 */
#ifndef FWGEN_NVDLA_SDP_FAST_H
#define FWGEN_NVDLA_SDP_FAST_H

#include "sdp_stages.h"

#define SDP_FAST_STAGES 3u /* X1, X2, output converter */

enum {
    FAST_ADD = 1,
    FAST_MULTIPLY = 2, /* and shift */
    FAST_NEGATIVE = 4, /* ties of negative values round away from zero */
    FAST_RELU = 8,
};

struct sdp_fast_stage {
    unsigned flags;
    const int32_t *addends;     /* of the stage's operands, or */
    const int32_t *multipliers; /* NULL: the constant */
    int32_t addend, multiplier;
    unsigned shift; /* up to 32 */
};

struct sdp_fast_plan {
    bool usable;
    bool per_element; /* an operand changes with every chunk */
    unsigned stages;
    struct sdp_fast_stage stage[SDP_FAST_STAGES];
};

/* The output converter. */
struct sdp_converter {
    int64_t offset, scale;
    unsigned shift;
};

/* input: the highest magnitude of the values. The stages' operands of the
 * surface must have been fetched. */
void sdp_fast_open(struct sdp_fast_plan *plan, int64_t input,
                   const struct x_stage *x1, const struct x_stage *x2,
                   const struct sdp_converter *converter, uint32_t atom);
/* Values of whole pixels of one surface; they are changed. */
void sdp_fast_chunk(const struct sdp_fast_plan *plan, int8_t *out,
                    int32_t *values, unsigned count);
/* A line of `pixels` pixels, their values `stride` apart, without operands
 * that change. False when this host has no code for it. */
bool sdp_fast_line(const struct sdp_fast_plan *plan, int8_t *out,
                   const int32_t *values, size_t stride, uint32_t pixels,
                   uint32_t atom);

#endif
