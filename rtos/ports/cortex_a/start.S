/*
 * start.S - from the loader's jump to C on Cortex-A in 32-bit state.
 *
 * The image may be entered in any privileged mode, Secure or Non-secure, with
 * MMU and caches on or off. No memory is written before the caches are known
 * to be clean. Facts from the Armv7-A/R architecture reference manual:
 * sections B1.3 (modes), B3.17 and B4.1 (system registers), B8.2 (generic
 * timer); for Armv8 cores in AArch32 state the Armv8-A manual, part G.
 */
#include "asm.h"

    .arm
    .arch_extension sec
    .arch_extension virt

#define SCTLR_M (1 << 0)   /* MMU */
#define SCTLR_A (1 << 1)   /* alignment faults */
#define SCTLR_C (1 << 2)   /* data caches */
#define SCTLR_I (1 << 12)  /* instruction caches */
#define SCTLR_V (1 << 13)  /* exception vectors at 0xffff0000 */
#define SCTLR_WXN (3 << 19) /* writable memory is not executable: UWXN, WXN */
#define SCTLR_EE (1 << 25) /* exceptions big-endian */
#define SCTLR_TRE (1 << 28)
#define SCTLR_AFE (1 << 29)
#define SCTLR_TE (1 << 30) /* exceptions in Thumb state */
#define SCTLR_ITD (3 << 7) /* ITD, SED: IT blocks and SETEND disabled */
/* Bits that must be one, or that trap when they are zero: nTLSMD, LSMAOE,
 * CP15BEN; nTWI, nTWE; U, SPAN. */
#define SCTLR_ONES_LOW (7 << 3)
#define SCTLR_ONES_HIGH ((1 << 16) | (1 << 18) | (3 << 22))

#define HCPTR_TRAPS ((1 << 31) | (1 << 20) | (1 << 15) | (3 << 10))
#define HDCR_HPMN 0x1f
#define CNTHCTL_PL1 3 /* PL1PCTEN, PL1PCEN: counter and physical timer */
#define HSRE_ACCESS 9 /* SRE, Enable */
#define SCR_ROUTES 0xf /* NS, IRQ, FIQ, EA */
#define CPACR_FPU (0xf << 20)
#define CPACR_HALVES (3 << 30) /* ASEDIS, D32DIS */
#define ACTLR_SMP (1 << 6)
#define MPIDR_MT (1 << 24)
#define MIDR_PART 0xfff0
#define PART_A7 0xc070
#define PART_A15 0xc0f0

/*
 * The exception vectors. The first is the image's entry point too, so that a
 * loader that jumps to the start of the binary is right.
 */
    .section .vectors, "ax", %progbits
    .balign 32
    .global fwgen_vectors
    .type fwgen_vectors, %object
fwgen_vectors:
    b Reset_Handler
    b fwgen_port_undefined
    b fwgen_port_svc
    b fwgen_port_prefetch_abort
    b fwgen_port_data_abort
    b fwgen_port_unexpected
    b fwgen_port_irq
    b fwgen_port_fiq
    .size fwgen_vectors, . - fwgen_vectors

    .section .text.Reset_Handler, "ax", %progbits
    .global Reset_Handler
    .type Reset_Handler, %function
Reset_Handler:
    cpsid   aif
    mrs     r0, cpsr
    and     r10, r0, #MODE_MASK     @ the mode of entry, kept to the end

    @ One core runs the firmware. Where one core has several threads (MT), the
    @ core's number is the next field.
    mrc     p15, 0, r0, c0, c0, 5   @ MPIDR
    tst     r0, #MPIDR_MT
    lsrne   r0, r0, #8
    tst     r0, #0xff
    bne     park

    @ What the loader wrote may be in the caches alone, and the next steps read
    @ memory without them. Nothing is stored until this is done.
    bl      fwgen_dcache_clean_all

    cmp     r10, #MODE_HYP
    beq     leave_hyp
    cmp     r10, #MODE_MON
    bne     supervisor
    mrc     p15, 0, r0, c1, c1, 0   @ SCR: stay Secure, take all exceptions here
    bic     r0, r0, #SCR_ROUTES
    mcr     p15, 0, r0, c1, c1, 0
    isb
supervisor:
    cps     #MODE_SVC
    b       privileged

    @ HYP: give PL1 everything, and go there. No trap stays set; the counter
    @ and the physical timer are PL1's; virtual time is physical time.
