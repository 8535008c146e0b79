/*
 * coef_bits.h - bits of a stream, least significant first.
 *
 * Reading past the end is allowed for as many bytes as can be read there; the
 * caller looks at `position` before it goes on.
 */
#ifndef FWGEN_VIP_COEF_BITS_H
#define FWGEN_VIP_COEF_BITS_H

#include <stdint.h>
#include <string.h>

struct coef_bits {
    const uint8_t *data;
    uint64_t position;
    uint64_t length; /* bits */
};

/* 57 bits or more from the position on. */
static inline uint64_t coef_peek(const struct coef_bits *bits)
{
    uint64_t value;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&value, bits->data + (bits->position >> 3), sizeof value);
#else
    value = 0;
    for (unsigned i = 0; i < 8u; i++) {
        value |= (uint64_t)bits->data[(bits->position >> 3) + i] << 8u * i;
    }
#endif
    return value >> (bits->position & 7u);
}

/* The next `count` bits, 0..32. */
static inline uint32_t coef_take(struct coef_bits *bits, unsigned count)
{
    uint64_t value = coef_peek(bits) & (((uint64_t)1 << count) - 1u);

    bits->position += count;
    return (uint32_t)value;
}

#endif
