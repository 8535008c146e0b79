/* conv.c - not there yet. */
#include "units.h"
bool nvdla_conv_run(struct nvdla_job *job, struct nvdla_sdp *sdp)
{
    (void)sdp;
    nvdla_job_error(job, "CONV is not modelled yet");
    return false;
}
