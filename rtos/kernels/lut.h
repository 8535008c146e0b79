/*
 * lut.h - look-up of a function in two tables with slopes outside them.
 *
 * Table E has 65 entries and an exponential or linear index, table L has 257
 * and a linear one. A value at or below a table's start is below it, an index
 * at or behind the last entry is above it. Between entries the result is
 * interpolated, outside it follows a line from the end entry.
 */
#ifndef FWGEN_KERNELS_LUT_H
#define FWGEN_KERNELS_LUT_H

#include <stdint.h>

#define FWGEN_LUT_E_ENTRIES 65
#define FWGEN_LUT_L_ENTRIES 257

/* Flags. */
#define FWGEN_LUT_E_LINEAR (1u << 0)
#define FWGEN_LUT_BELOW_L (1u << 1) /* below both: table L counts */
#define FWGEN_LUT_ABOVE_L (1u << 2)
#define FWGEN_LUT_MIXED_L (1u << 3) /* in both, or below one and above one */

struct fwgen_lut_slope {
    int32_t scale;
    int32_t shift; /* negative: to the left */
};

/* As it lies in memory: the generator writes it (fwgen/program/kernels.py). */
struct fwgen_lut {
    int64_t e_start;
    int64_t e_end;
    int64_t e_base; /* where the slope below table E starts */
    int64_t l_start;
    int64_t l_end;
    uint32_t flags;
    int32_t e_offset; /* exponent of the first entry, exponential index */
    int32_t e_select; /* right shift of a linear index */
    int32_t l_select;
    struct fwgen_lut_slope e_below;
    struct fwgen_lut_slope e_above;
    struct fwgen_lut_slope l_below;
    struct fwgen_lut_slope l_above;
    int16_t e[FWGEN_LUT_E_ENTRIES];
    int16_t l[FWGEN_LUT_L_ENTRIES];
};

/* A 32-bit value; 35 fraction bits, result of 32 bits. */
int32_t fwgen_lut_wide(const struct fwgen_lut *lut, int32_t x);

/* A sum of squares; 16 fraction bits, result of 16 bits. */
int32_t fwgen_lut_narrow(const struct fwgen_lut *lut, int32_t x);

#endif
