/*
 * mmu.h - which memory there is, for the translation tables. Generated code
 * (src/vectors.c) defines the ranges.
 */
#ifndef FWGEN_MMU_H
#define FWGEN_MMU_H

#include <stdint.h>

/* All but code is never executed. */
#define FWGEN_MMU_CACHED 1u /* write-back, write-allocate */
#define FWGEN_MMU_CODE 2u   /* may hold instructions */
#define FWGEN_MMU_NONE 4u   /* accesses abort */

/* Memory from `first` to `last`, both on pages of 4 KiB; ascending, without
 * overlaps. What no range covers is device memory. */
struct fwgen_mmu_range {
    uint32_t first;
    uint32_t last; /* its last byte */
    uint32_t kind;
};

extern const struct fwgen_mmu_range fwgen_mmu_ranges[];
extern const uint32_t fwgen_mmu_range_count;

#endif
