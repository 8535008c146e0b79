/*
 * fault_cortex_m.c - fault handlers of Cortex-M: collect the stacked registers
 * and the fault status, report, end.
 *
 * Facts from the Armv7-M architecture reference manual: CFSR 0xe000ed28, HFSR
 * 0xe000ed2c, MMFAR 0xe000ed34 (valid with CFSR bit 7), BFAR 0xe000ed38 (bit
 * 15). The frame on the stack is r0-r3, r12, lr, pc, xpsr. With FAULTMASK set
 * and CCR.BFHFNMIGN, bus errors of the report itself read as garbage instead of
 * locking the core up.
 */
#include "fault.h"
#include "fwgen_config_defaults.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_fault.h"
#include "fwgen_start.h"
#include "fwgen_vectors.h"

#define SCB_CCR 0xe000ed14u
#define SCB_CFSR 0xe000ed28u
#define SCB_HFSR 0xe000ed2cu
#define SCB_MMFAR 0xe000ed34u
#define SCB_BFAR 0xe000ed38u
#define SCB_AIRCR 0xe000ed0cu

#define CCR_BFHFNMIGN (1u << 8)
#define CFSR_MMFAR_VALID (1u << 7)
#define CFSR_BFAR_VALID (1u << 15)
#define AIRCR_RESET 0x05fa0004u

#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

void fwgen_fault_report(const uint32_t *frame, uint32_t return_code);

static uint32_t read(uint32_t address)
{
    return fwgen_reg_read(fwgen_reg(address, 0));
}

void fwgen_fault_stop(void)
{
    __asm volatile("cpsid i" ::: "memory");
}

static const char *kind_of(uint32_t exception)
{
    switch (exception) {
    case 2:
        return "nmi";
    case 3:
        return "hardfault";
    case 4:
        return "memmanage";
    case 5:
        return "busfault";
    case 6:
        return "usagefault";
    default:
        return "interrupt";
    }
}

/* Called by the handlers below with the frame and EXC_RETURN. */
void fwgen_fault_report(const uint32_t *frame, uint32_t return_code)
{
    static const char *const names[] = {"r0", "r1", "r2", "r3", "r12"};
    const uint32_t cfsr = read(SCB_CFSR);
    uint32_t exception;

    fwgen_fault_stop();
    __asm volatile("cpsid f" ::: "memory");
    fwgen_reg_write(fwgen_reg(SCB_CCR, 0), read(SCB_CCR) | CCR_BFHFNMIGN);
    fwgen_cpu_barrier();
    __asm volatile("mrs %0, ipsr" : "=r"(exception));
    exception &= 0x1ffu;

    fwgen_fault_begin(kind_of(exception));
    fwgen_fault_field("pc", frame[6]);
    fwgen_fault_field("lr", frame[5]);
    fwgen_fault_field("cfsr", cfsr);
    fwgen_fault_field("hfsr", read(SCB_HFSR));
    if ((cfsr & CFSR_MMFAR_VALID) != 0u) {
        fwgen_fault_field("mmfar", read(SCB_MMFAR));
    }
    if ((cfsr & CFSR_BFAR_VALID) != 0u) {
        fwgen_fault_field("bfar", read(SCB_BFAR));
    }
    fwgen_fault_task();
    fwgen_print("***");
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        fwgen_fault_field(names[i], frame[i]);
    }
    fwgen_fault_field("xpsr", frame[7]);
    fwgen_print("\n***");
    fwgen_fault_field("sp", (uint32_t)(uintptr_t)frame);
    fwgen_fault_field("exc_return", return_code);
    fwgen_fault_field("exception", exception);
    fwgen_print("\n");
    fwgen_fault_end(FWGEN_EXIT_FAULT);
}

/*
 * All fault vectors. r0 becomes the frame: on the process stack when bit 2 of
 * EXC_RETURN is set. When the main stack is the one that is broken it is
 * started anew, so that the report has a place to run.
 */
__attribute__((naked)) void HardFault_Handler(void)
{
    __asm volatile("tst   lr, #4                   \n"
                   "ite   eq                       \n"
                   "mrseq r0, msp                  \n"
                   "mrsne r0, psp                  \n"
                   "mov   r1, lr                   \n"
                   "mrs   r2, msp                  \n"
                   "ldr   r3, =__stack_limit + 512 \n"
                   "cmp   r2, r3                   \n"
                   "blo   1f                       \n"
                   "ldr   r3, =__stack_top         \n"
                   "cmp   r2, r3                   \n"
                   "bls   fwgen_fault_report       \n"
                   "1:                             \n"
                   "ldr   r3, =__stack_top         \n"
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
                   "movs  r2, #0                   \n"
                   "msr   msplim, r2               \n"
#endif
                   "msr   msp, r3                  \n"
                   "b     fwgen_fault_report       \n"
                   ".ltorg                         \n");
}

#define SAME_AS_HARDFAULT __attribute__((alias("HardFault_Handler")))

/* A watchdog may have it. */
void NMI_Handler(void) __attribute__((weak, alias("HardFault_Handler")));
void MemManage_Handler(void) SAME_AS_HARDFAULT;
void BusFault_Handler(void) SAME_AS_HARDFAULT;
void UsageFault_Handler(void) SAME_AS_HARDFAULT;
void fwgen_default_IRQHandler(void) SAME_AS_HARDFAULT;

__attribute__((weak)) void fwgen_board_halt(void)
{
    for (;;) {
        /* a debugger finds the core here */
    }
}

#if FWGEN_FAULT_RESET || FWGEN_NVMEM
static void system_reset(void)
{
    fwgen_cpu_barrier();
    fwgen_reg_write(fwgen_reg(SCB_AIRCR, 0), AIRCR_RESET);
    fwgen_cpu_barrier();
}
#endif

void fwgen_exit(uint32_t code)
{
    fwgen_fault_stop();
#if FWGEN_SEMIHOSTING
    const uint32_t block[2] = {ADP_STOPPED_APPLICATION_EXIT, code};
    register uint32_t operation __asm("r0") = SYS_EXIT_EXTENDED;
    register const uint32_t *argument __asm("r1") = block;

    __asm volatile("bkpt 0xab" : "+r"(operation) : "r"(argument) : "memory");
#else
    (void)code;
#endif
#if FWGEN_FAULT_RESET
    system_reset();
#endif
    for (;;) {
        fwgen_board_halt();
    }
}

#if FWGEN_NVMEM
void fwgen_reset(void)
{
    fwgen_fault_stop();
    system_reset();
    for (;;) {
        fwgen_board_halt();
    }
}
#endif
