/*
 * sdp_setup.h - from a job's registers to the stages of SDP.
 */
#ifndef FWGEN_NVDLA_SDP_SETUP_H
#define FWGEN_NVDLA_SDP_SETUP_H

#include "sdp_fast.h"

/* Decodes the stages and the output converter. False after an error: a setting
 * that is reserved or not modelled. */
bool sdp_setup(struct nvdla_job *job, struct x_stage *x1, struct x_stage *x2,
               struct y_stage *y, struct sdp_converter *converter);

#endif
