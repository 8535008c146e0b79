/*
 * arith.h - integer rounding and saturation of the fixed-point kernels.
 *
 * Right shifts round to nearest, ties away from zero; left shifts and
 * narrowing saturate. Every function is exact for all arguments that its
 * comment admits, so that any conforming compiler gives the same bytes.
 */
#ifndef FWGEN_KERNELS_ARITH_H
#define FWGEN_KERNELS_ARITH_H

#include <stdint.h>

/* A word that overlays bytes. */
typedef uint32_t __attribute__((may_alias)) fwgen_word;

/* x limited to a signed integer of `bits` bits, 2 to 63. */
static inline int64_t fwgen_saturate(int64_t x, uint32_t bits)
{
    const int64_t high = (int64_t)(((uint64_t)1 << (bits - 1u)) - 1u);

    if (x > high) {
        return high;
    }
    return x < -high - 1 ? -high - 1 : x;
}

static inline int32_t fwgen_saturate32(int64_t x)
{
    if (x > INT32_MAX) {
        return INT32_MAX;
    }
    return x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

/*
 * x / 2^shift, any shift; |x| at most 2^63 - 1. By 32-bit halves, because
 * 32-bit cores shift 64 bits in a function of the compiler's library.
 */
static inline int64_t fwgen_round_shift(int64_t x, uint32_t shift)
{
    uint64_t magnitude = x < 0 ? 0u - (uint64_t)x : (uint64_t)x;
    uint32_t high;
    uint32_t low;

    if (shift == 0u) {
        return x;
    }
    if (shift > 32u) {
        if (shift > 63u) {
            return 0;
        }
        high = (uint32_t)(magnitude >> 32) + ((uint32_t)1 << (shift - 33u));
        magnitude = high >> (shift - 32u);
    } else {
        magnitude += (uint32_t)1 << (shift - 1u);
        high = (uint32_t)(magnitude >> 32);
        low = (uint32_t)magnitude;
        if (shift == 32u) {
            magnitude = high;
        } else {
            low = (low >> shift) | (high << (32u - shift));
            magnitude = (uint64_t)(high >> shift) << 32 | low;
        }
    }
    return x < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
}

/* x * 2^shift limited to `bits` bits; any shift. */
static inline int64_t fwgen_shift_left(int64_t x, uint32_t shift, uint32_t bits)
{
    const int64_t high = (int64_t)(((uint64_t)1 << (bits - 1u)) - 1u);
    const int64_t ceiling = shift < bits ? high >> shift : 0;
    const int64_t floor = shift < bits ? -ceiling - 1 : 0;

    if (x > ceiling) {
        return high;
    }
    if (x < floor) {
        return -high - 1;
    }
    return shift < bits ? (int64_t)((uint64_t)x << shift) : 0;
}

/* Right shift for shift >= 0, left shift else; both limited to `bits` bits. */
static inline int64_t fwgen_shift(int64_t x, int32_t shift, uint32_t bits)
{
    return shift >= 0
               ? fwgen_saturate(fwgen_round_shift(x, (uint32_t)shift), bits)
               : fwgen_shift_left(x, (uint32_t)-shift, bits);
}

#endif
