/*
 * mmu.c - flat translation tables, and the caches.
 *
 * Facts from the Armv7-A/R architecture reference manual, chapter B3: the
 * short-descriptor format without TEX remap. Addresses are not translated; the
 * tables say what may be cached, executed or touched. Sections of 1 MiB, and
 * pages of 4 KiB where a range begins or ends inside one. Only one core uses
 * the memory, so that nothing is marked shareable.
 */
#include "mmu.h"

#include "FreeRTOS.h"

#include "fwgen_cpu.h"
#include "port.h"

#define SECTIONS 4096u
#define PAGES 256u
#define SECTION_SHIFT 20u
#define PAGE_SHIFT 12u
#define SECTION_SIZE (1u << SECTION_SHIFT)
#define PAGE_SIZE (1u << PAGE_SHIFT)

/* Memory attributes: TEX, C, B. */
#define DEVICE 1u        /* TEX 0: shareable device */
#define NORMAL 4u        /* TEX 1: not cached */
#define NORMAL_CACHED 7u /* TEX 1: write-back, write-allocate */

#define TABLE 1u
#define SECTION 2u
#define SECTION_XN (1u << 4)
#define SECTION_PL1 (1u << 10)
#define PAGE 2u
#define PAGE_XN 1u
#define PAGE_PL1 (1u << 4)

/* Inner and outer write-back, write-allocate: IRGN is 01, its low bit being bit
 * 6 and its high bit being bit 0; RGN, bits 4:3, is 01. */
#define TTBR_WALKS_CACHED 0x48u
#define DACR_CLIENT 1u
#define SCTLR_M (1u << 0)
#define SCTLR_C (1u << 2)
#define SCTLR_Z (1u << 11)
#define SCTLR_I (1u << 12)

/* Written before variables are initialised. */
static uint32_t __attribute__((section(".noinit"), aligned(16384)))
sections[SECTIONS];
static uint32_t __attribute__((section(".noinit"), aligned(1024)))
pages[FWGEN_MMU_TABLES][PAGES];

static uint32_t attributes(uint32_t kind)
{
    return (kind & FWGEN_MMU_CACHED) != 0u ? NORMAL_CACHED : NORMAL;
}

static uint32_t section(uint32_t address, uint32_t bits, uint32_t never)
{
    return address | ((bits >> 2) << 12) | ((bits & 3u) << 2) | SECTION_PL1 |
           SECTION | (never != 0u ? SECTION_XN : 0u);
}

static uint32_t page(uint32_t address, uint32_t bits, uint32_t never)
{
    return address | ((bits >> 2) << 6) | ((bits & 3u) << 2) | PAGE_PL1 | PAGE |
           (never != 0u ? PAGE_XN : 0u);
}

static uint32_t memory_section(uint32_t address, uint32_t kind)
{
    return (kind & FWGEN_MMU_NONE) != 0u
               ? 0u
               : section(address, attributes(kind),
                         (kind & FWGEN_MMU_CODE) == 0u);
}

static uint32_t memory_page(uint32_t address, uint32_t kind)
{
    return (kind & FWGEN_MMU_NONE) != 0u
               ? 0u
               : page(address, attributes(kind), (kind & FWGEN_MMU_CODE) == 0u);
}

/* The table of pages for a section; the next free one, as device memory, if
 * the section has none yet. */
static uint32_t *page_table(uint32_t index, uint32_t *used)
{
    if ((sections[index] & 3u) != TABLE) {
        const uint32_t next = *used;

        configASSERT(next < FWGEN_MMU_TABLES);
        *used = next + 1u;
        for (uint32_t i = 0; i < PAGES; i++) {
            pages[next][i] =
                page((index << SECTION_SHIFT) | (i << PAGE_SHIFT), DEVICE, 1);
        }
        sections[index] = (uint32_t)(uintptr_t)pages[next] | TABLE;
    }
    return (uint32_t *)(uintptr_t)(sections[index] & ~1023u);
}

static void map(const struct fwgen_mmu_range *range, uint32_t *used)
{
    uint32_t address = range->first;
    uint32_t left = (range->last - range->first) / PAGE_SIZE + 1u;

    while (left != 0u) {
        const uint32_t index = address >> SECTION_SHIFT;
        uint32_t step = 1;

        if (address % SECTION_SIZE == 0u && left >= PAGES) {
            sections[index] = memory_section(address, range->kind);
            step = PAGES;
        } else {
            page_table(index, used)[(address >> PAGE_SHIFT) % PAGES] =
                memory_page(address, range->kind);
        }
        address += step * PAGE_SIZE;
        left -= step;
    }
}

void fwgen_mmu_enable(void)
{
    const uint32_t table = (uint32_t)(uintptr_t)sections;
    uint32_t used = 0;
    uint32_t control;

    for (uint32_t i = 0; i < SECTIONS; i++) {
        sections[i] = section(i << SECTION_SHIFT, DEVICE, 1);
    }
    for (uint32_t i = 0; i < fwgen_mmu_range_count; i++) {
        map(&fwgen_mmu_ranges[i], &used);
    }
    fwgen_cpu_barrier();
    __asm volatile("mcr p15, 0, %0, c2, c0, 2" : : "r"(0)); /* TTBCR */
    __asm volatile("mcr p15, 0, %0, c2, c0, 0"
                   :
                   : "r"(table | TTBR_WALKS_CACHED)); /* TTBR0 */
    __asm volatile("mcr p15, 0, %0, c3, c0, 0" : : "r"(DACR_CLIENT));
    __asm volatile("mcr p15, 0, %0, c8, c7, 0\n dsb\n isb" /* TLBIALL */
                   :
                   : "r"(0)
                   : "memory");
    __asm volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
    control |= SCTLR_M | SCTLR_C | SCTLR_Z | SCTLR_I;
    __asm volatile("mcr p15, 0, %0, c1, c0, 0\n isb"
                   :
                   : "r"(control)
                   : "memory");
}
