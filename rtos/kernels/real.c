/*
 * real.c - conversions and elementary functions of the CPU kernels (real.h).
 */
#include "real.h"

#include <stdbool.h>
#include <string.h>

#define LOG2_E 1.4426950408889634074
#define LN2_HIGH 6.93147180369123816490e-01 /* its low 32 bits are zero */
#define LN2_LOW 1.90821492927058770002e-10
#define SQRT_HALF 0.70710678118654752440

static uint32_t bits_of(float value)
{
    uint32_t word;

    (void)memcpy(&word, &value, sizeof(word));
    return word;
}

float fwgen_float_of(uint32_t word)
{
    float value;

    (void)memcpy(&value, &word, sizeof(value));
    return value;
}

/* 2^exponent, for exponents of normal doubles. */
static double power_of_two(int32_t exponent)
{
    const uint64_t bits = (uint64_t)(uint32_t)(exponent + 1023) << 52;
    double value;

    (void)memcpy(&value, &bits, sizeof(value));
    return value;
}

float fwgen_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t fraction = half & 0x3ffu;

    if (exponent == 0x1fu) { /* infinity, NaN */
        return fwgen_float_of(sign | 0x7f800000u | (fraction << 13));
    }
    if (exponent == 0u) {
        if (fraction == 0u) {
            return fwgen_float_of(sign);
        }
        exponent = 1u;
        while ((fraction & 0x400u) == 0u) { /* at most ten times */
            fraction <<= 1;
            exponent--;
        }
        fraction &= 0x3ffu;
    }
    /* exponent may have wrapped below zero; the sum is right modulo 2^32 */
    return fwgen_float_of(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

uint16_t fwgen_float_to_half(float value)
{
    const uint32_t word = bits_of(value);
    const uint32_t sign = (word >> 16) & 0x8000u;
    const uint32_t magnitude = word & 0x7fffffffu;
    uint32_t half;

    if (magnitude > 0x7f800000u) { /* NaN stays one */
        half = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
    } else if (magnitude >= 0x47800000u) { /* 65536 and more */
        half = 0x7c00u;
    } else if (magnitude >= 0x38800000u) { /* normal from 2^-14 on; the carry
                                              of 65520 makes infinity */
        half = (magnitude - 0x38000000u + 0x1000u) >> 13;
    } else if (magnitude >= 0x33000000u) { /* 2^-25 rounds up to 2^-24 */
        const uint32_t shift = 126u - (magnitude >> 23);
        const uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;

        half = (fraction + (1u << (shift - 1u))) >> shift;
    } else {
        half = 0;
    }
    return (uint16_t)(sign | half);
}

int8_t fwgen_float_to_int8(float value)
{
    if (value != value) {
        return 0;
    }
    if (value <= -128.0f) {
        return -128;
    }
    if (value >= 127.0f) {
        return 127;
    }
    return (int8_t)(int32_t)value;
}

/* e^x for |x| < 700: x = n ln 2 + r, |r| <= 0.35, and the Taylor series of e^r
 * whose first term left out is below 2^-50. */
static double exponential(double x)
{
    static const double inverse_factorials[] = {
        1.0 / 479001600.0,
        1.0 / 39916800.0,
        1.0 / 3628800.0,
        1.0 / 362880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    };
    const double scaled = x * LOG2_E;
    const int32_t n = (int32_t)(scaled + (scaled < 0.0 ? -0.5 : 0.5));
    const double r = (x - (double)n * LN2_HIGH) - (double)n * LN2_LOW;
    double sum = 0.0;

    for (uint32_t i = 0;
         i < sizeof(inverse_factorials) / sizeof(inverse_factorials[0]); i++) {
        sum = sum * r + inverse_factorials[i];
    }
    return sum * power_of_two(n);
}

/* Natural logarithm of a positive finite single: x = m 2^k with m near 1, and
 * ln m = 2 artanh((m - 1) / (m + 1)). */
static double logarithm(float x)
{
    double m = (double)x;
    uint64_t bits;
    int32_t k;
    double s;
    double square;
    double sum = 0.0;

    (void)memcpy(&bits, &m, sizeof(bits));
    k = (int32_t)(bits >> 52) - 1022;
    bits = (bits & 0xfffffffffffffu) | ((uint64_t)1022 << 52);
    (void)memcpy(&m, &bits, sizeof(m)); /* 0.5 <= m < 1 */
    if (m < SQRT_HALF) {
        m = m + m;
        k--;
    }
    s = (m - 1.0) / (m + 1.0);
    square = s * s;
    for (int32_t i = 21; i >= 1; i -= 2) {
        sum = sum * square + 2.0 / (double)i;
    }
    return (double)k * LN2_HIGH + (sum * s + (double)k * LN2_LOW);
}

float fwgen_expf(float x)
{
    if (x != x) {
        return x;
    }
    if (x > 89.0f) {
        return fwgen_float_of(0x7f800000u);
    }
    if (x < -104.0f) {
        return 0.0f;
    }
    return (float)exponential((double)x);
}

/* 0: not an integer, 1: odd, 2: even; for finite y. */
static uint32_t parity_of(float y)
{
    const uint32_t magnitude = bits_of(y) & 0x7fffffffu;
    const uint32_t exponent = magnitude >> 23;
    uint32_t fraction;
    uint32_t below;

    if (magnitude == 0u || exponent > 127u + 23u) {
        return 2u;
    }
    if (exponent < 127u) {
        return 0u;
    }
    below = 150u - exponent; /* bits of the fraction */
    fraction = (magnitude & 0x7fffffu) | 0x800000u;
    if ((fraction & ((1u << below) - 1u)) != 0u) {
        return 0u;
    }
    return ((fraction >> below) & 1u) != 0u ? 1u : 2u;
}

float fwgen_powf(float x, float y)
{
    const float infinity = fwgen_float_of(0x7f800000u);
    const uint32_t x_magnitude = bits_of(x) & 0x7fffffffu;
    const uint32_t y_magnitude = bits_of(y) & 0x7fffffffu;
    const bool x_negative = (bits_of(x) >> 31) != 0u;
    const bool y_negative = (bits_of(y) >> 31) != 0u;
    uint32_t kind;
    float sign = 1.0f;
    double exponent;

    if (y_magnitude == 0u || bits_of(x) == 0x3f800000u) {
        return 1.0f; /* even for NaN */
    }
    if (x != x || y != y) {
        return x + y;
    }
    if (y_magnitude == 0x7f800000u) {
        if (x_magnitude == 0x3f800000u) {
            return 1.0f;
        }
        return (x_magnitude > 0x3f800000u) == y_negative ? 0.0f : infinity;
    }
    kind = parity_of(y);
    if (x_negative && kind == 1u) {
        sign = -1.0f;
    }
    if (x_magnitude == 0u || x_magnitude == 0x7f800000u) {
        return (x_magnitude == 0u) == y_negative ? sign * infinity
                                                 : sign * 0.0f;
    }
    if (x_negative && kind == 0u) {
        return fwgen_float_of(0x7fc00000u);
    }
    exponent = (double)y * logarithm(fwgen_float_of(x_magnitude));
    if (exponent > 89.0) {
        return sign * infinity;
    }
    if (exponent < -104.0) {
        return sign * 0.0f;
    }
    return sign * (float)exponential(exponent);
}
