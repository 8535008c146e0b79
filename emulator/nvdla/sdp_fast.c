/*
 * sdp_fast.c - see the header; the rules of the arithmetic are in sdp.c.
 *
 * Products have up to 64 bits; of a shifted one only 32 are kept, so a logical
 * shift by up to 32 does (AVX2 has no other for 64 bits). Rounding to nearest
 * with ties away from zero adds half, and 1 less for negative values; before a
 * ReLU that difference cannot be seen, since both ways give at most 0.
 */
#include "sdp_fast.h"

#include "arith.h"
#include "conv_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_X86 1
#endif

struct range {
    int64_t low, high;
};

static int64_t magnitude(struct range range)
{
    return -range.low > range.high ? -range.low : range.high;
}

static bool fits(struct range range)
{
    return range.low >= INT32_MIN && range.high <= INT32_MAX;
}

/* What an operand may be. */
static struct range operand_range(const struct sdp_operands *operands,
                                  const struct sdp_operand_form *form,
                                  const int32_t *values, uint32_t atom)
{
    struct range range = {values[0], values[0]};

    if (form->from_memory && operands->per_element) {
        int64_t highest = (int64_t)1 << (8u * operands->bytes - 1u);
        unsigned shift = form->left_shift < 32u ? form->left_shift : 32u;

        highest = nvdla_saturate(highest << shift, 33);
        range.low = -highest;
        range.high = highest;
        return range;
    }
    for (uint32_t i = 1; i < atom; i++) {
        range.low = values[i] < range.low ? values[i] : range.low;
        range.high = values[i] > range.high ? values[i] : range.high;
    }
    return range;
}

/* Multiplies, shifts and follows the range; false when 32 bits do not do. */
static bool plan_multiply(struct sdp_fast_stage *stage, struct range *range,
                          struct range factor, unsigned shift, bool relu)
{
    struct range product;
    bool negative = range->low < 0 || factor.low < 0;

    if (shift > 32u || !fits(*range) || !fits(factor)) {
        return false;
    }
    if (factor.low == factor.high && factor.low >= 0) {
        product.low = range->low * factor.low;
        product.high = range->high * factor.low;
    } else {
        product.high = magnitude(*range) * magnitude(factor);
        product.low = negative ? -product.high : 0;
    }
    range->low = nvdla_round_shift(product.low, shift);
    range->high = nvdla_round_shift(product.high, shift);
    if (!fits(*range)) {
        return false;
    }
    stage->flags |= FAST_MULTIPLY;
    stage->flags |= negative && !relu && shift != 0 ? FAST_NEGATIVE : 0u;
    stage->shift = shift;
    return true;
}

static bool plan_x(struct sdp_fast_plan *plan, struct range *range,
                   const struct x_stage *x, uint32_t atom)
{
    const struct sdp_operands *operands = &x->operands;
    struct sdp_fast_stage *stage = &plan->stage[plan->stages];
    bool relu = !x->relu_bypass;

    if (x->bypass) {
        return true;
    }
    plan->stages++;
    *stage = (struct sdp_fast_stage){.flags = relu ? FAST_RELU : 0u};
    if (!x->alu_bypass) {
        struct range addend =
            operand_range(operands, &operands->alu, operands->alu_values, atom);

        if (x->algo != ALGO_SUM) {
            return false;
        }
        range->low += addend.low;
        range->high += addend.high;
        stage->flags |= FAST_ADD;
        stage->addends = operands->alu_values;
    }
    if (!fits(*range)) {
        return false;
    }
    if (!x->mul_bypass) {
        struct range factor =
            operand_range(operands, &operands->mul, operands->mul_values, atom);

        if (x->prelu ||
            !plan_multiply(stage, range, factor, x->mul_shift, relu)) {
            return false;
        }
        stage->multipliers = operands->mul_values;
    } else if (x->mul_shift != 0) {
        if (!plan_multiply(stage, range, (struct range){1, 1}, x->mul_shift,
                           relu)) {
            return false;
        }
        stage->multiplier = 1;
    }
    if (relu) {
        range->low = range->low > 0 ? range->low : 0;
        range->high = range->high > 0 ? range->high : 0;
    }
    plan->per_element =
        plan->per_element || (operands->used && operands->per_element);
    return true;
}

