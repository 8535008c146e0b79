/*
 * tp_value.c - the value function of the TP engine.
 *
 * The engine computes in floating point with 15 fraction bits: y0 is the pixel
 * less the input zero point, replaced by the look-up table's value (cut off
 * after 15 fraction bits) if there is a table; then
 *     y1 = R(y0 * (1 + mult / 32768)) * 2^-shift
 *     y2 = R(y1 + output zero point)
 * with R rounding to 15 fraction bits, ties to even; the result is y2 rounded
 * to an integer, ties to even, and clamped to 0..255. Rounding comes after the
 * zero point, unlike in the NN engine.
 *
 * Here all of it is exact integer arithmetic: values of the table are
 * multiples of 2^-29 below 2^17, interpolated ones multiples of 2^-35, and
 * fit 53 bits.
 *
 * Table entries are 21-bit floats: sign, 5 bits of exponent (bias 15, 0 is
 * denormal, 31 is a number as any other), 15 bits of mantissa. The index is
 * cut from the half-precision pattern of y0.
 */
#include "tp.h"

#include <inttypes.h>

#define ENTRIES 1025u    /* 1024, and the neighbour of the last */
#define FRACTION_BITS 35 /* of an interpolated value */
#define MANTISSA 16u     /* bits of a value, the leading 1 included */

int32_t tp_post_shift(const uint32_t *words)
{
    uint32_t value = vip_bits(words, 24, 10, 5) | vip_bits(words, 24, 26, 2)
                                                      << 5;

    return value >= 64u ? (int32_t)value - 128 : (int32_t)value;
}

static unsigned bit_length(uint64_t value)
{
    unsigned length = 0;

    while (value != 0) {
        value >>= 1;
        length++;
    }
    return length;
}

/* value >> shift, to the nearest integer, ties to even. */
static uint64_t round_shift(uint64_t value, unsigned shift)
{
    uint64_t whole, rest, half;

    if (shift == 0) {
        return value;
    }
    if (shift >= 64u) {
        return 0;
    }
    whole = value >> shift;
    rest = value & (((uint64_t)1 << shift) - 1u);
    half = (uint64_t)1 << (shift - 1u);
    if (rest > half || (rest == half && (whole & 1u) != 0)) {
        whole++;
    }
    return whole;
}

/* R: keeps MANTISSA bits. */
static uint64_t round_mantissa(uint64_t value)
{
    unsigned length = bit_length(value);

    if (length <= MANTISSA) {
        return value;
    }
    return round_shift(value, length - MANTISSA) << (length - MANTISSA);
}

static uint64_t cut_mantissa(uint64_t value)
{
    unsigned length = bit_length(value);

    if (length <= MANTISSA) {
        return value;
    }
    return value >> (length - MANTISSA) << (length - MANTISSA);
}

/* In units of 2^-29. */
static int64_t decode_entry(uint32_t entry)
{
    unsigned exponent = entry >> 15 & 0x1fu;
    int64_t value = entry & 0x7fffu;

    if (exponent != 0) {
        value = (value | 0x8000) << (exponent - 1u);
    }
    return (entry >> 20 & 1u) != 0 ? -value : value;
}

/* The half-precision pattern of an integer of at most 11 bits. */
static uint32_t half_pattern(int32_t value)
{
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value);
    uint32_t sign = value < 0 ? 0x8000u : 0u;
    unsigned length = bit_length(magnitude);

    if (magnitude == 0) {
        return 0;
    }
    return sign | (length + 14u) << 10 |
           ((magnitude << (11u - length)) & 0x3ffu);
}

int64_t tp_look_up(const uint32_t *table, int32_t value, bool sign_support)
{
    uint32_t pattern = half_pattern(value);
    uint32_t index, part;
    int64_t first, second, result;

    if (sign_support) {
        index = pattern >> 6;
        part = pattern & 63u;
    } else {
        index = (pattern & 0x7fffu) >> 5;
        part = (pattern & 31u) * 2u;
    }
    first = decode_entry(table[index]);
    second = decode_entry(table[index + 1u]);
    result = first * 64 + (second - first) * (int64_t)part;
    return !sign_support && value < 0 ? -result : result;
}

