/*
 * cache.S - maintenance of the data caches.
 *
 * Facts from the Armv7-A/R architecture reference manual: CTR.DminLine (the
 * smallest line of all data caches, in words, as a power of two), operations by
 * address to the point of coherency, operations by set and way with CLIDR,
 * CSSELR and CCSIDR (section B2.2.4). The functions use registers only, no
 * stack, so that they can run before there is one.
 */
    .arm


@ Applies an operation to all lines that [r0, r0 + r1) touches.
    .macro by_range name, operation
    .section .text.\name, "ax", %progbits
    .global \name
    .type \name, %function
\name:
    mrc     p15, 0, r2, c0, c0, 1   @ CTR
    ubfx    r2, r2, #16, #4         @ DminLine
    mov     r3, #4
    lsl     r3, r3, r2              @ bytes of a line
    sub     r2, r3, #1
    add     r1, r0, r1
    bic     r0, r0, r2
    dmb                             @ stores before this are what is cleaned
1:  cmp     r0, r1
    bhs     2f
    mcr     p15, 0, r0, c7, \operation, 1
    add     r0, r0, r3
    b       1b
2:  dsb                             @ complete before a device is told
    bx      lr
    .size \name, . - \name
    .endm

    by_range fwgen_cache_clean, c10
    by_range fwgen_cache_invalidate, c6

@ Writes back and drops every line of every level up to the point of coherency.
@ For one core alone, before the caches are switched off.
    .section .text.fwgen_dcache_clean_all, "ax", %progbits
    .global fwgen_dcache_clean_all
    .type fwgen_dcache_clean_all, %function
fwgen_dcache_clean_all:
    dmb
    mrc     p15, 1, r0, c0, c0, 1   @ CLIDR
    ubfx    r1, r0, #24, #3         @ LoC: this many levels
    mov     r2, #0                  @ level
level:
    cmp     r2, r1
    bhs     done
    add     r3, r2, r2, lsl #1
    lsr     r3, r0, r3
    and     r3, r3, #7              @ type: 2 and above have data
    cmp     r3, #2
    blo     next_level
    lsl     r3, r2, #1
    mcr     p15, 2, r3, c0, c0, 0   @ CSSELR
    isb
    mrc     p15, 1, r4, c0, c0, 0   @ CCSIDR
    and     r5, r4, #7
    add     r5, r5, #4              @ log2 of the line's bytes
    ubfx    r6, r4, #3, #10         @ ways - 1
    ubfx    r7, r4, #13, #15        @ sets - 1
    clz     r8, r6                  @ the way's place in the operand
set:
    mov     r9, r6
way:
    lsl     r11, r9, r8
    orr     r11, r11, r7, lsl r5
    orr     r11, r11, r2, lsl #1
    mcr     p15, 0, r11, c7, c14, 2 @ DCCISW
    subs    r9, r9, #1
    bpl     way
    subs    r7, r7, #1
    bpl     set
next_level:
    add     r2, r2, #1
    b       level
done:
    mov     r3, #0
    mcr     p15, 2, r3, c0, c0, 0   @ CSSELR
    dsb
    isb
    bx      lr
    .size fwgen_dcache_clean_all, . - fwgen_dcache_clean_all
