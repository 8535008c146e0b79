#include "tp.h"
bool tp_fc_run(const struct tp_job *job, struct vip_job_cost *cost)
{
    (void)cost;
    return vip_job_error(job->memory, "FC is not modelled yet");
}
