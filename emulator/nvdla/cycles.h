/*
 * cycles.h - the cycle estimate of an operation (see cycles.c).
 */
#ifndef FWGEN_NVDLA_CYCLES_H
#define FWGEN_NVDLA_CYCLES_H

#include "model.h"

/* Fills job->cost of each unit taking part. */
void nvdla_estimate(struct nvdla_job *job);
/* Cycles from start to end of the job; at least 1. */
uint64_t nvdla_duration(const struct nvdla_job *job);
/* Cycles from the start until CDMA has fetched everything, by bandwidth. */
uint64_t nvdla_load_time(const struct nvdla_job *job);

#endif
