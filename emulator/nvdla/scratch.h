/*
 * scratch.h - buffers of an operation, kept for the next one.
 *
 * Large blocks that come from and go back to the kernel for every operation
 * cost more than what is computed in them.
 */
#ifndef FWGEN_NVDLA_SCRATCH_H
#define FWGEN_NVDLA_SCRATCH_H

#include "model.h"

/* At least `size` bytes, aligned to 64, contents undefined. NULL and an error
 * of the job when more than max_bytes or no memory is left. */
void *nvdla_scratch_take(struct nvdla_job *job, uint64_t size);
/* NULL is allowed. */
void nvdla_scratch_give(void *buffer);

#endif
