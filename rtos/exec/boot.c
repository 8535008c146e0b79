/*
 * boot.c - memory of the models before the first inference (fwgen_boot.h).
 */
#include "fwgen_boot.h"

#include <string.h>

#include "fwgen_config_defaults.h"
#include "fwgen_model.h"

void fwgen_boot_memory(void)
{
    for (uint32_t i = 0; i < fwgen_boot_copy_count; i++) {
        (void)memcpy(fwgen_boot_copies[i].destination,
                     fwgen_boot_copies[i].source, fwgen_boot_copies[i].size);
    }
    for (uint32_t i = 0; i < fwgen_boot_clear_count; i++) {
        (void)memset(fwgen_boot_clears[i].start, 0, fwgen_boot_clears[i].size);
    }
#if FWGEN_CANARIES
    for (uint32_t i = 0; i < fwgen_canary_count; i++) {
        *fwgen_canaries[i] = FWGEN_CANARY;
    }
#endif
}
