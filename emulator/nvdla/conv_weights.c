/*
 * conv_weights.c - reads weights and packs them for the kernels.
 *
 * In memory, uncompressed: for each group of atomic_k kernels (the last may
 * be short), for each block of atomic_c channels (the last is short, not
 * padded), for each row, for each column, for each kernel of the group, the
 * channels of the block. With Y_EXTENSION e: for each group of kernels, for
 * each 1 << e rows, for each kernel, those rows one after the other.
 */
#include <string.h>

#include "arith.h"
#include "conv.h"
#include "scratch.h"

static size_t elements_of_group(const struct conv *conv)
{
    return conv->kernels->kind == KERNEL_WORDS ? 2u : 4u;
}

/* Columns of a row follow each other when nothing lies between them. */
static bool columns_join(const struct conv *conv)
{
    return conv->columns == 1u || conv->dilation_x == 1u;
}

/* Elements that follow each other in the buffer, up to a multiple of the
 * kernels' unit: what runs are made of. */
static size_t run_elements(const struct conv *conv)
{
    size_t column = conv->image ? ((size_t)conv->deep + 3u) & ~(size_t)3u
                                : conv->pixel_elements;
    size_t whole = columns_join(conv) ? column * conv->columns : column;
    size_t unit = elements_of_group(conv) * conv->kernels->unit;

    return (whole + unit - 1u) / unit * unit;
}

/* The reduction as runs of at most TILE_MAX_ELEMENTS elements. */
static bool make_runs(struct conv *conv)
{
    size_t elements = run_elements(conv);
    size_t pieces = (elements + TILE_MAX_ELEMENTS - 1u) / TILE_MAX_ELEMENTS;
    size_t per_row = columns_join(conv) ? 1u : conv->columns;
    size_t count = conv->rows * per_row * pieces;
    size_t group = elements_of_group(conv);

    conv->runs = nvdla_scratch_take(conv->job, count * sizeof *conv->runs);
    if (conv->runs == NULL) {
        return false;
    }
    if (conv->kernels->kind == KERNEL_BYTES) {
        conv->weight_sum = nvdla_scratch_take(
            conv->job, count * CONV_GROUP * sizeof *conv->weight_sum);
        if (conv->weight_sum == NULL) {
            return false;
        }
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
            }
        }
    }
    conv->stage_bytes = conv->rows * per_row * elements;
    conv->block_bytes = conv->stage_bytes / group * TILE_BLOCK * 4u;
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
    conv->stored = nvdla_scratch_take(job, bytes);
    if (conv->stored == NULL || !make_runs(conv) ||
        !nvdla_dma_read(job, &port, 0, conv->stored, (size_t)bytes)) {
        return false;
    }
    conv->stage =
        nvdla_scratch_take(job, (uint64_t)conv->stage_bytes * TILE_BLOCK);
    conv->packed =
        nvdla_scratch_take(job, (uint64_t)conv->block_bytes * TILE_MAX_BLOCKS);
    return conv->stage != NULL && conv->packed != NULL;
}

/* `channels` bytes of some kernels, which lie `step` apart. */
static inline void copy_rows(uint8_t *to, size_t to_step, const uint8_t *from,
                             size_t step, uint32_t channels, uint32_t kernels)
{
    for (uint32_t k = 0; k < kernels; k++, from += step, to += to_step) {
        memcpy(to, from, channels);
    }
}

/* Kernels of the group of atomic_k that `kernel` is in. */
static uint32_t members_of(const struct conv *conv, uint32_t kernel)
{
    uint32_t atomic_k = conv->job->config->atomic_k;
    uint32_t left = conv->kernel_count - kernel / atomic_k * atomic_k;

    return left < atomic_k ? left : atomic_k;
}

/* What stage_kernels() does with Y_EXTENSION, where columns are 1. */
static void stage_merged(const struct conv *conv, const uint8_t *group,
                         uint32_t members, uint32_t skip, uint32_t count,
                         uint8_t *stage)
{
    uint32_t merged = 1u << conv->merge;
    size_t row_step = run_elements(conv);

    for (uint32_t row = 0; row < conv->rows; row++) {
        uint32_t top = row / merged * merged;
        uint32_t here = conv->rows - top < merged ? conv->rows - top : merged;
        size_t step = (size_t)here * conv->deep;

        copy_rows(stage + row * row_step, conv->stage_bytes,
                  group + (size_t)top * conv->deep * members + skip * step +
                      (size_t)(row - top) * conv->deep,
                  step, conv->deep, count);
    }
}

/* Where the kernels of a group lie, and where some of them go. */
struct group {
    const uint8_t *from;
    uint8_t *to;
    size_t row_step, column_step; /* in the stage */
    uint32_t members;             /* of the group */
    uint32_t skip, count;         /* the first ones are not wanted */
};

/* `blocks` blocks of `wide` channels from `channel` on; alone for each width
 * that is common, so that copies are moves of a register. */
