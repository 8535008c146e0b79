/*
 * arm_acle.h - the intrinsics of the DSP extension that the kernels use, in
 * plain C after the Arm C Language Extensions, for tests on other computers.
 */
#ifndef TEST_ARM_ACLE_H
#define TEST_ARM_ACLE_H

#include <stdint.h>

typedef uint32_t int8x4_t;
typedef uint32_t int16x2_t;

/* Sign-extends bytes 0 and 2 to two half words. */
static inline int16x2_t __sxtb16(int8x4_t x)
{
    const uint32_t low = (uint32_t)(int8_t)(x & 0xffu) & 0xffffu;
    const uint32_t high = (uint32_t)(int8_t)((x >> 16) & 0xffu) & 0xffffu;

    return low | high << 16;
}

/* sum + the products of the low and of the high half words. */
static inline int32_t __smlad(int16x2_t a, int16x2_t b, int32_t sum)
{
    const int32_t low = (int16_t)(a & 0xffffu) * (int16_t)(b & 0xffffu);
    const int32_t high = (int16_t)(a >> 16) * (int16_t)(b >> 16);

    return sum + low + high;
}

#endif
