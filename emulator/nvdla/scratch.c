/*
 * scratch.c - buffers of a job, with its limit and its error.
 */
#include "scratch.h"

#include "buffer_pool.h"
#include "dma.h"

void *nvdla_scratch_take(struct nvdla_job *job, uint64_t size)
{
    void *found = NULL;

    if (size <= job->max_bytes) {
        found = buffer_take((size_t)size);
    }
    if (found == NULL) {
        nvdla_job_no_memory(job, size);
    }
    return found;
}

void nvdla_scratch_give(void *buffer)
{
    buffer_give(buffer);
}
