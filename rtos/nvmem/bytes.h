/*
 * bytes.h - little-endian numbers in byte arrays.
 */
#ifndef FWGEN_BYTES_H
#define FWGEN_BYTES_H

#include <stdint.h>

static inline uint32_t fwgen_get16(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8;
}

static inline uint32_t fwgen_get32(const uint8_t *from)
{
    return fwgen_get16(from) | fwgen_get16(&from[2]) << 16;
}

static inline void fwgen_set32(uint8_t *to, uint32_t value)
{
    for (uint32_t i = 0; i < 4u; i++) {
        to[i] = (uint8_t)(value >> (8u * i));
    }
}

#endif
