/*
 * arith.h - the arithmetic of the datapaths: rounding shifts and saturation.
 *
 * RS(x, n) shifts right and rounds to nearest, ties away from zero. A shift of
 * the whole width or more gives 0. Left shifts saturate.
 */
#ifndef FWGEN_NVDLA_ARITH_H
#define FWGEN_NVDLA_ARITH_H

#include <stdint.h>

#include "clones.h"

/* 128 bits hold any product that is then shifted left. */
__extension__ typedef __int128 nvdla_wide;

/* Low bits of value as a two's complement number of that width (1..32). */
static inline int32_t nvdla_sign_extend(uint32_t value, unsigned bits)
{
    uint32_t sign = 1u << (bits - 1u);
    uint32_t mask = sign | (sign - 1u);

    return (int32_t)(int64_t)(((int64_t)(value & mask) ^ (int64_t)sign) -
                              (int64_t)sign);
}

/* Clamp to a signed number of that width (2..63). */
static inline int64_t nvdla_saturate(int64_t value, unsigned bits)
{
    int64_t high = ((int64_t)1 << (bits - 1u)) - 1;
    int64_t low = -high - 1;

    return value > high ? high : value < low ? low : value;
}

static inline int32_t nvdla_saturate32(int64_t value)
{
    return (int32_t)nvdla_saturate(value, 32);
}

/* RS for any value but INT64_MIN. */
static inline int64_t nvdla_round_shift(int64_t value, unsigned shift)
{
    uint64_t magnitude = value < 0 ? (uint64_t)-value : (uint64_t)value;

    if (shift == 0) {
        return value;
    }
    if (shift > 64) {
        return 0;
    }
    magnitude = ((magnitude >> (shift - 1u)) + 1u) >> 1;
    return value < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
}

/*
 * RS for |value| < 2^61 and shift < 63, without branches so that loops over a
 * line vectorise. half is ((int64_t)1 << shift) >> 1.
 */
static inline int64_t nvdla_round_shift_line(int64_t value, unsigned shift,
                                             int64_t half)
{
    return (value + half + ((value >> 63) & -(half != 0))) >> shift;
}

/* Shift right by a signed amount (negative: left), saturated to bits. */
static inline int64_t nvdla_signed_shift(int64_t value, int shift,
                                         unsigned bits)
{
    if (shift >= 0) {
        return nvdla_saturate(nvdla_round_shift(value, (unsigned)shift), bits);
    }

    nvdla_wide wide = (nvdla_wide)value * ((nvdla_wide)1 << -shift);
    nvdla_wide high = ((nvdla_wide)1 << (bits - 1u)) - 1;

    if (wide > high) {
        return (int64_t)high;
    }
    if (wide < -high - 1) {
        return (int64_t)(-high - 1);
    }
    return (int64_t)wide;
}

/* (value - offset) * scale, shifted and saturated: every converter's form. */
static inline int64_t nvdla_convert(int64_t value, int64_t offset,
                                    int64_t scale, unsigned shift,
                                    unsigned bits)
{
    return nvdla_saturate(nvdla_round_shift((value - offset) * scale, shift),
                          bits);
}

#endif
