/*
 * hold.S - keeps values in all registers that a task switch must preserve, for a
 * while.
 *
 * void hold(const struct registers *in, struct registers *out, uint32_t spins):
 * d0-d31, FPSCR and r4-r11 are loaded from `in` and stored to `out` after a
 * busy loop. struct registers: 32 words of 64 bits, FPSCR, r4-r11.
 */
    .arm
    .fpu neon
    .text
    .global hold
    .type hold, %function
hold:
    push    {r4-r11, lr}
    mov     r12, r0
    vldmia  r12!, {d0-d15}
    vldmia  r12!, {d16-d31}
    ldr     r3, [r12], #4
    vmsr    fpscr, r3
    ldm     r12, {r4-r11}
    add     r3, r1, #256
1:  subs    r2, r2, #1
    bne     1b
    add     r3, r3, #4
    stm     r3, {r4-r11}
    vmrs    r4, fpscr
    str     r4, [r3, #-4]
    vstmia  r1!, {d0-d15}
    vstmia  r1!, {d16-d31}
    mov     r4, #0
    vmsr    fpscr, r4
    pop     {r4-r11, pc}
    .size hold, . - hold

@ void spoil(uint32_t value): writes every register of the FPU.
    .global spoil
    .type spoil, %function
spoil:
    vdup.32 q0, r0
    vmov    q1, q0
    vmov    q2, q0
    vmov    q3, q0
    vmov    q4, q0
    vmov    q5, q0
    vmov    q6, q0
    vmov    q7, q0
    vmov    q8, q0
    vmov    q9, q0
    vmov    q10, q0
    vmov    q11, q0
    vmov    q12, q0
    vmov    q13, q0
    vmov    q14, q0
    vmov    q15, q0
    mov     r0, #0x00400000         @ another rounding mode
    vmsr    fpscr, r0
    bx      lr
    .size spoil, . - spoil
