/*
 * config.h - the published NVDLA configurations as data.
 *
 * Source: the specification files of the six nv_small ... nv_large builds.
 * None of them has BDMA, RUBIK, Winograd, batches or compressed weights. One
 * more, test_bdma_rubik, is no product: it is nv_large with both blocks, so
 * that tests reach their code. It is found by its name but not listed.
 */
#ifndef FWGEN_NVDLA_CONFIG_H
#define FWGEN_NVDLA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvdla_config {
    const char *name;
    unsigned atomic_c;   /* channels per multiply step */
    unsigned atomic_k;   /* kernels per multiply step */
    unsigned atom;       /* channels (int8: bytes) per memory atom */
    unsigned cbuf_banks; /* convolution buffer: banks x width x depth */
    unsigned cbuf_width; /* bytes per entry */
    unsigned cbuf_depth; /* entries per bank */
    unsigned bus_bits;   /* width of a memory port */
    bool has_ew;         /* element-wise stage and table (see sdp.c) */
    bool has_sram;       /* second memory port (CVSRAM) */
    bool has_bdma;
    bool has_rubik;
    /* For the cycle estimate only (see cycles.c). */
    unsigned dram_rate; /* KiB per 1000 cycles, reads and writes together */
    unsigned sdp_rate;  /* elements per cycle */
    unsigned pdp_rate;
    unsigned cdp_rate;
};

/* NULL when there is none of that name. */
const struct nvdla_config *nvdla_config_find(const char *name);
/* NULL-terminated. */
const char *const *nvdla_config_names(void);

#endif
