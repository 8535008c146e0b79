/*
 * entry.S - brings the core into a state in which a boot loader may enter the
 * image, and enters it. Runs from reset in Secure SVC; KIND chooses the state:
 * 1 MON; 2 Non-secure SVC, as Secure firmware leaves it; 3 SVC with MMU, caches,
 * high vectors and alignment faults on; 4 the same, Non-secure; 5 SVC with
 * CNTFRQ zero; 6 Non-secure SVC with a GICv3; 7 the same
 * with group 0 at EL3 (SCR.FIQ).
 */
    .arm
    .arch_extension sec
    .equ IMAGE, 0x40200000
    .equ TABLE, 0x40180000
    .equ GICD, 0x08000000
    .equ GICC, 0x08010000
    .equ GICR, 0x080a0000

    .text
    .global _start
_start:
    cpsid   aif
    .if KIND == 1
    cps     #0x16
    .endif

    .if KIND == 5
    mov     r0, #0
    mcr     p15, 0, r0, c14, c0, 0
    .endif

    .if KIND == 2 || KIND == 4
    @ All interrupts to group 1; the priority mask open for the other side.
    ldr     r0, =GICD
    mvn     r1, #0
    add     r2, r0, #0x80
    mov     r3, #9
1:  str     r1, [r2], #4
    subs    r3, r3, #1
    bne     1b
    mov     r1, #3
    str     r1, [r0]
    ldr     r0, =GICC
    mov     r1, #0xff
    str     r1, [r0, #4]
    mov     r1, #3
    str     r1, [r0]
    .endif

    .if KIND == 6 || KIND == 7
    @ The same for a GICv3: affinity routing, group 1 of the other side, its
    @ system registers.
    ldr     r0, =GICD
    mov     r1, #0x30
    str     r1, [r0]
    mvn     r1, #0
    add     r2, r0, #0x84
    mov     r3, #8
1:  str     r1, [r2], #4
    subs    r3, r3, #1
    bne     1b
    ldr     r2, =(GICR + 0x10080)
    str     r1, [r2]
    ldr     r2, =(GICR + 0x14)
    mov     r1, #0
    str     r1, [r2]
    mov     r1, #0x32
    str     r1, [r0]
    cps     #0x16
    mov     r1, #0xf
    mcr     p15, 6, r1, c12, c12, 5 @ ICC_MSRE
    isb
    mov     r1, #0xff
    mcr     p15, 0, r1, c4, c6, 0   @ ICC_PMR
    .endif

    .if KIND == 2 || KIND == 4 || KIND >= 6
    ldr     r0, =0x00000c00         @ NSACR: the FPU
    mcr     p15, 0, r0, c1, c1, 2
    cps     #0x16
    mrc     p15, 0, r0, c1, c1, 0   @ SCR.NS
    orr     r0, r0, #1
    .if KIND == 7
    orr     r0, r0, #4
    .endif
    mcr     p15, 0, r0, c1, c1, 0
    isb
    ldr     r0, =0x1d3
    msr     spsr_cxsf, r0
    ldr     lr, =2f
    movs    pc, lr
2:
    .endif

    .if KIND == 3 || KIND == 4
    ldr     r0, =TABLE
    ldr     r1, =0x00001c0e         @ normal, write-back; PL1 access
    mov     r2, #0
1:  orr     r3, r1, r2, lsl #20
    cmp     r2, #0x400              @ RAM from 0x40000000 on, devices below
    bicmi   r3, r3, #0x1000
    bicmi   r3, r3, #0x8
    str     r3, [r0, r2, lsl #2]
    add     r2, r2, #1
    cmp     r2, #0x1000
    bne     1b
    dsb
    mcr     p15, 0, r0, c2, c0, 0
    mov     r1, #0
    mcr     p15, 0, r1, c2, c0, 2
    mov     r1, #1
    mcr     p15, 0, r1, c3, c0, 0
    mcr     p15, 0, r1, c8, c7, 0
    isb
    mrc     p15, 0, r1, c1, c0, 0
    ldr     r2, =0x3807             @ M, A, C, Z, I, V
    orr     r1, r1, r2
    mcr     p15, 0, r1, c1, c0, 0
    isb
    .endif
    ldr     pc, =IMAGE
    .ltorg
