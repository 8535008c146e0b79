/*
 * lut_setup.c - the S_LUT_* registers that SDP and CDP have alike, decoded.
 */
#include "lut_setup.h"

#include "arith.h"

static struct nvdla_lut_slope slope(const struct nvdla_job *job,
                                    const struct lut_slope_fields *fields)
{
    return (struct nvdla_lut_slope){
        nvdla_sign_extend(job_field(job, fields->scale), 16),
        nvdla_sign_extend(job_field(job, fields->shift), 5)};
}

void lut_setup(const struct nvdla_job *job, struct nvdla_lut_config *lut,
               const struct lut_fields *fields)
{
    lut->le_linear = job_field(job, fields->le_function) != 0;
    lut->underflow_lo = job_field(job, fields->underflow) != 0;
    lut->overflow_lo = job_field(job, fields->overflow) != 0;
    lut->hybrid_lo = job_field(job, fields->hybrid) != 0;
    lut->le_offset = nvdla_sign_extend(job_field(job, fields->le_offset), 8);
    lut->le_select = nvdla_sign_extend(job_field(job, fields->le_select),
                                       fields->select_bits);
    lut->lo_select = nvdla_sign_extend(job_field(job, fields->lo_select),
                                       fields->select_bits);
    lut->le_underflow = slope(job, &fields->le_underflow);
    lut->le_overflow = slope(job, &fields->le_overflow);
    lut->lo_underflow = slope(job, &fields->lo_underflow);
    lut->lo_overflow = slope(job, &fields->lo_overflow);
}
