/*
 * power.c - POWER on the CPU: y = (shift + scale * x) ^ power, per element.
 *
 * Arguments: source, destination, format, width, height, channels, source line
 * stride, source surface stride, destination line stride, destination surface
 * stride, power, scale, shift, input scale, output scale (strides in bytes,
 * the last five as bits of floats). Element (c, h, w) lies at
 * c / X * surface + h * line + (w * X + c % X) * bytes, X channels per block of
 * the format. fp16: x and y are halves. int8: x = q * input scale, and
 * trunc(clamp(y / output scale)) is stored. Each operation is rounded to f32.
 */
#include <stddef.h>

#include "fwgen_model.h"
#include "fwgen_result.h"
#include "real.h"

#define POWER_ARGUMENTS 15u

struct power {
    float power;
    float scale;
    float shift;
    float input_scale;
    float output_scale;
    uint32_t known[256 / 32]; /* bit per int8 value: results[] holds it */
    uint8_t results[256];
};

static float apply(const struct power *power, float x)
{
    const float product = power->scale * x;

    return fwgen_powf(power->shift + product, power->power);
}

static uint8_t apply_int8(struct power *power, uint8_t value)
{
    if ((power->known[value / 32u] & (1u << (value % 32u))) == 0u) {
        const float x = (float)(int8_t)value * power->input_scale;

        power->results[value] =
            (uint8_t)fwgen_float_to_int8(apply(power, x) / power->output_scale);
        power->known[value / 32u] |= 1u << (value % 32u);
    }
    return power->results[value];
}

static void apply_fp16(const struct power *power, const uint8_t *source,
                       uint8_t *destination)
{
    const uint16_t x =
        (uint16_t)((uint32_t)source[0] | (uint32_t)source[1] << 8);
    const uint16_t y =
        fwgen_float_to_half(apply(power, fwgen_half_to_float(x)));

    destination[0] = (uint8_t)(y & 0xffu);
    destination[1] = (uint8_t)(y >> 8);
}

int fwgen_kernel_power(const uint32_t *arguments, uint32_t count)
{
    struct power power = {0};
    const uint8_t *source;
    uint8_t *destination;
    uint32_t block;

    if (count != POWER_ARGUMENTS) {
        return FWGEN_ERROR_PROGRAM;
    }
    source = (const uint8_t *)(uintptr_t)arguments[0];
    destination = (uint8_t *)(uintptr_t)arguments[1];
    switch (arguments[2]) {
    case FORMAT_INT8:
        block = 32;
        break;
    case FORMAT_INT8_8:
        block = 8;
        break;
    case FORMAT_FP16:
        block = 16;
        break;
    default:
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    power.power = fwgen_float_of(arguments[10]);
    power.scale = fwgen_float_of(arguments[11]);
    power.shift = fwgen_float_of(arguments[12]);
    power.input_scale = fwgen_float_of(arguments[13]);
    power.output_scale = fwgen_float_of(arguments[14]);
    for (uint32_t c = 0; c < arguments[5]; c++) {
        for (uint32_t h = 0; h < arguments[4]; h++) {
            for (uint32_t w = 0; w < arguments[3]; w++) {
                const uint32_t item = w * block + c % block;
                const uint32_t from =
                    c / block * arguments[7] + h * arguments[6];
                const uint32_t to = c / block * arguments[9] + h * arguments[8];

                if (arguments[2] == FORMAT_FP16) {
                    apply_fp16(&power, &source[from + 2u * item],
                               &destination[to + 2u * item]);
                } else {
                    destination[to + item] =
                        apply_int8(&power, source[from + item]);
                }
            }
        }
    }
    return FWGEN_OK;
}
