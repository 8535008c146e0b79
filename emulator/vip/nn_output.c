/*
 * nn_output.c - see the header; the arithmetic's rules are in nn.h.
 *
 * A double holds whole numbers up to 2^53. Where no product of sum and
 * multiplier passes that, scaling by a power of two is exact as well, and
 * adding and subtracting 1.5 * 2^52 rounds to nearest with ties to even.
 * Clamping first changes nothing, since the limits are whole numbers.
 */
#include "nn_output.h"

#include <string.h>

#include "clones.h"

#define ROUNDER 6755399441055744.0 /* 1.5 * 2^52 */
#define EXACT ((int64_t)1 << 53)
#define LINE 64u

/* 2^exponent, exactly. */
static double power_of_two(int32_t exponent)
{
    double power = 1.0;

    for (; exponent > 0; exponent--) {
        power *= 2.0;
    }
    for (; exponent < 0; exponent++) {
        power *= 0.5;
    }
    return power;
}

struct nn_scale nn_scale_of(const struct nn_layer *layer,
                            const struct nn_weights *weights)
{
    struct nn_scale scale = {
        .exact = weights->largest_sum < EXACT / (int64_t)layer->multiplier,
        .scale = (double)layer->multiplier * power_of_two(-layer->shift),
        .zero = layer->out_zero,
        .multiplier = layer->multiplier,
        .shift = layer->shift,
    };

    scale.least = layer->relu ? 0 : -scale.zero;
    scale.most = 255 - scale.zero;
    scale.low = scale.least;
    scale.high = scale.most;
    return scale;
}

/* product / 2^shift for shift > 0, to nearest, ties to even. */
static int64_t shift_right(int64_t product, unsigned shift)
{
    uint64_t magnitude = product < 0 ? (uint64_t)-product : (uint64_t)product;
    uint64_t whole;
    uint64_t rest;
    uint64_t half;

    if (shift >= 64u) {
        /* Less than 2^63: less than a half. */
        return 0;
    }
    whole = magnitude >> shift;
    rest = magnitude & (((uint64_t)1 << shift) - 1u);
    half = (uint64_t)1 << (shift - 1u);
    if (rest > half || (rest == half && (whole & 1u) != 0)) {
        whole++;
    }
    return product < 0 ? -(int64_t)whole : (int64_t)whole;
}

uint8_t nn_scale_one(const struct nn_scale *scale, int64_t sum)
{
    /* |sum| < 2^39 (NN_MAX_KERNEL), multiplier < 2^24. */
    int64_t q = sum * (int64_t)scale->multiplier;

    if (scale->shift > 0) {
        q = shift_right(q, (unsigned)scale->shift);
    } else {
        for (int32_t i = scale->shift; i < 0 && q > -512 && q < 512; i++) {
            q *= 2;
        }
    }
    if (q < scale->least) {
        q = scale->least;
    }
    if (q > scale->most) {
        q = scale->most;
    }
    return (uint8_t)(q + scale->zero);
}

FWGEN_CLONES
void nn_scale_line(const struct nn_scale *scale, const int32_t *sums,
                   const double *base, double extra, size_t count, uint8_t *out)
{
    const double factor = scale->scale;
    const double low = scale->low;
    const double high = scale->high;
    const int32_t zero = scale->zero;

    for (size_t i = 0; i < count; i++) {
        double q = ((double)sums[i] + (base[i] + extra)) * factor;

        q = q < low ? low : q;
        q = q > high ? high : q;
        q = (q + ROUNDER) - ROUNDER;
        out[i] = (uint8_t)((int32_t)q + zero);
    }
}

FWGEN_CLONES
void nn_scale_floats(const struct nn_scale *scale, const float *sums,
                     double base, size_t count, uint8_t *out)
{
    const double factor = scale->scale;
    const double low = scale->low;
    const double high = scale->high;
    const int32_t zero = scale->zero;

    for (size_t i = 0; i < count; i++) {
        double q = ((double)sums[i] + base) * factor;

        q = q < low ? low : q;
        q = q > high ? high : q;
        q = (q + ROUNDER) - ROUNDER;
        out[i] = (uint8_t)((int32_t)q + zero);
    }
}

static inline uint8_t larger(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

/* The largest of each 2 x 2 pixels; blocks at odd edges are smaller. `to` may
 * be `from`, or lie in front of it. */
static void pool_plane(const struct nn_layer *layer, const uint8_t *from,
                       uint32_t rows, uint8_t *to)
{
    uint32_t width = layer->conv_width;

    for (uint32_t y = 0; y < rows; y += 2u) {
        const uint8_t *upper = from + (size_t)y * width;
        const uint8_t *lower = y + 1u < rows ? upper + width : upper;

        for (uint32_t x = 0; x < width; x += 2u) {
            uint32_t right = x + 1u < width ? x + 1u : x;

            *to++ = larger(larger(upper[x], upper[right]),
                           larger(lower[x], lower[right]));
        }
    }
}

static void pool_rows(const struct nn_layer *layer, struct nn_rows *rows)
{
    size_t plane = (size_t)rows->rows * layer->conv_width;
    uint32_t pooled = (rows->rows + 1u) / 2u;

    for (uint32_t k = 0; k < rows->kernels; k++) {
        pool_plane(layer, rows->bytes + k * plane, rows->rows,
                   rows->bytes + k * (size_t)pooled * layer->out_width);
    }
    rows->first_row /= 2u;
    rows->rows = pooled;
}

static bool write_plane(struct nn_job *job, const struct nn_rows *rows,
                        uint64_t address, const uint8_t *from)
{
    const struct nn_layer *layer = &job->layer;
    size_t width = layer->out_width;

    if (layer->out.row == width || rows->rows == 1u) {
        return nn_write(job, &layer->out, address, from, rows->rows * width);
    }
    for (uint32_t row = 0; row < rows->rows; row++) {
        if (!nn_write(job, &layer->out, address, from + row * width, width)) {
            return false;
        }
        address += layer->out.row;
    }
    return true;
}

bool nn_rows_write(struct nn_job *job, const struct nn_weights *weights,
                   struct nn_rows *rows)
{
    const struct nn_layer *layer = &job->layer;
    uint64_t plane = (uint64_t)layer->out.row * layer->out.plane_rows;
    uint64_t address;
    size_t bytes;

    if (layer->pooling == NN_POOL_MAX) {
        pool_rows(layer, rows);
    }
    bytes = (size_t)rows->rows * layer->out_width;
    job->cost.bytes_written += (uint64_t)bytes * rows->kernels;
    address = layer->out.address + (uint64_t)rows->first_row * layer->out.row;
    if (weights->planes == NULL && layer->out.row == layer->out_width &&
        plane == bytes) {
        return nn_write(job, &layer->out, address + rows->first_kernel * plane,
                        rows->bytes, bytes * rows->kernels);
    }
    for (uint32_t k = 0; k < rows->kernels; k++) {
        uint32_t kernel = rows->first_kernel + k;
        uint64_t offset =
            weights->planes != NULL ? weights->planes[kernel] : kernel * plane;

        if (!write_plane(job, rows, address + offset,
                         rows->bytes + k * bytes)) {
            return false;
        }
    }
    return true;
}
