/* sdp.c - not there yet. */
#include "units.h"
struct nvdla_sdp *nvdla_sdp_create(struct nvdla_job *job,
                                   struct nvdla_cube_buffer *to_pdp)
{
    (void)to_pdp;
    nvdla_job_error(job, "SDP is not modelled yet");
    return NULL;
}
void nvdla_sdp_destroy(struct nvdla_sdp *sdp)
{
    (void)sdp;
}
bool nvdla_sdp_run_memory(struct nvdla_sdp *sdp)
{
    (void)sdp;
    return false;
}