static bool plan_converter(struct sdp_fast_plan *plan, struct range *range,
                           const struct sdp_converter *converter)
{
    struct sdp_fast_stage *stage = &plan->stage[plan->stages++];

    *stage = (struct sdp_fast_stage){.flags = 0};
    if (converter->offset != 0) {
        range->low -= converter->offset;
        range->high -= converter->offset;
        stage->flags |= FAST_ADD;
        stage->addend = (int32_t)-converter->offset;
    }
    if (converter->offset == INT32_MIN || !fits(*range)) {
        return false;
    }
    stage->multiplier = (int32_t)converter->scale;
    return (converter->scale == 1 && converter->shift == 0) ||
           plan_multiply(stage, range,
                         (struct range){converter->scale, converter->scale},
                         converter->shift, false);
}

void sdp_fast_open(struct sdp_fast_plan *plan, int64_t input,
                   const struct x_stage *x1, const struct x_stage *x2,
                   const struct sdp_converter *converter, uint32_t atom)
{
    struct range range = {-input, input};

    plan->stages = 0;
    plan->per_element = false;
    plan->usable = plan_x(plan, &range, x1, atom) &&
                   plan_x(plan, &range, x2, atom) &&
                   plan_converter(plan, &range, converter);
}

FWGEN_CLONES
static void add_values(int32_t *values, const int32_t *addends, int32_t addend,
                       unsigned count)
{
    if (addends == NULL) {
        for (unsigned i = 0; i < count; i++) {
            values[i] += addend;
        }
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        values[i] += addends[i];
    }
}

/* Bits shift ... shift + 31 of a product that was rounded. */
static inline int32_t shifted(int64_t product, int64_t half, int64_t negative,
                              unsigned shift)
{
    uint64_t sum = (uint64_t)product + (uint64_t)half -
                   (((uint64_t)product >> 63) & (uint64_t)negative);

    return (int32_t)(uint32_t)(sum >> shift);
}

FWGEN_CLONES
static void multiply_values(int32_t *values, const int32_t *multipliers,
                            int32_t multiplier, unsigned shift, bool negative,
                            unsigned count)
{
    int64_t half = ((int64_t)1 << shift) >> 1;
    int64_t correction = negative ? 1 : 0;

    if (multipliers == NULL) {
        for (unsigned i = 0; i < count; i++) {
            values[i] = shifted((int64_t)values[i] * multiplier, half,
                                correction, shift);
        }
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        values[i] = shifted((int64_t)values[i] * multipliers[i], half,
                            correction, shift);
    }
}

FWGEN_CLONES
static void cut_off(int32_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        values[i] = values[i] > 0 ? values[i] : 0;
    }
}

FWGEN_CLONES
static void saturate_bytes(int8_t *out, const int32_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int32_t v = values[i];

        out[i] = (int8_t)(v > 127 ? 127 : v < -128 ? -128 : v);
    }
}

void sdp_fast_chunk(const struct sdp_fast_plan *plan, int8_t *out,
                    int32_t *values, unsigned count)
{
    for (unsigned i = 0; i < plan->stages; i++) {
        const struct sdp_fast_stage *stage = &plan->stage[i];

        if ((stage->flags & FAST_ADD) != 0) {
            add_values(values, stage->addends, stage->addend, count);
        }
        if ((stage->flags & FAST_MULTIPLY) != 0) {
            multiply_values(values, stage->multipliers, stage->multiplier,
                            stage->shift, (stage->flags & FAST_NEGATIVE) != 0,
                            count);
        }
        if ((stage->flags & FAST_RELU) != 0) {
            cut_off(values, count);
        }
    }
    saturate_bytes(out, values, count);
}

#ifdef HAVE_X86

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))
#define INLINE static inline __attribute__((always_inline)) AVX512

/* A stage for 16 values. */
struct lanes {
    __m512i addends, even, odd, half;
    __m128i down, up;
};

INLINE __m512i apply(__m512i v, const struct lanes *lanes, unsigned flags)
{
    if ((flags & FAST_ADD) != 0) {
        v = _mm512_add_epi32(v, lanes->addends);
    }
    if ((flags & FAST_MULTIPLY) != 0) {
        __m512i even = _mm512_mul_epi32(v, lanes->even);
        __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(v, 32), lanes->odd);
        __m512i even_sum = _mm512_add_epi64(even, lanes->half);
        __m512i odd_sum = _mm512_add_epi64(odd, lanes->half);

        if ((flags & FAST_NEGATIVE) != 0) {
            even_sum = _mm512_add_epi64(even_sum, _mm512_srai_epi64(even, 63));
            odd_sum = _mm512_add_epi64(odd_sum, _mm512_srai_epi64(odd, 63));
        }
        /* The wanted 32 bits in the low and in the high half. */
        v = _mm512_mask_blend_epi32(0xaaaa,
                                    _mm512_srl_epi64(even_sum, lanes->down),
                                    _mm512_sll_epi64(odd_sum, lanes->up));
    }
    if ((flags & FAST_RELU) != 0) {
        v = _mm512_max_epi32(v, _mm512_setzero_si512());
    }
    return v;
}

