/*
 * cycles.h - how long a job takes, by its descriptor.
 */
#ifndef FWGEN_VIP_CYCLES_H
#define FWGEN_VIP_CYCLES_H

#include "model.h"

/* At least 1. */
uint64_t vip_job_cycles(const struct vip_config *config,
                        const struct vip_job *job);

#endif
