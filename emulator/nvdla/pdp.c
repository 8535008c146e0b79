/* pdp.c - not there yet. */
#include "units.h"
bool nvdla_pdp_run(struct nvdla_job *job, const struct nvdla_cube_buffer *input)
{
    (void)input;
    nvdla_job_error(job, "PDP is not modelled yet");
    return false;
}
