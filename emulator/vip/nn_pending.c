/*
 * nn_pending.c - stands in for the NN engine in builds that lack it: refuses
 * every job.
 */
#include "job.h"

__attribute__((weak)) bool vip_nn_run(const struct vip_memory *memory,
                                      const struct vip_job_facts *facts,
                                      const uint32_t words[VIP_JOB_WORDS],
                                      struct vip_job_cost *cost)
{
    (void)facts;
    (void)words;
    *cost = (struct vip_job_cost){0, 0, 0};
    return vip_job_error(memory, "this build has no NN engine");
}
