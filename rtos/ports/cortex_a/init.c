/*
 * init.c - from start.S to main(): memory, interrupt controller, timer.
 */
#include <string.h>

#include "FreeRTOS.h"

#include "fwgen_boot.h"
#include "fwgen_cpu.h"
#include "fwgen_model.h"
#include "port.h"

extern uint32_t __data_start[];
extern uint32_t __data_end[];
extern const uint32_t __data_load[];
extern uint32_t __bss_start[];
extern uint32_t __bss_end[];

int main(void);

static uintptr_t length(const uint32_t *start, const uint32_t *end)
{
    return (uintptr_t)end - (uintptr_t)start;
}

/* The accelerators read constants that were copied, and write arenas: neither
 * may have lines in the caches that are written back later. */
static void clean_memory(void)
{
    for (uint32_t i = 0; i < fwgen_boot_copy_count; i++) {
        fwgen_cache_clean((uintptr_t)fwgen_boot_copies[i].destination,
                          fwgen_boot_copies[i].size);
    }
    for (uint32_t i = 0; i < fwgen_boot_clear_count; i++) {
        fwgen_cache_clean((uintptr_t)fwgen_boot_clears[i].start,
                          fwgen_boot_clears[i].size);
    }
}

void fwgen_port_start(uint32_t entry_mode)
{
    fwgen_mmu_enable();
    if ((uintptr_t)__data_start != (uintptr_t)__data_load) {
        (void)memcpy(__data_start, __data_load,
                     length(__data_start, __data_end));
    }
    (void)memset(__bss_start, 0, length(__bss_start, __bss_end));
    fwgen_boot_memory();
    clean_memory();
    configASSERT(FWGEN_IRQ_COUNT + GIC_FIRST_SPI <= gic_intids());
    fwgen_timer_init(entry_mode, gic_init());
    __asm volatile("cpsie ia" ::: "memory");
    (void)main();
    for (;;) {
        /* main() starts the scheduler and does not return */
    }
}
