/*
 * fwgen_tensor.h - where the elements of a tensor lie.
 *
 * Accelerators keep channels in blocks; a tensor's layout says how
 * (fwgen_model.h). All functions here are for any context and do not block.
 */
#ifndef FWGEN_TENSOR_H
#define FWGEN_TENSOR_H

#include <stdint.h>

#include "fwgen_model.h"

/* Bytes of one element of a type; 0 for an unknown type. */
static inline uint32_t fwgen_dtype_size(uint32_t dtype)
{
    switch (dtype) {
    case FWGEN_INT8:
    case FWGEN_UINT8:
        return 1;
    case FWGEN_INT16:
    case FWGEN_UINT16:
    case FWGEN_FLOAT16:
        return 2;
    case FWGEN_FLOAT32:
        return 4;
    default:
        return 0;
    }
}

/*
 * Bytes from the first byte of a tensor to element (channel, y, x). The indices
 * must be below shape[1], shape[2] and shape[3].
 *
 * Example: one pixel of a picture with one channel.
 *     in->address[fwgen_tensor_offset(in, 0, y, x)] = (uint8_t)grey;
 */
static inline uint32_t fwgen_tensor_offset(const struct fwgen_tensor *tensor,
                                           uint32_t channel, uint32_t y,
                                           uint32_t x)
{
    const uint32_t size = fwgen_dtype_size(tensor->dtype);
    const uint32_t line = tensor->strides[1];
    const uint32_t surface = tensor->strides[2];

    switch (tensor->layout) {
    case FWGEN_NHWC:
        return y * line + (x * tensor->shape[1] + channel) * size;
    case FWGEN_NCXHWX:
        return channel / tensor->atom * surface + y * line +
               (x * tensor->atom + channel % tensor->atom) * size;
    default: /* FWGEN_NCHW */
        return channel * surface + y * line + x * size;
    }
}

#endif
