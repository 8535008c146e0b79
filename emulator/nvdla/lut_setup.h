/*
 * lut_setup.h - the S_LUT_* registers that SDP and CDP have alike.
 */
#ifndef FWGEN_NVDLA_LUT_SETUP_H
#define FWGEN_NVDLA_LUT_SETUP_H

#include "units.h"

struct lut_slope_fields {
    uint32_t scale, shift;
};

struct lut_fields {
    uint32_t le_function, underflow, overflow, hybrid;
    uint32_t le_offset, le_select, lo_select;
    unsigned select_bits; /* that the unit uses of a select register */
    struct lut_slope_fields le_underflow, le_overflow;
    struct lut_slope_fields lo_underflow, lo_overflow;
};

#define LUT_SLOPE_FIELDS(unit, table, side)                                         \
    {                                                                               \
        unit##_S_LUT_##table##_SLOPE_SCALE__LUT_##table##_SLOPE_##side##_SCALE,     \
            unit##_S_LUT_##table##_SLOPE_SHIFT__LUT_##table##_SLOPE_##side##_SHIFT, \
    }

#define LUT_FIELDS(unit, bits)                                                 \
    {                                                                          \
        .le_function = unit##_S_LUT_CFG__LUT_LE_FUNCTION,                      \
        .underflow = unit##_S_LUT_CFG__LUT_UFLOW_PRIORITY,                     \
        .overflow = unit##_S_LUT_CFG__LUT_OFLOW_PRIORITY,                      \
        .hybrid = unit##_S_LUT_CFG__LUT_HYBRID_PRIORITY,                       \
        .le_offset = unit##_S_LUT_INFO__LUT_LE_INDEX_OFFSET,                   \
        .le_select = unit##_S_LUT_INFO__LUT_LE_INDEX_SELECT,                   \
        .lo_select = unit##_S_LUT_INFO__LUT_LO_INDEX_SELECT,                   \
        .select_bits = (bits),                                                 \
        .le_underflow = LUT_SLOPE_FIELDS(unit, LE, UFLOW),                     \
        .le_overflow = LUT_SLOPE_FIELDS(unit, LE, OFLOW),                      \
        .lo_underflow = LUT_SLOPE_FIELDS(unit, LO, UFLOW),                     \
        .lo_overflow = LUT_SLOPE_FIELDS(unit, LO, OFLOW),                      \
    }

/* Leaves the limits of the tables and where the units differ to the caller. */
void lut_setup(const struct nvdla_job *job, struct nvdla_lut_config *lut,
               const struct lut_fields *fields);

#endif
