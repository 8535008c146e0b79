/*
 * sdp_stages.h - the stages of SDP, decoded, and their arithmetic.
 */
#ifndef FWGEN_NVDLA_SDP_STAGES_H
#define FWGEN_NVDLA_SDP_STAGES_H

#include "sdp_operands.h"

enum { ALGO_MAX, ALGO_MIN, ALGO_SUM, ALGO_EQL };

struct x_stage {
    bool bypass, alu_bypass, mul_bypass, prelu, relu_bypass;
    unsigned algo;
    unsigned mul_shift;
    struct sdp_operands operands;
};

struct y_stage {
    bool bypass, alu_bypass, mul_bypass, prelu, lut_bypass;
    unsigned algo;
    unsigned truncate;
    struct nvdla_lut_config lut;
    struct sdp_operands operands;
};

/* Each works in place on values of whole pixels of one surface. */
void sdp_x_chunk(const struct x_stage *stage, int64_t *values, unsigned count);
/* channels: how many the cube still has from this surface on; EQL compares
 * those only. */
void sdp_y_chunk(const struct y_stage *stage, struct nvdla_job *job,
                 int64_t *values, unsigned count, uint32_t channels);
/* The output converter; returns how many values saturated. */
uint32_t sdp_output_chunk(int8_t *out, const int64_t *values, int64_t offset,
                          int64_t scale, unsigned shift, unsigned count);

#endif
