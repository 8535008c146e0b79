/*
 * context.S - exceptions: interrupts, the task switch, the FPU, faults.
 *
 * Tasks run in SYS mode on their own stacks, handlers in SVC mode on the main
 * stack. docs/port-cortex-a.md explains the design; in short:
 *
 * - An exception that interrupts a task puts {r0-r3, r12, lr, pc, cpsr} on the
 *   task's stack, as Cortex-M does; one that interrupts a handler puts it on
 *   the main stack. Which of the two it is, the mode in SPSR tells.
 * - A switch adds {FPEXC, [FPSCR, d16-d31, d0-d15], r4-r11} below. The part in
 *   brackets is there only when the task has the FPU switched on.
 * - The FPU is off until an instruction needs it; the trap switches it on.
 *   Handlers start with it off, and pay for saving registers only when they
 *   use it.
 *
 * IRQ and FIQ stay masked wherever this file does not say otherwise.
 */
#include "asm.h"

    .arm
    .fpu neon
    .arch_extension sec

    .macro function name
    .section .text.\name, "ax", %progbits
    .global \name
    .type \name, %function
\name:
    .endm

    .macro end name
    .size \name, . - \name
    .ltorg
    .endm

@ In SYS mode, on the task's stack: back to the task.
    .macro return_to_task
    pop     {r0-r3, r12, lr}
    rfeia   sp!
    .endm

/*
 * Interrupts.
 */
    function fwgen_port_irq
    sub     lr, lr, #4
    mrs     sp, spsr                @ no stack here: sp is a scratch register
    and     sp, sp, #MODE_MASK
    cmp     sp, #MODE_SYS
    bne     1f

    srsdb   sp!, #MODE_SYS          @ a task was interrupted
    cps     #MODE_SYS
    push    {r0-r3, r12, lr}
    cps     #MODE_SVC
    bl      handle
    ldr     r0, =fwgen_port_yield_required
    ldr     r1, [r0]
    cmp     r1, #0
    cps     #MODE_SYS
    bne     fwgen_port_save
    return_to_task

1:  srsdb   sp!, #MODE_SVC          @ a handler was interrupted, or start-up
    cps     #MODE_SVC
    push    {r0-r3, r12, lr}
    and     r0, sp, #4              @ the stack of C is aligned to 8 bytes
    sub     sp, sp, r0
    push    {r0, r1}
    bl      handle
    pop     {r0, r1}
    add     sp, sp, r0
    pop     {r0-r3, r12, lr}
    rfeia   sp!
    end     fwgen_port_irq

