/*
 * sdp_stages.c - the arithmetic of SDP's stages over a chunk (rules in sdp.c).
 *
 * Values travel as 64 bit so that the 33 and 49 bits inside a stage fit; they
 * are 32 bit numbers between stages.
 */
#include "sdp_stages.h"

#include "arith.h"

FWGEN_CLONES
static void alu_chunk(int64_t *values, const int32_t *operands, unsigned algo,
                      unsigned count)
{
    switch (algo) {
    case ALGO_MAX:
        for (unsigned i = 0; i < count; i++) {
            values[i] = values[i] > operands[i] ? values[i] : operands[i];
        }
        break;
    case ALGO_MIN:
        for (unsigned i = 0; i < count; i++) {
            values[i] = values[i] < operands[i] ? values[i] : operands[i];
        }
        break;
    default:
        for (unsigned i = 0; i < count; i++) {
            values[i] += operands[i];
        }
        break;
    }
}

FWGEN_CLONES
static void shift_chunk(int64_t *values, const int32_t *operands,
                        unsigned shift, unsigned count)
{
    int64_t half = (int64_t)(((uint64_t)1 << shift) >> 1);

    for (unsigned i = 0; i < count; i++) {
        int64_t product =
            operands != NULL ? values[i] * operands[i] : values[i];
        int64_t r = nvdla_round_shift_line(product, shift, half);

        values[i] = r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r;
    }
}

static void prelu_chunk(int64_t *values, const int32_t *operands,
                        unsigned shift, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (values[i] >= 0) {
            values[i] = nvdla_sign_extend((uint32_t)values[i], 32);
        } else {
            values[i] = nvdla_saturate32(
                nvdla_round_shift(values[i] * operands[i], shift));
        }
    }
}

FWGEN_CLONES
static void relu_chunk(int64_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        values[i] = values[i] > 0 ? values[i] : 0;
    }
}

void sdp_x_chunk(const struct x_stage *stage, int64_t *values, unsigned count)
{
    const struct sdp_operands *operands = &stage->operands;

    if (stage->bypass) {
        return;
    }
    if (!stage->alu_bypass) {
        alu_chunk(values, operands->alu_values, stage->algo, count);
    }
    if (stage->mul_bypass) {
        shift_chunk(values, NULL, stage->mul_shift, count);
    } else if (stage->prelu) {
        prelu_chunk(values, operands->mul_values, stage->mul_shift, count);
    } else {
        shift_chunk(values, operands->mul_values, stage->mul_shift, count);
    }
    if (!stage->relu_bypass) {
        relu_chunk(values, count);
    }
}

void sdp_y_chunk(const struct y_stage *stage, struct nvdla_job *job,
                 int64_t *values, unsigned count, uint32_t channels)
{
    const struct sdp_operands *operands = &stage->operands;

    if (stage->bypass) {
        return;
    }
    if (!stage->mul_bypass) {
        for (unsigned i = 0; i < count; i++) {
            if (!stage->prelu || values[i] < 0) {
                values[i] = nvdla_saturate32(nvdla_round_shift(
                    values[i] * operands->mul_values[i], stage->truncate));
            }
        }
    }
    if (!stage->alu_bypass && stage->algo == ALGO_EQL) {
        uint32_t atom = job->config->atom;

        for (unsigned i = 0; i < count; i++) {
            if (i % atom < channels && values[i] != operands->alu_values[i]) {
                job->unequal = true;
            }
        }
    } else if (!stage->alu_bypass) {
        alu_chunk(values, operands->alu_values, stage->algo, count);
        for (unsigned i = 0; i < count; i++) {
            values[i] = nvdla_saturate32(values[i]);
        }
    }
    if (!stage->lut_bypass) {
        for (unsigned i = 0; i < count; i++) {
            values[i] = nvdla_lut_lookup(&stage->lut, &job->lut, values[i],
                                         &job->lut_counters);
        }
    }
}

FWGEN_CLONES
static uint32_t convert_chunk(int8_t *out, const int64_t *values,
                              int64_t offset, int64_t scale, unsigned shift,
                              unsigned count)
{
    int64_t half = (int64_t)(((uint64_t)1 << shift) >> 1);
    uint32_t saturated = 0;

    for (unsigned i = 0; i < count; i++) {
        int64_t r =
            nvdla_round_shift_line((values[i] - offset) * scale, shift, half);
        int64_t clamped = r > 127 ? 127 : r < -128 ? -128 : r;

        saturated += clamped != r ? 1u : 0u;
        out[i] = (int8_t)clamped;
    }
    return saturated;
}

/* Of its own, since clang's clones are not found from other files. */
uint32_t sdp_output_chunk(int8_t *out, const int64_t *values, int64_t offset,
                          int64_t scale, unsigned shift, unsigned count)
{
    return convert_chunk(out, values, offset, scale, shift, count);
}