leave_hyp:
    mov     r0, #0
    mcr     p15, 4, r0, c1, c1, 0   @ HCR
    mcr     p15, 4, r0, c1, c1, 3   @ HSTR
    mcrr    p15, 4, r0, r0, c14     @ CNTVOFF
    mrc     p15, 4, r0, c1, c1, 1   @ HDCR
    and     r0, r0, #HDCR_HPMN
    mcr     p15, 4, r0, c1, c1, 1
    mrc     p15, 4, r0, c1, c1, 2   @ HCPTR
    ldr     r1, =HCPTR_TRAPS
    bic     r0, r0, r1
    mcr     p15, 4, r0, c1, c1, 2
    mrc     p15, 4, r0, c14, c1, 0  @ CNTHCTL
    orr     r0, r0, #CNTHCTL_PL1
    mcr     p15, 4, r0, c14, c1, 0
    mrc     p15, 0, r0, c0, c0, 0   @ MIDR
    mcr     p15, 4, r0, c0, c0, 0   @ VPIDR
    mrc     p15, 0, r0, c0, c0, 5   @ MPIDR
    mcr     p15, 4, r0, c0, c0, 5   @ VMPIDR
    mrc     p15, 0, r0, c0, c1, 1   @ ID_PFR1: bits 31:28, GIC system registers
    lsrs    r0, r0, #28
    beq     1f
    mrc     p15, 4, r0, c12, c9, 5  @ ICC_HSRE: PL1 may use the GIC's registers
    orr     r0, r0, #HSRE_ACCESS
    mcr     p15, 4, r0, c12, c9, 5
    isb
    mov     r0, #0
    mcr     p15, 4, r0, c12, c11, 0 @ ICH_HCR: no virtual interrupts
1:
    mov     r0, #(MODE_SVC | PSR_A | PSR_I | PSR_F)
    msr     spsr_cxsf, r0
    adr     r0, privileged
    msr     elr_hyp, r0
    eret

    @ SVC, interrupts and aborts masked.
privileged:
    mrc     p15, 0, r0, c1, c0, 0   @ SCTLR
    bic     r0, r0, #(SCTLR_M | SCTLR_A | SCTLR_C)
    bic     r0, r0, #(SCTLR_I | SCTLR_V)
    bic     r0, r0, #SCTLR_WXN
    bic     r0, r0, #(SCTLR_EE | SCTLR_TRE | SCTLR_AFE | SCTLR_TE)
    bic     r0, r0, #SCTLR_ITD      @ after HYP, all of it may be unknown
    orr     r0, r0, #SCTLR_ONES_LOW
    orr     r0, r0, #SCTLR_ONES_HIGH
    mcr     p15, 0, r0, c1, c0, 0
    isb

    @ While they were on, the caches may have fetched lines ahead. Those are
    @ clean, but they would hide what is written past them from here on: stack
    @ and translation tables.
    bl      fwgen_dcache_clean_all
    mov     r0, #0
    mcr     p15, 0, r0, c8, c7, 0   @ TLBIALL
    mcr     p15, 0, r0, c7, c5, 0   @ ICIALLU
    mcr     p15, 0, r0, c7, c5, 6   @ BPIALL
    dsb
    isb

    @ These cores cache nothing before ACTLR.SMP is set, even one of them alone.
    @ Secure firmware has set it and may have locked the register: write only
    @ when it is needed.
    mrc     p15, 0, r0, c0, c0, 0   @ MIDR
    ldr     r1, =MIDR_PART
    and     r0, r0, r1
    ldr     r1, =PART_A7
    cmp     r0, r1
    ldrne   r1, =PART_A15
    cmpne   r0, r1
    bne     1f
    mrc     p15, 0, r0, c1, c0, 1   @ ACTLR
    tst     r0, #ACTLR_SMP
    orreq   r0, r0, #ACTLR_SMP
    mcreq   p15, 0, r0, c1, c0, 1
1:
    ldr     r0, =fwgen_vectors
    mcr     p15, 0, r0, c12, c0, 0  @ VBAR
    mrc     p15, 0, r0, c1, c0, 2   @ CPACR: the FPU may be used ...
    orr     r0, r0, #CPACR_FPU
    bic     r0, r0, #CPACR_HALVES
    mcr     p15, 0, r0, c1, c0, 2
    isb
    mov     r0, #0
    vmsr    fpexc, r0               @ ... and the first use of it traps

    @ Stacks. IRQ mode has none, its stack pointer is a scratch register
    @ (context.S); those of the fault modes point to where faults are noted.
    ldr     r0, =fwgen_fault_frame
    cps     #MODE_ABT
    mov     sp, r0
    cps     #MODE_UND
    mov     sp, r0
    cps     #MODE_FIQ
    mov     sp, r0
    cps     #MODE_SVC
    ldr     sp, =__stack_top
    mov     r0, r10
    bl      fwgen_port_start
park:
    wfi
    b       park
    .size Reset_Handler, . - Reset_Handler
    .ltorg