AVX512 static void load_lanes(struct lanes *lanes,
                              const struct sdp_fast_stage *stage,
                              uint32_t channel)
{
    __m512i multipliers = stage->multipliers != NULL
                              ? _mm512_loadu_si512(stage->multipliers + channel)
                              : _mm512_set1_epi32(stage->multiplier);

    lanes->addends = stage->addends != NULL
                         ? _mm512_loadu_si512(stage->addends + channel)
                         : _mm512_set1_epi32(stage->addend);
    lanes->even = multipliers;
    lanes->odd = _mm512_srli_epi64(multipliers, 32);
    lanes->half = _mm512_set1_epi64(((int64_t)1 << stage->shift) >> 1);
    lanes->down = _mm_cvtsi32_si128((int)stage->shift);
    lanes->up = _mm_cvtsi32_si128((int)(32u - stage->shift));
}

/* 16 channels, or two pixels' 8, of each pixel; flags of the stages are known
 * to the compiler where it matters. */
INLINE void line_512(const struct lanes *lanes, unsigned stages, unsigned f0,
                     unsigned f1, unsigned f2, int8_t *out,
                     const int32_t *values, size_t stride, uint32_t pixels,
                     uint32_t atom)
{
    uint32_t step = atom == 8u ? 2u : 1u;

    for (uint32_t x = 0; x < pixels; x += step) {
        const int32_t *from = values + x * stride;
        int8_t *to = out + (size_t)x * atom;
        __m512i v;

        if (atom == 8u) {
            const int32_t *second = x + 1u < pixels ? from + stride : from;

            v = _mm512_inserti64x4(
                _mm512_castsi256_si512(
                    _mm256_loadu_si256((const __m256i *)(const void *)from)),
                _mm256_loadu_si256((const __m256i *)(const void *)second), 1);
        } else {
            v = _mm512_loadu_si512(from);
        }
        v = apply(v, &lanes[0], f0);
        if (stages > 1u) {
            v = apply(v, &lanes[1], f1);
        }
        if (stages > 2u) {
            v = apply(v, &lanes[2], f2);
        }

        __m128i bytes = _mm512_cvtsepi32_epi8(v);

        if (atom == 8u && x + 1u == pixels) {
            _mm_storel_epi64((__m128i *)(void *)to, bytes);
        } else {
            _mm_storeu_si128((__m128i *)(void *)to, bytes);
        }
    }
}

AVX512 static void line_any(const struct sdp_fast_plan *plan, int8_t *out,
                            const int32_t *values, size_t stride,
                            uint32_t pixels, uint32_t atom, uint32_t channel)
{
    const struct sdp_fast_stage *stage = plan->stage;
    struct lanes lanes[SDP_FAST_STAGES];

    for (unsigned i = 0; i < plan->stages; i++) {
        load_lanes(&lanes[i], &stage[i], channel);
    }
    /* Bias, with a multiplier or without, ReLU and a scale. */
    if (plan->stages == 2u && stage[1].flags == FAST_MULTIPLY &&
        stage[0].flags == (FAST_ADD | FAST_MULTIPLY | FAST_RELU)) {
        line_512(lanes, 2, FAST_ADD | FAST_MULTIPLY | FAST_RELU, FAST_MULTIPLY,
                 0, out, values, stride, pixels, atom);
    } else if (plan->stages == 2u && stage[1].flags == FAST_MULTIPLY &&
               stage[0].flags == (FAST_ADD | FAST_RELU)) {
        line_512(lanes, 2, FAST_ADD | FAST_RELU, FAST_MULTIPLY, 0, out, values,
                 stride, pixels, atom);
    } else {
        line_512(lanes, plan->stages, stage[0].flags, stage[1].flags,
                 stage[2].flags, out, values, stride, pixels, atom);
    }
}

#endif

bool sdp_fast_line(const struct sdp_fast_plan *plan, int8_t *out,
                   const int32_t *values, size_t stride, uint32_t pixels,
                   uint32_t atom)
{
#ifdef HAVE_X86
    if (conv_kernels_select()->vectors == VECTOR_AVX512 && atom % 8u == 0) {
        /* Every atom is 8, or a multiple of 16. */
        for (uint32_t c = 0; c < atom; c += 16u) {
            line_any(plan, out + c, values + c, stride, pixels, atom, c);
        }
        return true;
    }
#else
    (void)plan;
    (void)out;
    (void)values;
    (void)stride;
    (void)pixels;
    (void)atom;
#endif
    return false;
}
