/*
 * fault_cortex_a.c - faults of Cortex-A: the registers that the port's vectors
 * have noted, the fault status, report, end.
 *
 * Facts from the Armv7-A/R architecture reference manual: DFSR, IFSR, DFAR and
 * IFAR (coprocessor 15, c5 and c6). Semihosting in ARM state is svc 0x123456;
 * PSCI (Arm DEN0022) calls firmware with a function number in r0.
 */
#include "fault.h"
#include "fwgen_config_defaults.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_fault.h"
#include "fwgen_start.h"
#include "port.h"

#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

#define PSCI_SYSTEM_OFF 0x84000008u
#define PSCI_SYSTEM_RESET 0x84000009u

#define FAULT_STACK_WORDS 256u

/* Noted by the vectors; their stack pointers point here (start.S). */
struct fwgen_fault_frame fwgen_fault_frame;

static uint64_t fault_stack[FAULT_STACK_WORDS / 2u];
extern uint64_t *const fwgen_fault_stack_top;
uint64_t *const fwgen_fault_stack_top = fault_stack + FAULT_STACK_WORDS / 2u;

void fwgen_fault_stop(void)
{
    __asm volatile("cpsid if" ::: "memory");
}

static const char *kind_of(uint32_t kind)
{
    static const char *const names[] = {"undefined",  "prefetchabort",
                                        "dataabort",  "fiq",
                                        "unexpected", "interrupt"};

    return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

static const char *mode_of(uint32_t cpsr)
{
    switch (cpsr & MODE_MASK) {
    case MODE_SYS:
        return "sys";
    case MODE_SVC:
        return "svc";
    case MODE_IRQ:
        return "irq";
    case MODE_ABT:
        return "abt";
    case MODE_UND:
        return "und";
    case MODE_HYP:
        return "hyp";
    case MODE_MON:
        return "mon";
    default:
        return "other";
    }
}

static void print_status(uint32_t kind)
{
    uint32_t status;
    uint32_t address;

    if (kind == FAULT_DATA) {
        __asm volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(status));
        __asm volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(address));
        fwgen_fault_field("dfsr", status);
        fwgen_fault_field("dfar", address);
    } else if (kind == FAULT_PREFETCH) {
        __asm volatile("mrc p15, 0, %0, c5, c0, 1" : "=r"(status));
        __asm volatile("mrc p15, 0, %0, c6, c0, 2" : "=r"(address));
        fwgen_fault_field("ifsr", status);
        fwgen_fault_field("ifar", address);
    } else if (kind == FAULT_INTERRUPT) {
        fwgen_fault_field("intid", fwgen_port_intid);
    }
}

static void print_registers(const struct fwgen_fault_frame *frame)
{
    static const char *const names[13] = {"r0",  "r1",  "r2", "r3", "r4",
                                          "r5",  "r6",  "r7", "r8", "r9",
                                          "r10", "r11", "r12"};

    for (uint32_t i = 0; i < 13u; i++) {
        if (i % 5u == 0u) {
            fwgen_print(i == 0u ? "***" : "\n***");
        }
        fwgen_fault_field(names[i], frame->r[i]);
    }
    fwgen_fault_field("sp", frame->sp);
    fwgen_print("\n***");
    fwgen_fault_field("cpsr", frame->cpsr);
    fwgen_print(" mode=");
    fwgen_print(mode_of(frame->cpsr));
    fwgen_print("\n");
}

/* Set when a report or the end begins: a fault of these is no news. */
static volatile bool reporting;
static volatile bool ending;

/* Called by the vectors, on the stack above. */
void fwgen_fault_report(const struct fwgen_fault_frame *frame)
{
    fwgen_fault_stop();
    if (reporting || ending) {
        fwgen_exit(FWGEN_EXIT_FAULT);
    }
    reporting = true;
    fwgen_fault_begin(kind_of(frame->kind));
    fwgen_fault_field("pc", frame->pc);
    fwgen_fault_field("lr", frame->lr);
    print_status(frame->kind);
    fwgen_fault_task();
    print_registers(frame);
    fwgen_fault_end(FWGEN_EXIT_FAULT);
}

__attribute__((weak)) void fwgen_board_halt(void)
{
    for (;;) {
        /* a debugger finds the core here */
    }
}

#if FWGEN_PSCI != FWGEN_PSCI_NONE
/* Returns only when firmware refuses. */
static void psci(uint32_t function)
{
    register uint32_t r0 __asm("r0") = function;

#if FWGEN_PSCI == FWGEN_PSCI_HVC
    __asm volatile(".arch_extension virt\n hvc #0"
                   : "+r"(r0)
                   :
                   : "r1", "r2", "r3", "r12", "memory");
#else
    __asm volatile(".arch_extension sec\n smc #0"
                   : "+r"(r0)
                   :
                   : "r1", "r2", "r3", "r12", "memory");
#endif
}
#endif

void fwgen_exit(uint32_t code)
{
    fwgen_fault_stop();
#if FWGEN_SEMIHOSTING
    const uint32_t block[2] = {ADP_STOPPED_APPLICATION_EXIT, code};
    register uint32_t operation __asm("r0") = SYS_EXIT_EXTENDED;
    register const uint32_t *argument __asm("r1") = block;

    __asm volatile("svc 0x123456" : "+r"(operation) : "r"(argument) : "memory");
#else
    (void)code;
#endif
#if FWGEN_PSCI != FWGEN_PSCI_NONE
    if (!ending) {
        ending = true; /* the call is undefined where nobody serves it */
        psci(FWGEN_FAULT_RESET ? PSCI_SYSTEM_RESET : PSCI_SYSTEM_OFF);
    }
#endif
    for (;;) {
        fwgen_board_halt();
    }
}

#if FWGEN_NVMEM
void fwgen_reset(void)
{
    fwgen_fault_stop();
#if FWGEN_PSCI != FWGEN_PSCI_NONE
    psci(PSCI_SYSTEM_RESET);
#endif
    for (;;) {
        fwgen_board_halt();
    }
}
#endif
