/*
 * job.c - computes one job: the chain of units it consists of.
 *
 * What is refused. A setting that selects what is not modelled (int16, fp16,
 * Winograd, compressed weights, batches, 10- and 16-bit pixels) or a reserved
 * value is a guest error that names register, field and value; the whole job
 * then writes nothing, yet completes with its interrupts so that the guest
 * does not hang. Settings that contradict each other (two copies of a size, a
 * convolution buffer that does not hold the data) are a guest error as well,
 * but the job is computed from the copy the hardware would use. A DMA access
 * outside the memory is a guest error and stops the job where it is.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

void nvdla_job_error(struct nvdla_job *job, const char *format, ...)
{
    if (job->error_count < JOB_ERRORS) {
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(job->errors[job->error_count], ERROR_TEXT, format,
                        arguments);
        va_end(arguments);
    }
    job->error_count++;
}

void nvdla_job_reject(struct nvdla_job *job, uint32_t field, const char *text)
{
    const struct nvdla_register *reg =
        nvdla_register_find(nvdla_field_offset(field));

    nvdla_job_error(job, "%s.%s = %u: %s", reg != NULL ? reg->name : "?",
                    nvdla_field_name(field), (unsigned)job_field(job, field),
                    text);
}

static bool run_chain(struct nvdla_job *job, struct nvdla_cube_buffer *buffer)
{
    struct nvdla_sdp *sdp =
        nvdla_sdp_create(job, job->has[UNIT_PDP] ? buffer : NULL);
    bool ok;

    if (sdp == NULL) {
        return false;
    }
    ok = job->has[UNIT_CONV] ? nvdla_conv_run(job, sdp)
                             : nvdla_sdp_run_memory(sdp);
    nvdla_sdp_destroy(sdp);
    if (ok && job->has[UNIT_PDP]) {
        ok = nvdla_pdp_run(job, buffer);
    }
    return ok;
}

void nvdla_job_compute(struct nvdla_job *job)
{
    struct nvdla_cube_buffer buffer = {{0, 0, 0, 0}, NULL};

    if (job->has[UNIT_SDP]) {
        (void)run_chain(job, &buffer);
        free(buffer.data);
    } else if (job->has[UNIT_PDP]) {
        (void)nvdla_pdp_run(job, NULL);
    } else if (job->has[UNIT_CDP]) {
        (void)nvdla_cdp_run(job);
    } else if (job->has[UNIT_BDMA]) {
        (void)nvdla_bdma_run(job);
    } else {
        (void)nvdla_rubik_run(job);
    }
}
