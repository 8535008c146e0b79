/*
 * softmax.c - SOFTMAX on the CPU.
 *
 * Arguments: source, destination, channels, format, input scale, output scale
 * (addresses; scales as bits of floats). The elements are contiguous from the
 * start of the buffers, whatever the format's blocks. With f32 operations:
 *
 *     x_i = half value, or half(int8 * input scale)
 *     e_i = exp(x_i - max x);  s = e_0 + e_1 + ... in order
 *     y_i = half(e_i / s), or trunc(clamp(half(e_i / s) / output scale))
 *
 * There is no room for all e_i, so they are computed once for the sum and once
 * for the quotients; int8 has at most 256 different ones, which are kept.
 * Source and destination may be the same.
 */
#include <stdbool.h>
#include <stddef.h>

#include "fwgen_model.h"
#include "fwgen_result.h"
#include "real.h"

#define SOFTMAX_ARGUMENTS 6u

struct softmax {
    const uint8_t *source;
    bool fp16;
    float input_scale;
    float max;
    uint32_t known[256 / 32]; /* bit per int8 value: exponentials[] holds it */
    float exponentials[256];
};

static float element(const struct softmax *softmax, uint32_t i)
{
    if (softmax->fp16) {
        const uint8_t *bytes = &softmax->source[2u * i];

        return fwgen_half_to_float(
            (uint16_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8));
    }
    return fwgen_half_to_float(fwgen_float_to_half(
        (float)(int8_t)softmax->source[i] * softmax->input_scale));
}

static float exponential_of(struct softmax *softmax, uint32_t i)
{
    uint32_t value;

    if (softmax->fp16) {
        return fwgen_expf(element(softmax, i) - softmax->max);
    }
    value = softmax->source[i];
    if ((softmax->known[value / 32u] & (1u << (value % 32u))) == 0u) {
        softmax->exponentials[value] =
            fwgen_expf(element(softmax, i) - softmax->max);
        softmax->known[value / 32u] |= 1u << (value % 32u);
    }
    return softmax->exponentials[value];
}

int fwgen_kernel_softmax(const uint32_t *arguments, uint32_t count)
{
    struct softmax softmax = {0};
    uint8_t *destination;
    uint32_t channels;
    uint32_t format;
    float output_scale;
    float sum = 0.0f;

    if (count != SOFTMAX_ARGUMENTS) {
        return FWGEN_ERROR_PROGRAM;
    }
    softmax.source = (const uint8_t *)(uintptr_t)arguments[0];
    destination = (uint8_t *)(uintptr_t)arguments[1];
    channels = arguments[2];
    format = arguments[3];
    softmax.input_scale = fwgen_float_of(arguments[4]);
    output_scale = fwgen_float_of(arguments[5]);
    softmax.fp16 = format == FORMAT_FP16;
    if (channels == 0u ||
        (!softmax.fp16 && format != FORMAT_INT8 && format != FORMAT_INT8_8)) {
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    softmax.max = element(&softmax, 0);
    for (uint32_t i = 1; i < channels; i++) {
        const float x = element(&softmax, i);

        if (x > softmax.max) {
            softmax.max = x;
        }
    }
    for (uint32_t i = 0; i < channels; i++) {
        sum += exponential_of(&softmax, i);
    }
    for (uint32_t i = 0; i < channels; i++) {
        const uint16_t half =
            fwgen_float_to_half(exponential_of(&softmax, i) / sum);

        if (softmax.fp16) {
            destination[2u * i] = (uint8_t)(half & 0xffu);
            destination[2u * i + 1u] = (uint8_t)(half >> 8);
        } else {
            destination[i] = (uint8_t)fwgen_float_to_int8(
                fwgen_half_to_float(half) / output_scale);
        }
    }
    return FWGEN_OK;
}
