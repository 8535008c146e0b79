/*
 * dot.c - dot products of int8 vectors (dot.h).
 *
 * A full tile of four shares each load of the one vector. Cores with the DSP
 * extension multiply two pairs at a time; the sums are the same numbers, for
 * nothing rounds and nothing overflows.
 */
#include "dot.h"

#include "arith.h"

#if defined(__ARM_FEATURE_SIMD32) && !defined(FWGEN_PORTABLE_KERNELS)

#include <arm_acle.h>

static inline uint32_t word_at(const uint8_t *bytes)
{
    return *(const fwgen_word *)(const void *)bytes;
}

/* Bytes 0 and 2, and bytes 1 and 3, as two half words each. */
static inline int16x2_t even_bytes(uint32_t word)
{
    return __sxtb16((int8x4_t)word);
}

static inline int16x2_t odd_bytes(uint32_t word)
{
#ifdef __arm__
    /* one instruction, which the compiler does not find by itself */
    int16x2_t result;

    __asm("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(word));
    return result;
#else
    return __sxtb16((int8x4_t)((word >> 8) | (word << 24)));
#endif
}

/* Adds the four products of two words of bytes; one of them is split already.
 */
static inline int32_t add_products(int16x2_t even, int16x2_t odd, uint32_t x,
                                   int32_t sum)
{
    sum = __smlad(even, even_bytes(x), sum);
    return __smlad(odd, odd_bytes(x), sum);
}

static void dot_tile(const uint8_t *vector, const uint8_t *vectors,
                     uint32_t length, int32_t *sums)
{
    const uint8_t *x1 = vectors + length;
    const uint8_t *x2 = x1 + length;
    const uint8_t *x3 = x2 + length;
    int32_t s0 = 0;
    int32_t s1 = 0;
    int32_t s2 = 0;
    int32_t s3 = 0;

    for (uint32_t i = 0; i < length; i += 4u) {
        const uint32_t w = word_at(&vector[i]);
        const int16x2_t even = even_bytes(w);
        const int16x2_t odd = odd_bytes(w);

        s0 = add_products(even, odd, word_at(&vectors[i]), s0);
        s1 = add_products(even, odd, word_at(&x1[i]), s1);
        s2 = add_products(even, odd, word_at(&x2[i]), s2);
        s3 = add_products(even, odd, word_at(&x3[i]), s3);
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

static int32_t dot_one(const uint8_t *vector, const uint8_t *other,
                       uint32_t length)
{
    int32_t sum = 0;

    for (uint32_t i = 0; i < length; i += 4u) {
        const uint32_t w = word_at(&vector[i]);

        sum =
            add_products(even_bytes(w), odd_bytes(w), word_at(&other[i]), sum);
    }
    return sum;
}

#else

static inline int32_t at(const uint8_t *bytes, uint32_t i)
{
    return (int8_t)bytes[i];
}

static void dot_tile(const uint8_t *vector, const uint8_t *vectors,
                     uint32_t length, int32_t *sums)
{
    const uint8_t *x1 = vectors + length;
    const uint8_t *x2 = x1 + length;
    const uint8_t *x3 = x2 + length;
    int32_t s0 = 0;
    int32_t s1 = 0;
    int32_t s2 = 0;
    int32_t s3 = 0;

    for (const uint8_t *const end = vector + length; vector != end; vector++) {
        const int32_t w = at(vector, 0);

        s0 += w * at(vectors++, 0);
        s1 += w * at(x1++, 0);
        s2 += w * at(x2++, 0);
        s3 += w * at(x3++, 0);
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

static int32_t dot_one(const uint8_t *vector, const uint8_t *other,
                       uint32_t length)
{
    int32_t sum = 0;

    for (uint32_t i = 0; i < length; i++) {
        sum += at(vector, i) * at(other, i);
    }
    return sum;
}

#endif

void fwgen_dot(const uint8_t *vector, const uint8_t *vectors, uint32_t length,
               uint32_t count, int32_t *sums)
{
    if (count == FWGEN_DOT_TILE) {
        dot_tile(vector, vectors, length, sums);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        sums[i] = dot_one(vector, vectors + i * length, length);
    }
}
