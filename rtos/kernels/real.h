/*
 * real.h - the arithmetic that the CPU kernels share.
 *
 * Operators that the accelerator lacks are defined in IEEE single precision,
 * each operation rounded, with binary16 conversion that rounds ties away from
 * zero (the rules of NVIDIA's CPU operators). The elementary functions go
 * through double precision with an error below 2^-44, so that the rounded
 * single is the nearest one but for about one argument in a million. Compile
 * with -ffp-contract=off or an ISO -std.
 */
#ifndef FWGEN_KERNELS_REAL_H
#define FWGEN_KERNELS_REAL_H

#include <stdint.h>

/* Formats of the argument words. */
#define FORMAT_INT8 0u   /* channels in blocks of 32 */
#define FORMAT_INT8_8 1u /* channels in blocks of 8 */
#define FORMAT_FP16 3u   /* channels in blocks of 16 */

/* The float whose bits are `word`. */
float fwgen_float_of(uint32_t word);

/* binary16 to single, exact. */
float fwgen_half_to_float(uint16_t half);

/* Single to binary16: nearest, ties away from zero, overflow to infinity,
 * subnormals kept. */
uint16_t fwgen_float_to_half(float value);

/* e^x and x^y with the special cases of C's expf and powf. */
float fwgen_expf(float x);
float fwgen_powf(float x, float y);

/* Clamps to -128 .. 127 and drops the fraction; NaN gives 0. */
int8_t fwgen_float_to_int8(float value);

#endif
