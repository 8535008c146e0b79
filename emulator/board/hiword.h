/*
 * hiword.h - Rockchip's way of writing single bits: bits 31 to 16 of the value
 * say which of the bits 15 to 0 take effect.
 */
#ifndef FWGEN_BOARD_HIWORD_H
#define FWGEN_BOARD_HIWORD_H

#include <stdint.h>

/* What a register that held `old` holds after `value` was written to it. */
static inline uint32_t hiword_write(uint32_t old, uint32_t value)
{
    uint32_t mask = value >> 16;

    return (old & ~mask & 0xffffu) | (value & mask);
}

#endif
