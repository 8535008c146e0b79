/*
 * lut.h - the two look-up tables of SDP and CDP and their interpolation.
 */
#ifndef FWGEN_NVDLA_LUT_H
#define FWGEN_NVDLA_LUT_H

#include <stdbool.h>
#include <stdint.h>

#define LUT_LE_SIZE 65u  /* linear or exponential table */
#define LUT_LO_SIZE 257u /* linear only table */

/* What software uploads through S_LUT_ACCESS_DATA. */
struct nvdla_lut_tables {
    int16_t le[LUT_LE_SIZE];
    int16_t lo[LUT_LO_SIZE];
};

struct nvdla_lut_slope {
    int64_t scale;
    int shift; /* signed: negative shifts left */
};

/* The S_LUT_* registers decoded; filled by the unit (see sdp.c, cdp.c). */
struct nvdla_lut_config {
    bool le_linear;
    bool underflow_lo, overflow_lo, hybrid_lo; /* priorities: 1 is LO */
    int le_offset;                             /* exponent mode */
    int le_select, lo_select;                  /* signed shifts */
    int64_t le_start, le_end, lo_start, lo_end;
    struct nvdla_lut_slope le_underflow, le_overflow;
    struct nvdla_lut_slope lo_underflow, lo_overflow;
    /* Where SDP and CDP differ. */
    unsigned fraction_bits;  /* SDP 35, CDP 16 */
    unsigned slope_bits;     /* width of the slope product after shift */
    unsigned result_bits;    /* SDP 32, CDP 16 */
    bool interpolate_delta;  /* CDP: y0 + RS((y1-y0)*f, n) */
    bool offset_zero_counts; /* CDP: 2^offset added for offset 0 as well */
};

/* What the unit's performance counters count. */
struct nvdla_lut_counters {
    uint32_t underflow, overflow, hybrid, le_hit, lo_hit;
};

int64_t nvdla_lut_lookup(const struct nvdla_lut_config *config,
                         const struct nvdla_lut_tables *tables, int64_t x,
                         struct nvdla_lut_counters *counters);

#endif
