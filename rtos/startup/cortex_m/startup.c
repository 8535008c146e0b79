/*
 * startup.c - from reset to main() on Cortex-M (Armv7-M, Armv8-M Mainline).
 *
 * Facts from the architecture reference manuals: the core loads the main stack
 * pointer and the reset handler from the vector table. A boot loader may have
 * run before, so VTOR is written and nothing is assumed about the rest.
 * Symbols of the linker script: fwgen_vectors.h.
 */
#include "fwgen_vectors.h"

#include <string.h>

#include "fwgen_boot.h"
#include "fwgen_config_defaults.h"
#include "fwgen_cpu.h"

#define SCB_VTOR 0xe000ed08u
#define SCB_CCR 0xe000ed14u
#define SCB_SHCSR 0xe000ed24u
#define SCB_CPACR 0xe000ed88u

#define CCR_UNALIGN_TRP (1u << 3)
#define CCR_DIV_0_TRP (1u << 4)
#define SHCSR_FAULTS (7u << 16) /* MemManage, BusFault, UsageFault */
#define CPACR_FPU (0xfu << 20)

extern uint32_t __data_start[];
extern uint32_t __data_end[];
extern const uint32_t __data_load[];
extern uint32_t __bss_start[];
extern uint32_t __bss_end[];

extern const union fwgen_vector fwgen_vectors[];

int main(void);

static void set_bits(uint32_t address, uint32_t bits)
{
    volatile uint32_t *reg = fwgen_reg(address, 0);

    fwgen_reg_write(reg, fwgen_reg_read(reg) | bits);
}

/* Objects whose ends the linker knows; sizes as differences of addresses. */
static void initialise_memory(void)
{
    (void)memcpy(__data_start, __data_load,
                 (uintptr_t)__data_end - (uintptr_t)__data_start);
    (void)memset(__bss_start, 0, (uintptr_t)__bss_end - (uintptr_t)__bss_start);
    fwgen_boot_memory();
}

void Reset_Handler(void)
{
    __asm volatile("cpsid i" ::: "memory");
    fwgen_reg_write(fwgen_reg(SCB_VTOR, 0), (uint32_t)(uintptr_t)fwgen_vectors);
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
    __asm volatile("msr msplim, %0" ::"r"(__stack_limit) : "memory");
#endif
#if defined(__ARM_FP) && !defined(__SOFTFP__)
    set_bits(SCB_CPACR, CPACR_FPU);
#endif
    set_bits(SCB_SHCSR, SHCSR_FAULTS);
    set_bits(SCB_CCR, CCR_DIV_0_TRP);
#if FWGEN_TEST_BUILD && !defined(__ARM_FEATURE_UNALIGNED)
    set_bits(SCB_CCR, CCR_UNALIGN_TRP);
#endif
    fwgen_cpu_barrier();
    __asm volatile("isb" ::: "memory");
    initialise_memory();
#if FWGEN_DCACHE
    fwgen_cache_enable();
#endif
    /* Interrupts stay off at their controller until a driver asks for them. */
    __asm volatile("cpsie i" ::: "memory");
    (void)main();
    for (;;) {
        /* main() starts the scheduler and does not return */
    }
}
