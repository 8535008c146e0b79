/*
 * nn_pack.c - weights in the order and form that the host's kernels want.
 *
 * The image is kept pixel by pixel, all channels of each; a row of a kernel is
 * then one run of columns * channels elements, whatever their numbers.
 */
#include "nn_weights.h"

#include <stdlib.h>
#include <string.h>

#include "clones.h"
#include "coef.h"

/* Elements of one segment: 65536 products of a 9-bit weight and an 8-bit
 * pixel, 255 * 128 each, stay below 2^31. */
#define SEGMENT_ELEMENTS TILE_MAX_ELEMENTS

static void *zeroed(size_t count, size_t size)
{
    return calloc(count != 0 ? count : 1u, size);
}

void nn_pack_free(struct nn_weights *weights)
{
    free(weights->base);
    free(weights->planes);
    free(weights->runs);
    free(weights->segments);
    free(weights->start);
    free(weights->packed);
    free(weights->taps);
}

size_t nn_pack_bytes(const struct nn_job *job, const struct nn_weights *weights)
{
    size_t padded = nn_padded_kernels(&job->layer);

    return padded * (sizeof *weights->base + sizeof *weights->planes) +
           weights->run_count * sizeof *weights->runs +
           weights->segment_count *
               (sizeof *weights->segments + padded * sizeof *weights->start) +
           padded / TILE_BLOCK * weights->block_bytes +
           (weights->taps != NULL
                ? job->layer.kernels * (size_t)nn_kernel_size(&job->layer) *
                      sizeof *weights->taps
                : 0u);
}

/* Rows as runs, and runs as segments. */
static bool plan_runs(const struct nn_layer *layer, struct nn_weights *weights)
{
    uint32_t row = layer->kernel_width * layer->channels;
    uint32_t group = weights->host->kind == KERNEL_WORDS ? 2u : 4u;
    uint32_t unit = group * weights->host->unit;
    uint32_t pieces = (row + SEGMENT_ELEMENTS - 1u) / SEGMENT_ELEMENTS;
    size_t total = 0; /* elements of the segment */
    size_t groups = 0;
    struct nn_segment *segment;

    weights->run_count = (size_t)pieces * layer->kernel_height;
    weights->runs = zeroed(weights->run_count, sizeof *weights->runs);
    weights->segments = zeroed(weights->run_count, sizeof *weights->segments);
    if (weights->runs == NULL || weights->segments == NULL) {
        return false;
    }
    segment = weights->segments;
    for (size_t r = 0; r < weights->run_count; r++) {
        struct nn_run *run = &weights->runs[r];
        uint32_t left;
        uint32_t size;

        run->row = (uint32_t)(r / pieces);
        run->element = (uint32_t)(r % pieces) * SEGMENT_ELEMENTS;
        left = row - run->element;
        size = left < SEGMENT_ELEMENTS ? left : SEGMENT_ELEMENTS;
        run->groups = (size + unit - 1u) / unit * weights->host->unit;
        if (total + size > SEGMENT_ELEMENTS) {
            segment->end = r;
            segment++;
            segment->first = r;
            segment->groups = groups;
            total = 0;
        }
        total += size;
        groups += run->groups;
    }
    segment->end = weights->run_count;
    weights->segment_count = (size_t)(segment - weights->segments) + 1u;
    weights->block_bytes = groups * TILE_BLOCK * 4u;
    return true;
}

static void choose_excess(const struct nn_layer *layer, const uint8_t *bytes,
                          struct nn_weights *weights)
{
    uint64_t count = nn_kernel_size(layer) * layer->kernels;
    uint8_t low = 255;
    uint8_t high = 0;

    if (weights->host->kind == KERNEL_WORDS) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        low = bytes[i] < low ? bytes[i] : low;
        high = bytes[i] > high ? bytes[i] : high;
    }
    if (low < layer->weight_zero - 128 || high > layer->weight_zero + 127) {
        weights->excess = 128 - layer->weight_zero;
    }
}

static void store_element(uint8_t *stage, enum kernel_kind kind, size_t index,
                          int32_t value)
{
    if (kind == KERNEL_WORDS) {
        int16_t word = (int16_t)value;

        memcpy(stage + index * 2u, &word, sizeof word);
    } else {
        stage[index] = (uint8_t)value;
    }
}

/* One kernel as its runs lie in the image, zeros behind each. */
static void stage_kernel(const struct nn_layer *layer,
                         const struct nn_weights *weights,
                         const uint8_t *kernel, uint8_t *stage)
{
    enum kernel_kind kind = weights->host->kind;
    size_t area = (size_t)layer->kernel_width * layer->kernel_height;
    /* What a weight loses; with an excess it is 128. */
    int32_t zero = layer->weight_zero + weights->excess;

    for (size_t r = 0; r < weights->run_count; r++) {
        const struct nn_run *run = &weights->runs[r];
        size_t elements =
            (size_t)run->groups * (kind == KERNEL_WORDS ? 2u : 4u);
        size_t row = (size_t)layer->kernel_width * layer->channels;
        uint32_t column = run->element / layer->channels;
        uint32_t channel = run->element % layer->channels;
        const uint8_t *from = kernel + (size_t)run->row * layer->kernel_width;

        for (size_t i = 0; i < elements && run->element + i < row; i++) {
            store_element(stage, kind, i, from[channel * area + column] - zero);
            if (++channel == layer->channels) {
                channel = 0;
                column++;
            }
        }
        stage += (size_t)run->groups * 4u;
    }
}