@ One interrupt, with the FPU off. If it was on, its registers belong to what was
@ interrupted: fwgen_fpu_holder then says where a user of the FPU must save
@ them first.
    function handle
    push    {r4, r5, r6, lr}
    sub     sp, sp, #RECORD_SIZE
    mov     r5, #0
    vmrs    r4, fpexc
    tst     r4, #FPEXC_EN
    beq     1f
    ldr     r6, =fwgen_fpu_holder
    str     r5, [sp, #RECORD_SAVED]
    str     sp, [r6]
    vmsr    fpexc, r5
    bl      fwgen_port_interrupt
    vmsr    fpexc, r4
    ldr     r0, [sp, #RECORD_SAVED]
    str     r5, [r6]
    cmp     r0, #0
    beq     2f
    mov     r1, sp                  @ a handler has used the FPU
    ldr     r0, [sp, #RECORD_FPSCR]
    vldmia  r1!, {d0-d15}
    vldmia  r1!, {d16-d31}
    vmsr    fpscr, r0
    b       2f
1:  bl      fwgen_port_interrupt
    vmsr    fpexc, r4
2:  clrex                           @ Armv7 keeps a handler's reservation over
    add     sp, sp, #RECORD_SIZE    @ its return, and a task's STREX would
    pop     {r4, r5, r6, pc}        @ take it for its own
    end     handle

/*
 * The task switch.
 */
    function fwgen_port_svc         @ a task yields
    srsdb   sp!, #MODE_SYS
    cps     #MODE_SYS
    push    {r0-r3, r12, lr}
    b       fwgen_port_save
    end     fwgen_port_svc

@ In SYS mode, {r0-r3, r12, lr, pc, cpsr} stored: the rest, then the next task.
    function fwgen_port_save
    push    {r4-r11}
    vmrs    r4, fpexc
    tst     r4, #FPEXC_EN
    beq     1f
    vpush   {d0-d15}
    vpush   {d16-d31}
    vmrs    r5, fpscr
    push    {r5}
1:  push    {r4}
    ldr     r0, =pxCurrentTCB
    ldr     r1, [r0]
    str     sp, [r1]
    cps     #MODE_SVC
    ldr     r0, =fwgen_port_yield_required
    mov     r1, #0
    str     r1, [r0]
    bl      fwgen_port_switch
    b       fwgen_port_restore
    end     fwgen_port_save

@ Starts or continues the task that pxCurrentTCB names.
    function fwgen_port_restore
    clrex                           @ no reservation outlives its task
    ldr     r0, =pxCurrentTCB
    ldr     r1, [r0]
    cps     #MODE_SYS
    ldr     sp, [r1]
    pop     {r4}
    vmsr    fpexc, r4
    tst     r4, #FPEXC_EN
    beq     1f
    pop     {r5}
    vmsr    fpscr, r5
    vpop    {d16-d31}
    vpop    {d0-d15}
1:  pop     {r4-r11}
    return_to_task
    end     fwgen_port_restore

@ The first task: the main stack starts anew for handlers.
    function fwgen_port_start_first
    cpsid   i
    ldr     sp, =__stack_top
    b       fwgen_port_restore
    end     fwgen_port_start_first

/*
 * Undefined instructions. With the FPU off, the instruction may be one of the
 * FPU's: switch it on and try again. A truly undefined one comes back. sp is
 * where faults are noted (start.S), used here as three words of memory.
 */
    function fwgen_port_undefined
    stmia   sp, {r0-r2}
    vmrs    r0, fpexc
    tst     r0, #FPEXC_EN
    bne     2f
    mov     r0, #FPEXC_EN
    vmsr    fpexc, r0
    mov     r2, #0
    ldr     r0, =fwgen_fpu_holder
    ldr     r1, [r0]
    cmp     r1, #0
    beq     1f
    str     r2, [r0]                @ the registers are somebody's
    vstmia  r1!, {d0-d15}
    vstmia  r1!, {d16-d31}
    vmrs    r0, fpscr
    str     r0, [r1], #4
    mov     r0, #1
    str     r0, [r1]
1:  vmsr    fpscr, r2
    mrs     r0, spsr                @ lr is behind the instruction's first
    tst     r0, #PSR_T              @ half or whole
    ldmia   sp, {r0-r2}
    subne   lr, lr, #2
    subeq   lr, lr, #4
    movs    pc, lr
2:  mrs     r0, spsr
    tst     r0, #PSR_T
    ldmia   sp, {r0-r2}
    subne   lr, lr, #2
    subeq   lr, lr, #4
    stmia   sp, {r0-r12}
    mov     r4, #FAULT_UNDEFINED
    b       fault
    end     fwgen_port_undefined

/*
 * Faults: note the registers, report on a stack of its own.
 */
    .macro fault_vector name, kind, offset
    function \name
    sub     lr, lr, #\offset        @ the instruction that did it
    stmia   sp, {r0-r12}
    mov     r4, #\kind
    b       fault
    end     \name
    .endm

    fault_vector fwgen_port_prefetch_abort, FAULT_PREFETCH, 4
    fault_vector fwgen_port_data_abort, FAULT_DATA, 8
    fault_vector fwgen_port_unexpected, FAULT_UNEXPECTED, 4
    fault_vector fwgen_port_fiq, FAULT_FIQ, 4

@ r0-r12 noted at sp, lr the instruction, r4 the kind.
    function fault
    mov     r0, sp
    mrs     r1, spsr
    str     lr, [r0, #FRAME_PC]
    str     r1, [r0, #FRAME_CPSR]
    str     r4, [r0, #FRAME_KIND]
    mrs     r5, cpsr
    and     r1, r1, #MODE_MASK      @ sp and lr of the interrupted mode
    cmp     r1, #MODE_USR
    moveq   r1, #MODE_SYS
    orr     r1, r1, #(PSR_I | PSR_F)
    msr     cpsr_c, r1
    mov     r2, sp
    mov     r3, lr
    msr     cpsr_c, r5
    str     r2, [r0, #FRAME_SP]
    str     r3, [r0, #FRAME_LR]
    ldr     sp, =fwgen_fault_stack_top
    ldr     sp, [sp]
    bl      fwgen_fault_report
1:  b       1b
    end     fault

@ An interrupt that nobody handles, called as a handler: the registers are those
@ of the dispatcher, what matters is the interrupt's number.
    function fwgen_default_IRQHandler
    cpsid   i
    ldr     r0, =fwgen_fault_frame
    stmia   r0, {r0-r12}
    str     sp, [r0, #FRAME_SP]
    str     lr, [r0, #FRAME_LR]
    str     lr, [r0, #FRAME_PC]
    mrs     r1, cpsr
    str     r1, [r0, #FRAME_CPSR]
    mov     r1, #FAULT_INTERRUPT
    str     r1, [r0, #FRAME_KIND]
    ldr     sp, =fwgen_fault_stack_top
    ldr     sp, [sp]
    bl      fwgen_fault_report
1:  b       1b
    end     fwgen_default_IRQHandler