static inline void stage_channels(const struct conv *conv,
                                  const struct group *group, uint32_t channel,
                                  uint32_t blocks, uint32_t wide)
{
    size_t area = (size_t)conv->rows * conv->columns;
    const uint8_t *from = group->from + channel * area * group->members +
                          (size_t)group->skip * wide;

    for (; blocks > 0; blocks--, channel += wide) {
        for (uint32_t row = 0; row < conv->rows; row++) {
            uint8_t *to = group->to + row * group->row_step + channel;

            for (uint32_t column = 0; column < conv->columns; column++) {
                copy_rows(to, conv->stage_bytes, from, wide, wide,
                          group->count);
                to += group->column_step;
                from += (size_t)group->members * wide;
            }
        }
    }
}

/* `count` kernels from `kernel` on, which share a group of atomic_k, into
 * their rows of the stage, in the order of the runs. */
static void stage_kernels(const struct conv *conv, uint32_t kernel,
                          uint32_t count, uint8_t *stage)
{
    const struct nvdla_config *config = conv->job->config;
    size_t area = (size_t)conv->rows * conv->columns;
    size_t whole = run_elements(conv);
    bool join = columns_join(conv);
    uint32_t skip = kernel % config->atomic_k;
    uint32_t blocks = conv->deep / config->atomic_c;
    uint32_t rest = conv->deep % config->atomic_c;
    struct group group = {
        .from = conv->stored + (size_t)(kernel - skip) * area * conv->deep,
        .to = stage,
        .row_step = join ? whole : whole * conv->columns,
        .column_step = join ? conv->pixel_elements : whole,
        .members = members_of(conv, kernel),
        .skip = skip,
        .count = count,
    };

    if (conv->merge != 0) {
        stage_merged(conv, group.from, group.members, skip, count, stage);
        return;
    }
    if (config->atomic_c == 8u) {
        stage_channels(conv, &group, 0, blocks, 8u);
    } else if (config->atomic_c == 32u) {
        stage_channels(conv, &group, 0, blocks, 32u);
    } else if (config->atomic_c == 64u) {
        stage_channels(conv, &group, 0, blocks, 64u);
    } else {
        stage_channels(conv, &group, 0, blocks, config->atomic_c);
    }
    if (rest != 0) {
        stage_channels(conv, &group, conv->deep - rest, 1, rest);
    }
}

static void stage_block(const struct conv *conv, uint32_t first)
{
    uint32_t atomic_k = conv->job->config->atomic_k;
    uint32_t left =
        first < conv->kernel_count ? conv->kernel_count - first : 0u;
    uint32_t here = left < TILE_BLOCK ? left : TILE_BLOCK;
    size_t exact = (size_t)conv->rows * conv->columns * conv->deep;

    if (here < TILE_BLOCK || conv->stage_bytes != exact) {
        memset(conv->stage, 0, conv->stage_bytes * TILE_BLOCK);
    }
    for (uint32_t done = 0; done < here;) {
        uint32_t kernel = first + done;
        uint32_t in_group = atomic_k - kernel % atomic_k;
        uint32_t count = here - done < in_group ? here - done : in_group;

        stage_kernels(conv, kernel, count,
                      conv->stage + done * conv->stage_bytes);
        done += count;
    }
}

FWGEN_CLONES
static int32_t sum_bytes(const uint8_t *bytes, size_t count)
{
    int32_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (int8_t)bytes[i];
    }
    return sum;
}

/* Sums of the staged weights, for each run. */
static void sum_block(struct conv *conv, unsigned block)
{
    for (size_t k = 0; k < TILE_BLOCK; k++) {
        const uint8_t *at = conv->stage + k * conv->stage_bytes;

        for (size_t r = 0; r < conv->run_count; r++) {
            size_t bytes = conv->runs[r].groups * 4u;

            conv->weight_sum[r * CONV_GROUP + block * TILE_BLOCK + k] =
                sum_bytes(at, bytes);
            at += bytes;
        }
    }
}

/* The stage as groups of two int16. */
static void pack_words(const struct conv *conv, uint8_t *to)
{
    for (size_t at = 0; at < conv->stage_bytes; at += 2u) {
        const uint8_t *from = conv->stage + at;

        for (size_t k = 0; k < TILE_BLOCK; k++, from += conv->stage_bytes) {
            int16_t pair[2] = {(int8_t)from[0], (int8_t)from[1]};

            memcpy(to, pair, sizeof pair);
            to += sizeof pair;
        }
    }
}

void conv_weights_pack(struct conv *conv, uint32_t first, unsigned blocks)
{
    for (unsigned block = 0; block < blocks; block++) {
        uint8_t *to = conv->packed + block * conv->block_bytes;

        stage_block(conv, first + block * TILE_BLOCK);
        if (conv->kernels->kind == KERNEL_WORDS) {
            pack_words(conv, to);
            continue;
        }
        conv->kernels->transpose(conv->stage, conv->stage_bytes,
                                 conv->stage_bytes / 4u, to);
        if (conv->kernels->kind == KERNEL_BYTES) {
            sum_block(conv, block);
        }
    }
}
