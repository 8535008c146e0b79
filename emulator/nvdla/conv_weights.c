/*
 * conv_weights.c - reads weights and packs them for the kernels.
 *
 * In memory, uncompressed: for each group of atomic_k kernels (the last may
 * be short), for each block of atomic_c channels (the last is short, not
 * padded), for each row, for each column, for each kernel of the group, the
 * channels of the block. With Y_EXTENSION e: for each group of kernels, for
 * each 1 << e rows, for each kernel, those rows one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "conv.h"

static size_t elements_of_group(const struct conv *conv)
{
    return conv->kernels->kind == KERNEL_BYTES ? 4u : 2u;
}

/* Columns of a row follow each other when nothing lies between them. */
static bool columns_join(const struct conv *conv)
{
    return conv->columns == 1u || conv->dilation_x == 1u;
}

static size_t run_elements(const struct conv *conv)
{
    size_t column = conv->image ? ((size_t)conv->deep + 3u) & ~(size_t)3u
                                : conv->pixel_elements;

    return columns_join(conv) ? column * conv->columns : column;
}

/* The reduction as runs of at most TILE_MAX_ELEMENTS elements. */
static bool make_runs(struct conv *conv)
{
    size_t elements = run_elements(conv);
    size_t pieces = (elements + TILE_MAX_ELEMENTS - 1u) / TILE_MAX_ELEMENTS;
    size_t per_row = columns_join(conv) ? 1u : conv->columns;
    size_t count = conv->rows * per_row * pieces;
    size_t group = elements_of_group(conv);
    size_t total = 0;

    conv->runs = nvdla_job_allocate(conv->job, count * sizeof *conv->runs);
    conv->corrections = nvdla_job_allocate(
        conv->job, count * CONV_GROUP * sizeof *conv->corrections);
    if (conv->runs == NULL || conv->corrections == NULL) {
        return false;
    }
    for (size_t row = 0; row < conv->rows; row++) {
        for (size_t column = 0; column < per_row; column++) {
            size_t offset = row * conv->dilation_y * conv->row_bytes +
                            column * conv->dilation_x * conv->pixel_elements *
                                conv->element_bytes;

            for (size_t piece = 0; piece < pieces; piece++) {
                size_t first = piece * TILE_MAX_ELEMENTS;
                size_t left = elements - first;
                size_t size =
                    left < TILE_MAX_ELEMENTS ? left : TILE_MAX_ELEMENTS;

                conv->runs[conv->run_count++] = (struct conv_run){
                    offset + first * conv->element_bytes, size / group};
                total += size / group;
            }
        }
    }
    conv->block_bytes = total * TILE_BLOCK * 4u;
    return true;
}

bool conv_weights_open(struct conv *conv)
{
    struct nvdla_job *job = conv->job;
    uint64_t bytes =
        (uint64_t)conv->rows * conv->columns * conv->deep * conv->kernel_count;
    struct nvdla_port port = {
        .name = "CDMA.D_WEIGHT_ADDR_LOW",
        .base = job_address(job, CDMA_D_WEIGHT_ADDR_HIGH__WEIGHT_ADDR_HIGH,
                            CDMA_D_WEIGHT_ADDR_LOW__WEIGHT_ADDR_LOW),
    };

    if (job_field(job, CDMA_D_WEIGHT_BYTES__WEIGHT_BYTES) < bytes) {
        nvdla_job_reject(job, CDMA_D_WEIGHT_BYTES__WEIGHT_BYTES,
                         "less than the kernels take");
        return false;
    }
    if (!nvdla_port_select(job, &port,
                           CDMA_D_WEIGHT_RAM_TYPE__WEIGHT_RAM_TYPE)) {
        return false;
    }
    conv->stored = nvdla_job_allocate(job, bytes);
    if (conv->stored == NULL || !make_runs(conv) ||
        !nvdla_dma_read(job, &port, 0, conv->stored, (size_t)bytes)) {
        return false;
    }
    conv->packed =
        nvdla_job_allocate(job, (uint64_t)conv->block_bytes * TILE_MAX_BLOCKS);
    return conv->packed != NULL;
}

