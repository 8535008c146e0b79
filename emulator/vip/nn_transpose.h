/*
 * nn_transpose.h - 16 lines of 16 bytes, turned.
 */
#ifndef FWGEN_VIP_NN_TRANSPOSE_H
#define FWGEN_VIP_NN_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* to[i * to_step + j] = from[j * from_step + i] for i, j < 16. */
static inline void nn_transpose_16(const uint8_t *from, size_t from_step,
                                   uint8_t *to, size_t to_step)
{
#if defined(__SSE2__)
    __m128i a[16];
    __m128i b[16];

    for (size_t i = 0; i < 16u; i++) {
        a[i] = _mm_loadu_si128(
            (const __m128i *)(const void *)(from + i * from_step));
    }
    /* Each round rotates the 8 bits (line, byte) of a position by one. */
    for (unsigned round = 0; round < 2u; round++) {
        for (size_t i = 0; i < 8u; i++) {
            b[2u * i] = _mm_unpacklo_epi8(a[i], a[i + 8u]);
            b[2u * i + 1u] = _mm_unpackhi_epi8(a[i], a[i + 8u]);
        }
        for (size_t i = 0; i < 8u; i++) {
            a[2u * i] = _mm_unpacklo_epi8(b[i], b[i + 8u]);
            a[2u * i + 1u] = _mm_unpackhi_epi8(b[i], b[i + 8u]);
        }
    }
    for (size_t i = 0; i < 16u; i++) {
        _mm_storeu_si128((__m128i *)(void *)(to + i * to_step), a[i]);
    }
#else
    for (size_t i = 0; i < 16u; i++) {
        for (size_t j = 0; j < 16u; j++) {
            to[i * to_step + j] = from[j * from_step + i];
        }
    }
#endif
}

#endif
