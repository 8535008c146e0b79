/*
 * config.h - facts of each VIP configuration.
 */
#ifndef FWGEN_VIP_CONFIG_H
#define FWGEN_VIP_CONFIG_H

#include <stdint.h>

#include "job.h"

struct vip_config {
    const char *name; /* as in fwgen/accel/vip/configurations.py */
    /* Identity registers; 0 where no public source states the value. */
    uint32_t model;
    uint32_t revision;
    uint32_t product;
    uint32_t eco;
    uint32_t customer;
    enum vip_generation generation;
    unsigned nn_cores;
    unsigned tp_cores;
    uint32_t sram_size; /* of the VIP SRAM, bytes */
    /* For the cycle estimate (cycles.c). */
    unsigned macs;      /* int8 multipliers of all NN cores together */
    unsigned bus_bytes; /* per cycle, of the port to system memory */
};

/* NULL when there is none of that name. */
const struct vip_config *vip_config_find(const char *name);
/* NULL-terminated. */
const char *const *vip_config_names(void);

#endif
