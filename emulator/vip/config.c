/*
 * config.c - the VIP configurations as data (see config.h).
 *
 * Identity and core counts: the hardware databases of Mesa's etnaviv and of the
 * Linux etnaviv driver. VIP SRAM sizes: the heads of network binary graphs.
 * macs: what the SoC's data sheet states as peak int8 rate at the NPU's clock,
 * taken back to multipliers (RK1808 3.0 TOPS at 800 MHz and i.MX 8M Plus
 * 2.3 TOPS at 1 GHz give 192 a core). Where the sheets give no such pair, 192 a
 * core is assumed.
 */
#include "config.h"

#include <string.h>

#define KIB 1024u
#define CORE_MACS 192u

static const struct vip_config configs[] = {
    {.name = "vip8000nanosi_pid0xb5", /* RV1126, RV1109 */
     .model = 0x8000,
     .revision = 0x8003,
     .product = 0x05080009,
     .eco = 0x04000000,
     .customer = 0xb5,
     .generation = VIP_V8,
     .nn_cores = 4,
     .tp_cores = 2,
     .sram_size = 256 * KIB,
     .macs = 4 * CORE_MACS,
     .bus_bytes = 16},
    {.name = "vip8000nanosi_plus_pid0x9f", /* i.MX 8M Plus */
     .model = 0x8000,
     .revision = 0x8002,
     .product = 0x05080009,
     .eco = 0x06000000,
     .customer = 0x9f,
     .generation = VIP_V8,
     .nn_cores = 6,
     .tp_cores = 3,
     .sram_size = 256 * KIB,
     .macs = 6 * CORE_MACS,
     .bus_bytes = 16},
    {.name = "vip_pid0x88", /* A311D */
     .model = 0x8000,
     .revision = 0x7120,
     .product = 0x45080009,
     .customer = 0x88,
     .generation = VIP_V7,
     .nn_cores = 8,
     .tp_cores = 4,
     .sram_size = 512 * KIB,
     .macs = 8 * CORE_MACS,
     .bus_bytes = 16},
    {.name = "vip_pid0x82", /* RK1808 */
     .model = 0x8000,
     .revision = 0x7100,
     .product = 0x45080001,
     .customer = 0x82,
     .generation = VIP_V7,
     .nn_cores = 10,
     .tp_cores = 6,
     .sram_size = 512 * KIB,
     .macs = 10 * CORE_MACS,
     .bus_bytes = 16},
    {.name = "vip8000nanosi_plus_pid0xb9",
     .model = 0x8000,
     .customer = 0xb9,
     .generation = VIP_V8,
     .nn_cores = 4,
     .tp_cores = 1, /* not published */
     .sram_size = 512 * KIB,
     .macs = 4 * CORE_MACS,
     .bus_bytes = 16},
};

#define CONFIG_COUNT (sizeof configs / sizeof configs[0])

const struct vip_config *vip_config_find(const char *name)
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

const char *const *vip_config_names(void)
{
    static const char *names[CONFIG_COUNT + 1];

    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        names[i] = configs[i].name;
    }
    return names;
}
