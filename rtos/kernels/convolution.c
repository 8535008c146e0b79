/*
 * convolution.c - CONVOLUTION on the CPU (arguments.h).
 *
 * For a few neighbouring output pixels the inputs of their windows are copied
 * into contiguous "patches", padded and converted on the way, in the order of
 * the weights. Each kernel is then one dot product a pixel, and a weight that
 * was loaded serves all pixels of the tile. The copy costs one pass over the
 * window and serves all kernels.
 *
 * Sums are 32 bits: the lowering admits at most 131071 taps, of which none can
 * leave them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "arguments.h"
#include "arith.h"
#include "dot.h"
#include "fwgen_model.h"
#include "fwgen_result.h"
#include "post.h"

#define TABLE_SIZE 256u

/* memcpy, by words where that is possible: small C libraries copy bytes. */
static void copy(uint8_t *to, const uint8_t *from, uint32_t count)
{
    if ((((uintptr_t)to | (uintptr_t)from | count) & 3u) == 0u) {
        fwgen_word *words = (fwgen_word *)(void *)to;
        const fwgen_word *source = (const fwgen_word *)(const void *)from;

        for (const fwgen_word *const end = source + count / 4u; source != end;
             source++) {
            *words++ = *source;
        }
    } else {
        for (const uint8_t *const end = from + count; from != end; from++) {
            *to++ = *from;
        }
    }
}

/* Reorders and converts pixels that lie in a patch. */
static void convert(const struct fwgen_convolution *conv, uint8_t *pixels,
                    uint32_t count)
{
    const uint8_t *table = fwgen_bytes(conv->table);
    const uint8_t *const end = pixels + count * conv->channels;

    if (conv->order != 0u) {
        for (uint8_t *pixel = pixels; pixel != end; pixel += 4) {
            uint8_t old[4];

            (void)memcpy(old, pixel, sizeof(old));
            for (uint32_t c = 0; c < sizeof(old); c++) {
                pixel[c] = old[(conv->order >> (8u * c)) & 3u];
            }
        }
    }
    if (conv->table_count == 1u) {
        for (uint8_t *value = pixels; value != end; value++) {
            *value = table[*value];
        }
    } else if (conv->table_count > 1u) {
        for (uint8_t *pixel = pixels; pixel != end; pixel += conv->channels) {
            for (uint32_t c = 0; c < conv->channels; c++) {
                pixel[c] = table[TABLE_SIZE * c + pixel[c]];
            }
        }
    }
}

/* Copies the channels of `count` neighbouring input pixels. */
static void copy_pixels(const struct fwgen_convolution *conv, uint32_t y,
                        uint32_t x, uint32_t count, uint8_t *to)
{
    const uint32_t block = conv->block;

    if (conv->channels == block) {
        copy(to, fwgen_cube_at(&conv->source, 0, y, x, block), count * block);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t c = 0; c < conv->channels; c += block) {
                const uint32_t left = conv->channels - c;

                copy(&to[i * conv->channels + c],
                     fwgen_cube_at(&conv->source, c / block, y, x + i, block),
                     left < block ? left : block);
            }
        }
    }
    convert(conv, to, count);
}

/*
 * The inputs of `count` neighbouring columns of a window from input column
 * `start` on, of which those outside 0 .. width - 1 are padding.
 */
static void gather_run(const struct fwgen_convolution *conv, uint32_t row,
                       int32_t start, uint32_t count, uint8_t *patch)
{
    const uint8_t pad = (uint8_t)conv->pad_value;
    const int32_t width = (int32_t)conv->width;
    const int32_t end = start + (int32_t)count;
    const int32_t first = start > 0 ? start : 0;
    const int32_t last = end < width ? end : width;

    if (row >= conv->height || first >= last) {
        (void)memset(patch, pad, count * conv->channels);
        return;
    }
    (void)memset(patch, pad, (uint32_t)(first - start) * conv->channels);
    copy_pixels(conv, row, (uint32_t)first, (uint32_t)(last - first),
                &patch[(uint32_t)(first - start) * conv->channels]);
    (void)memset(&patch[(uint32_t)(last - start) * conv->channels], pad,
                 (uint32_t)(end - last) * conv->channels);
}

/* The window of output pixel (y, x), in the order of the weights. */
static void gather(const struct fwgen_convolution *conv, uint32_t y, uint32_t x,
                   uint8_t *patch)
{
    const uint32_t run = conv->dilation_x == 1u ? conv->columns : 1u;

    for (uint32_t r = 0; r < conv->rows; r++) {
        /* above the first one it wraps to a large number */
        const uint32_t row =
            y * conv->stride_y + r * conv->dilation_y - conv->pad_top;

        for (uint32_t s = 0; s < conv->columns; s += run) {
            const uint32_t column =
                x * conv->stride_x + s * conv->dilation_x - conv->pad_left;

            gather_run(conv, row, (int32_t)column, run, patch);
            patch += run * conv->channels;
        }
    }
}

