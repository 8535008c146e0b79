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

/* Copies the channels of one input pixel. */
static void copy_pixel(const struct fwgen_convolution *conv, uint32_t y,
                       uint32_t x, uint8_t *to)
{
    const struct fwgen_cube *source = &conv->source;

    for (uint32_t c = 0; c < conv->channels; c += conv->block) {
        const uint32_t left = conv->channels - c;
        const uint8_t *from =
            fwgen_cube_at(source, c / conv->block, y, x, conv->block);

        (void)memcpy(&to[c], from, left < conv->block ? left : conv->block);
    }
}

/* The same, reordered, through one table or one a channel. */
static void convert_pixel(const struct fwgen_convolution *conv, uint32_t y,
                          uint32_t x, uint8_t *to)
{
    const uint8_t *table = fwgen_bytes(conv->table);
    const uint32_t step = conv->table_count > 1u ? TABLE_SIZE : 0u;

    copy_pixel(conv, y, x, to);
    if (conv->order != 0u) {
        uint8_t pixel[4];

        (void)memcpy(pixel, to, sizeof(pixel));
        for (uint32_t c = 0; c < sizeof(pixel); c++) {
            to[c] = pixel[(conv->order >> (8u * c)) & 3u];
        }
    }
    if (conv->table != 0u) {
        for (uint32_t c = 0; c < conv->channels; c++) {
            to[c] = table[step * c + to[c]];
        }
    }
}

/* The window of output pixel (y, x), in the order of the weights. */
static void gather(const struct fwgen_convolution *conv, uint32_t y, uint32_t x,
                   uint8_t *patch)
{
    const bool plain = conv->table == 0u && conv->order == 0u;

    for (uint32_t r = 0; r < conv->rows; r++) {
        const uint32_t row =
            y * conv->stride_y + r * conv->dilation_y - conv->pad_top;

        for (uint32_t s = 0; s < conv->columns; s++) {
            const uint32_t column =
                x * conv->stride_x + s * conv->dilation_x - conv->pad_left;

            /* before the first one wraps to a large number */
            if (row >= conv->height || column >= conv->width) {
                (void)memset(patch, (uint8_t)conv->pad_value, conv->channels);
            } else if (plain) {
                copy_pixel(conv, row, column, patch);
            } else {
                convert_pixel(conv, row, column, patch);
            }
            patch += conv->channels;
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

        for (uint32_t k = 0; k < block; k++) {
            pixel[k] = k < kernels ? fwgen_saturate32(fwgen_round_shift(
                                         pixel[k], conv->truncate))
                                   : 0;
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