/* A block's stage to groups of all kernels, as conv_kernels.h wants them. */
static void pack_block(const struct nn_weights *weights, const uint8_t *stage,
                       uint8_t *to)
{
    size_t step = weights->block_bytes / TILE_BLOCK;

    if (weights->host->kind != KERNEL_WORDS) {
        weights->host->transpose(stage, step, step / 4u, to);
        return;
    }
    for (size_t at = 0; at < step; at += 4u) {
        for (size_t k = 0; k < TILE_BLOCK; k++, to += 4u) {
            memcpy(to, stage + k * step + at, 4);
        }
    }
}

/* Bytes that are pixels + 128 make each sum 128 * the weights too large. */
static void start_block(const struct nn_layer *layer,
                        struct nn_weights *weights, const uint8_t *stage,
                        uint32_t first)
{
    size_t padded = nn_padded_kernels(layer);
    size_t step = weights->block_bytes / TILE_BLOCK;

    if (weights->host->kind != KERNEL_BYTES) {
        return;
    }
    for (size_t s = 0; s < weights->segment_count; s++) {
        const struct nn_segment *segment = &weights->segments[s];
        size_t end = s + 1u < weights->segment_count
                         ? weights->segments[s + 1u].groups
                         : step / 4u;

        for (size_t k = 0; k < TILE_BLOCK; k++) {
            int32_t sum = 0;

            for (size_t i = segment->groups * 4u; i < end * 4u; i++) {
                sum += (int8_t)stage[k * step + i];
            }
            weights->start[s * padded + first + k] = -128 * sum;
        }
    }
}

static bool pack_dense(const struct nn_job *job, const uint8_t *bytes,
                       struct nn_weights *weights)
{
    const struct nn_layer *layer = &job->layer;
    size_t padded = nn_padded_kernels(layer);
    size_t size = (size_t)nn_kernel_size(layer);
    uint8_t *stage;

    if (!plan_runs(layer, weights)) {
        return false;
    }
    choose_excess(layer, bytes, weights);
    stage = zeroed(TILE_BLOCK, weights->block_bytes / TILE_BLOCK);
    weights->start =
        zeroed(weights->segment_count * padded, sizeof *weights->start);
    weights->packed = zeroed(padded / TILE_BLOCK, weights->block_bytes);
    if (stage == NULL || weights->start == NULL || weights->packed == NULL) {
        free(stage);
        return false;
    }
    for (uint32_t first = 0; first < layer->kernels; first += TILE_BLOCK) {
        size_t step = weights->block_bytes / TILE_BLOCK;

        for (uint32_t k = 0; k < TILE_BLOCK; k++) {
            if (first + k < layer->kernels) {
                stage_kernel(layer, weights, bytes + (first + k) * size,
                             stage + k * step);
            } else {
                memset(stage + k * step, 0, step);
            }
        }
        pack_block(weights, stage,
                   weights->packed + first / TILE_BLOCK * weights->block_bytes);
        start_block(layer, weights, stage, first);
    }
    free(stage);
    return true;
}

static bool pack_depthwise(const struct nn_job *job, const uint8_t *bytes,
                           struct nn_weights *weights)
{
    size_t count = (size_t)nn_kernel_size(&job->layer) * job->layer.kernels;

    weights->taps = zeroed(count, sizeof *weights->taps);
    if (weights->taps == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        weights->taps[i] = (float)(bytes[i] - job->layer.weight_zero);
    }
    return true;
}

struct kernel_sums {
    int64_t plain, absolute; /* of its weights */
};

FWGEN_CLONES
static struct kernel_sums sum_kernel(const uint8_t *bytes, size_t count,
                                     int32_t zero)
{
    struct kernel_sums sums = {0, 0};

    for (size_t i = 0; i < count; i++) {
        int32_t weight = bytes[i] - zero;

        sums.plain += weight;
        sums.absolute += weight < 0 ? -weight : weight;
    }
    return sums;
}

static void fill_base(const struct nn_job *job,
                      const struct coef_kernels *kernels,
                      struct nn_weights *weights)
{
    const struct nn_layer *layer = &job->layer;
    size_t size = (size_t)nn_kernel_size(layer);

    for (uint32_t k = 0; k < layer->kernels; k++) {
        struct kernel_sums sums =
            sum_kernel(kernels->weights + k * size, size, layer->weight_zero);
        int64_t base = kernels->start[k];
        int64_t most;

        if (job->facts->generation == VIP_V7) {
            base += 128 * sums.plain;
        }
        most = (base < 0 ? -base : base) + 128 * sums.absolute;
        weights->base[k] = base;
        if (most > weights->largest_sum) {
            weights->largest_sum = most;
        }
    }
}

bool nn_pack(const struct nn_job *job, const struct coef_kernels *kernels,
             struct nn_weights *weights)
{
    weights->host = conv_kernels_select();
    weights->base =
        zeroed(nn_padded_kernels(&job->layer), sizeof *weights->base);
    if (weights->base == NULL) {
        return false;
    }
    fill_base(job, kernels, weights);
    return job->layer.depthwise ? pack_depthwise(job, kernels->weights, weights)
                                : pack_dense(job, kernels->weights, weights);
}
