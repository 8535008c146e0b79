/*
 * config.c - the published NVDLA configurations as data (see config.h).
 *
 * dram_rate: the memory bandwidth at which the NVDLA primer publishes frame
 * rates for the same number of multipliers, in its GB/s at 1 GHz (cycles.c).
 * The rates of SDP, PDP and CDP grow with the bus: an estimate of ours.
 */
#include "config.h"

#include <string.h>

static const struct nvdla_config configs[] = {
    {.name = "nv_small",
     .atomic_c = 8,
     .atomic_k = 8,
     .atom = 8,
     .cbuf_banks = 32,
     .cbuf_width = 8,
     .cbuf_depth = 512,
     .bus_bits = 64,
     .dram_rate = 1,
     .sdp_rate = 1,
     .pdp_rate = 1,
     .cdp_rate = 1},
    {.name = "nv_small_256",
     .atomic_c = 32,
     .atomic_k = 8,
     .atom = 8,
     .cbuf_banks = 32,
     .cbuf_width = 32,
     .cbuf_depth = 128,
     .bus_bits = 64,
     .dram_rate = 5,
     .sdp_rate = 1,
     .pdp_rate = 1,
     .cdp_rate = 1},
    {.name = "nv_small_256_full",
     .atomic_c = 32,
     .atomic_k = 8,
     .atom = 8,
     .cbuf_banks = 32,
     .cbuf_width = 32,
     .cbuf_depth = 128,
     .bus_bits = 64,
     .has_ew = true,
     .has_sram = true,
     .dram_rate = 5,
     .sdp_rate = 1,
     .pdp_rate = 1,
     .cdp_rate = 1},
    {.name = "nv_medium_512",
     .atomic_c = 32,
     .atomic_k = 16,
     .atom = 16,
     .cbuf_banks = 32,
     .cbuf_width = 32,
     .cbuf_depth = 512,
     .bus_bits = 128,
     .dram_rate = 10,
     .sdp_rate = 4,
     .pdp_rate = 2,
     .cdp_rate = 2},
    {.name = "nv_medium_1024_full",
     .atomic_c = 32,
     .atomic_k = 32,
     .atom = 32,
     .cbuf_banks = 32,
     .cbuf_width = 32,
     .cbuf_depth = 512,
     .bus_bits = 256,
     .has_ew = true,
     .has_sram = true,
     .dram_rate = 15,
     .sdp_rate = 8,
     .pdp_rate = 4,
     .cdp_rate = 4},
    {.name = "nv_large",
     .atomic_c = 64,
     .atomic_k = 32,
     .atom = 32,
     .cbuf_banks = 16,
     .cbuf_width = 64,
     .cbuf_depth = 512,
     .bus_bits = 256,
     .has_ew = true,
     .has_sram = true,
     .dram_rate = 20,
     .sdp_rate = 16,
     .pdp_rate = 8,
     .cdp_rate = 8},
    /* For tests only: no hardware of this name exists. */
    {.name = "test_bdma_rubik",
     .atomic_c = 64,
     .atomic_k = 32,
     .atom = 32,
     .cbuf_banks = 16,
     .cbuf_width = 64,
     .cbuf_depth = 512,
     .bus_bits = 256,
     .has_ew = true,
     .has_sram = true,
     .has_bdma = true,
     .has_rubik = true,
     .dram_rate = 20,
     .sdp_rate = 16,
     .pdp_rate = 8,
     .cdp_rate = 8},
};

#define CONFIG_COUNT (sizeof configs / sizeof configs[0])

const struct nvdla_config *nvdla_config_find(const char *name)
{
    if (name == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        if (strcmp(configs[i].name, name) == 0) {
            return &configs[i];
        }
    }
    return NULL;
}

const char *const *nvdla_config_names(void)
{
    static const char *const names[] = {"nv_small",
                                        "nv_small_256",
                                        "nv_small_256_full",
                                        "nv_medium_512",
                                        "nv_medium_1024_full",
                                        "nv_large",
                                        NULL};

    return names;
}
