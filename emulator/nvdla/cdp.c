/* cdp.c - not there yet. */
#include "units.h"
bool nvdla_cdp_run(struct nvdla_job *job)
{
    nvdla_job_error(job, "CDP is not modelled yet");
    return false;
}
