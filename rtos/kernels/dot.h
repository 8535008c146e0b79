/*
 * dot.h - dot products of int8 vectors.
 */
#ifndef FWGEN_KERNELS_DOT_H
#define FWGEN_KERNELS_DOT_H

#include <stdint.h>

/* Most vectors that are multiplied at once. */
#define FWGEN_DOT_TILE 4u

/*
 * sums[i] = the dot product of `vector` with vectors + i * length, for i below
 * count (1 to FWGEN_DOT_TILE). `length` is a multiple of 4, all addresses are;
 * the sums must not leave 32 bits.
 */
void fwgen_dot(const uint8_t *vector, const uint8_t *vectors, uint32_t length,
               uint32_t count, int32_t *sums);

#endif