uint8_t tp_requantise(int64_t y0, uint32_t mult, int32_t shift,
                      uint32_t zero_point)
{
    bool negative = y0 < 0;
    uint64_t magnitude = cut_mantissa((uint64_t)(negative ? -y0 : y0));
    /* The value is mantissa * 2^exponent. */
    int32_t exponent = -FRACTION_BITS;
    unsigned length = bit_length(magnitude);
    uint64_t mantissa;
    int64_t sum, rounded;

    if (magnitude == 0) {
        return (uint8_t)zero_point;
    }
    if (length > MANTISSA) {
        exponent += (int32_t)(length - MANTISSA);
        magnitude >>= length - MANTISSA;
    }
    mantissa = round_mantissa(magnitude * (0x8000u + mult));
    exponent -= 15 + shift;
    /* Normalise to 16 bits, so that the exponent tells the size. */
    length = bit_length(mantissa);
    if (length > MANTISSA) {
        exponent += (int32_t)(length - MANTISSA);
        mantissa >>= length - MANTISSA;
    } else {
        exponent -= (int32_t)(MANTISSA - length);
        mantissa <<= MANTISSA - length;
    }
    if (exponent > -6) {
        /* 2^10 and more: beyond any zero point. */
        return negative ? 0 : 255;
    }
    if (exponent < -40) {
        /* Below 2^-24: vanishes beside a zero point, and rounds to 0. */
        return (uint8_t)zero_point;
    }
    /* In units of 2^-40. */
    sum = (int64_t)(mantissa << (exponent + 40));
    sum = (negative ? -sum : sum) + ((int64_t)zero_point << 40);
    if (sum <= 0) {
        return 0;
    }
    rounded = (int64_t)round_shift(round_mantissa((uint64_t)sum), 40);
    return rounded > 255 ? 255 : (uint8_t)rounded;
}

static bool load_table(const struct tp_job *job, uint32_t *table)
{
    static const size_t size = ENTRIES * 4u;
    uint8_t bytes[ENTRIES * 4u];
    uint32_t address = job->words[11];

    if (!job->memory->read(job->memory->opaque, address, bytes, size)) {
        return false;
    }
    for (unsigned i = 0; i < ENTRIES; i++) {
        table[i] = (uint32_t)bytes[4u * i] | (uint32_t)bytes[4u * i + 1u] << 8 |
                   (uint32_t)bytes[4u * i + 2u] << 16 |
                   (uint32_t)bytes[4u * i + 3u] << 24;
        if (table[i] >> 21 != 0) {
            return vip_job_error(job->memory,
                                 "entry %u of the look-up table at 0x%08" PRIx32
                                 " is 0x%08" PRIx32 ": more than 21 bits",
                                 i, address, table[i]);
        }
    }
    return true;
}

bool tp_value_table(const struct tp_job *job, uint8_t table[256])
{
    const uint32_t *words = job->words;
    bool with_table = vip_bits(words, 6, 27, 1) != 0;
    bool sign_support = vip_bits(words, 12, 28, 1) != 0;
    int32_t in_zero = (int32_t)vip_bits(words, 29, 24, 8);
    uint32_t look_up[ENTRIES];

    if (with_table && !load_table(job, look_up)) {
        return false;
    }
    for (int32_t byte = 0; byte < 256; byte++) {
        int64_t y0 = (int64_t)(byte - in_zero) * ((int64_t)1 << FRACTION_BITS);

        if (with_table) {
            y0 = tp_look_up(look_up, byte - in_zero, sign_support);
        }
        table[byte] =
            tp_requantise(y0, vip_bits(words, 30, 8, 15), tp_post_shift(words),
                          vip_bits(words, 30, 0, 8));
    }
    return true;
}