static const uint8_t *weights_of(const struct fwgen_convolution *conv,
                                 uint32_t kernel)
{
    return fwgen_bytes(conv->weights) + kernel * conv->taps;
}

/*
 * The sums of kernels first .. first + kernels - 1 over `count` patches:
 * values[i * block + k]. Whichever is more, patches or kernels, is what shares
 * the loads of the other.
 */
static void sums_of(const struct fwgen_convolution *conv, uint32_t first,
                    uint32_t kernels, const uint8_t *patches, uint32_t count,
                    int32_t *values)
{
    const uint32_t block = conv->post.block;
    int32_t sums[FWGEN_DOT_TILE];

    for (uint32_t i = 0; count < FWGEN_DOT_TILE && i < count; i++) {
        for (uint32_t k = 0; k < kernels; k += FWGEN_DOT_TILE) {
            const uint32_t left = kernels - k;

            fwgen_dot(&patches[i * conv->taps], weights_of(conv, first + k),
                      conv->taps, left < FWGEN_DOT_TILE ? left : FWGEN_DOT_TILE,
                      &values[i * block + k]);
        }
    }
    for (uint32_t k = 0; count == FWGEN_DOT_TILE && k < kernels; k++) {
        fwgen_dot(weights_of(conv, first + k), patches, conv->taps, count,
                  sums);
        for (uint32_t i = 0; i < count; i++) {
            values[i * block + k] = sums[i];
        }
    }
}

/* One block of kernels over the patches of `count` pixels from (y, x) on. */
static void block_of_kernels(const struct fwgen_convolution *conv,
                             uint32_t surface, uint32_t y, uint32_t x,
                             uint32_t count)
{
    const uint32_t block = conv->post.block;
    const uint32_t first = surface * block;
    const uint32_t left = conv->kernels - first;
    const uint32_t kernels = left < block ? left : block;
    int32_t *values = (int32_t *)(void *)fwgen_bytes(conv->scratch);
    const uint8_t *patches =
        fwgen_bytes(conv->scratch) + conv->tile * block * sizeof(int32_t);

    sums_of(conv, first, kernels, patches, count, values);
    for (uint32_t i = 0; i < count; i++) {
        int32_t *pixel = &values[i * block];

        for (uint32_t k = 0; conv->truncate != 0u && k < kernels; k++) {
            pixel[k] = (int32_t)fwgen_round_shift(pixel[k], conv->truncate);
        }
        for (uint32_t k = kernels; k < block; k++) {
            pixel[k] = 0;
        }
        fwgen_post_pixel(&conv->post, surface, y, x + i, pixel);
    }
}

static bool is_valid(const struct fwgen_convolution *conv, uint32_t count)
{
    return count >= FWGEN_WORDS(struct fwgen_convolution) &&
           fwgen_post_is_valid(
               &conv->post,
               count - (uint32_t)(offsetof(struct fwgen_convolution, post) /
                                  sizeof(uint32_t))) &&
           conv->block != 0u && conv->tile != 0u &&
           conv->tile <= FWGEN_DOT_TILE && conv->taps % 4u == 0u &&
           (conv->order == 0u || conv->channels == 4u);
}

int fwgen_kernel_convolution(const uint32_t *arguments, uint32_t count)
{
    const struct fwgen_convolution *conv =
        (const struct fwgen_convolution *)(const void *)arguments;
    uint8_t *patches;

    if (!is_valid(conv, count)) {
        return FWGEN_ERROR_PROGRAM;
    }
    patches = fwgen_bytes(conv->scratch) +
              conv->tile * conv->post.block * sizeof(int32_t);
    for (uint32_t y = conv->first_row; y < conv->end_row; y++) {
        for (uint32_t x = 0; x < conv->output_width; x += conv->tile) {
            const uint32_t left = conv->output_width - x;
            const uint32_t pixels = left < conv->tile ? left : conv->tile;

            for (uint32_t i = 0; i < pixels; i++) {
                gather(conv, y, x + i, &patches[i * conv->taps]);
            }
            for (uint32_t surface = 0;
                 surface * conv->post.block < conv->kernels; surface++) {
                block_of_kernels(conv, surface, y, x, pixels);
            }
        }
    }
    return FWGEN_OK;
}