/* Where the first of `*count` consecutive channels of a kernel is stored. */
static const uint8_t *stored_at(const struct conv *conv, uint32_t kernel,
                                uint32_t row, uint32_t column, uint32_t channel,
                                uint32_t *count)
{
    const struct nvdla_config *config = conv->job->config;
    uint32_t group = kernel / config->atomic_k;
    uint32_t first = group * config->atomic_k;
    uint32_t left = conv->kernel_count - first;
    size_t members = left < config->atomic_k ? left : config->atomic_k;
    size_t area = (size_t)conv->rows * conv->columns;
    size_t at = first * area * conv->deep;

    if (conv->merge != 0) {
        size_t merged = (size_t)1 << conv->merge;
        size_t top = row / merged * merged;
        size_t here = conv->rows - top < merged ? conv->rows - top : merged;

        at += top * conv->deep * members +
              (kernel - first) * here * conv->deep + (row - top) * conv->deep +
              channel;
        *count = conv->deep - channel;
        return conv->stored + at;
    }

    uint32_t block = channel / config->atomic_c * config->atomic_c;
    uint32_t rest = conv->deep - block;
    uint32_t wide = rest < config->atomic_c ? rest : config->atomic_c;

    at += block * area * members +
          ((size_t)row * conv->columns + column) * members * wide +
          (kernel - first) * (size_t)wide + (channel - block);
    *count = wide - (channel - block);
    return conv->stored + at;
}

/* Element number of (row, column, channel) in the order of the runs. */
static size_t element_of(const struct conv *conv, uint32_t row, uint32_t column)
{
    size_t whole = run_elements(conv);

    if (!columns_join(conv)) {
        return ((size_t)row * conv->columns + column) * whole;
    }
    return row * whole + (size_t)column * conv->pixel_elements;
}

/* `count` weights of one kernel from `element` on. */
static void pack_bytes(uint8_t *lane, size_t element, size_t per_group,
                       size_t group_step, const uint8_t *from, uint32_t count)
{
    uint32_t i = 0;

    while (i < count) {
        uint8_t *to = lane + element / per_group * group_step;

        if (per_group == 2u) {
            int16_t wide = (int8_t)from[i];

            memcpy(to + element % 2u * 2u, &wide, sizeof wide);
        } else if (element % 4u == 0 && count - i >= 4u) {
            memcpy(to, from + i, 4);
            element += 3u;
            i += 3u;
        } else {
            to[element % 4u] = from[i];
        }
        element++;
        i++;
    }
}

static void pack_kernel(struct conv *conv, uint32_t kernel, uint32_t row,
                        uint32_t column, uint8_t *lane, size_t group_step)
{
    size_t per_group = elements_of_group(conv);
    size_t element = element_of(conv, row, column);
    uint32_t channel = 0;

    while (channel < conv->deep) {
        uint32_t count;
        const uint8_t *from =
            stored_at(conv, kernel, row, column, channel, &count);

        pack_bytes(lane, element, per_group, group_step, from, count);
        element += count;
        channel += count;
    }
}

/* 128 * sum of the weights, for each run and kernel of the group. */
static void correct(struct conv *conv, unsigned blocks,
                    unsigned blocks_per_tile)
{
    for (unsigned block = 0; block < blocks; block++) {
        const uint8_t *at =
            conv->packed +
            block / blocks_per_tile * blocks_per_tile * conv->block_bytes +
            (size_t)(block % blocks_per_tile) * TILE_BLOCK * 4u;

        for (size_t r = 0; r < conv->run_count; r++) {
            int32_t *sums =
                conv->corrections + r * CONV_GROUP + block * TILE_BLOCK;

            memset(sums, 0, TILE_BLOCK * sizeof *sums);
            if (conv->kernels->kind != KERNEL_BYTES) {
                continue;
            }
            for (size_t g = 0; g < conv->runs[r].groups; g++) {
                for (unsigned i = 0; i < TILE_BLOCK * 4u; i++) {
                    sums[i / 4u] += 128 * (int8_t)at[i];
                }
                at += (size_t)blocks_per_tile * TILE_BLOCK * 4u;
            }
        }
    }
}

void conv_weights_pack(struct conv *conv, uint32_t first, unsigned blocks,
                       unsigned blocks_per_tile)
{
    size_t group_step = (size_t)blocks_per_tile * TILE_BLOCK * 4u;

    memset(conv->packed, 0, conv->block_bytes * blocks);
    for (uint32_t i = 0; i < blocks * TILE_BLOCK; i++) {
        uint32_t kernel = first + i;
        unsigned block = i / TILE_BLOCK;
        uint8_t *lane =
            conv->packed +
            block / blocks_per_tile * blocks_per_tile * conv->block_bytes +
            (size_t)(block % blocks_per_tile) * TILE_BLOCK * 4u +
            (size_t)(i % TILE_BLOCK) * 4u;

        if (kernel >= conv->kernel_count) {
            break;
        }
        for (uint32_t row = 0; row < conv->rows; row++) {
            for (uint32_t column = 0; column < conv->columns; column++) {
                pack_kernel(conv, kernel, row, column, lane, group_step);
            }
        }
    }
    correct(conv, blocks, blocks_per_tile);
}
