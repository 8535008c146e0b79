/*
 * pooling.c - POOLING on the CPU: average, maximum or minimum over windows
 * (arguments.h).
 */
#include <stdbool.h>

#include "arguments.h"
#include "arith.h"
#include "fwgen_model.h"
#include "fwgen_result.h"

/* Fraction bits of the reciprocals. */
#define RECIPROCAL_BITS 16u

/* The part of a window that lies in the input. */
struct window {
    uint32_t first_row;
    uint32_t end_row;
    uint32_t first_column;
    uint32_t end_column;
};

/* First and end of `kernel` places from `start` on, within 0 .. size - 1. */
static void clip(uint32_t start, uint32_t pad, uint32_t kernel, uint32_t size,
                 uint32_t *first, uint32_t *end)
{
    *first = start < pad ? 0u : start - pad;
    *end = start + kernel < pad ? 0u : start + kernel - pad;
    if (*end > size) {
        *end = size;
    }
}

static int32_t combined(uint32_t method, int32_t a, int32_t b)
{
    if (method == FWGEN_POOL_AVERAGE) {
        return a + b;
    }
    return (method == FWGEN_POOL_MAX) == (a > b) ? a : b;
}

static int32_t average(const struct fwgen_pooling *pool,
                       const struct window *window, int32_t sum)
{
    const uint32_t rows = window->end_row - window->first_row;
    const uint32_t columns = window->end_column - window->first_column;
    const int32_t padded =
        (int32_t)rows * pool->padding[(pool->kernel_width - columns) & 7u] +
        (int32_t)pool->kernel_width *
            pool->padding[(pool->kernel_height - rows) & 7u];
    const int64_t total = (int16_t)(uint16_t)(uint32_t)(sum + padded);
    const int64_t by_width =
        fwgen_round_shift(total * pool->reciprocal_width, RECIPROCAL_BITS);

    return (int32_t)fwgen_round_shift(by_width * pool->reciprocal_height,
                                      RECIPROCAL_BITS);
}

static void pool_pixel(const struct fwgen_pooling *pool, uint32_t surface,
                       uint32_t y, uint32_t x)
{
    uint8_t *to = fwgen_cube_at(&pool->destination, surface, y, x, pool->block);
    struct window window;
    int32_t values[FWGEN_MAX_BLOCK];
    bool first = true;

    clip(y * pool->stride_y, pool->pad_top, pool->kernel_height, pool->height,
         &window.first_row, &window.end_row);
    clip(x * pool->stride_x, pool->pad_left, pool->kernel_width, pool->width,
         &window.first_column, &window.end_column);
    for (uint32_t i = 0; i < pool->block; i++) {
        values[i] = 0;
    }
    for (uint32_t row = window.first_row; row < window.end_row; row++) {
        for (uint32_t column = window.first_column; column < window.end_column;
             column++) {
            const uint8_t *from =
                fwgen_cube_at(&pool->source, surface, row, column, pool->block);

            for (uint32_t i = 0; i < pool->block; i++) {
                const int32_t value = (int8_t)from[i];

                values[i] =
                    first ? value : combined(pool->method, values[i], value);
            }
            first = false;
        }
    }
    for (uint32_t i = 0; i < pool->block; i++) {
        const int32_t value = pool->method == FWGEN_POOL_AVERAGE
                                  ? average(pool, &window, values[i])
                                  : values[i];

        to[i] = (uint8_t)((uint32_t)value & 0xffu);
    }
}

int fwgen_kernel_pooling(const uint32_t *arguments, uint32_t count)
{
    const struct fwgen_pooling *pool =
        (const struct fwgen_pooling *)(const void *)arguments;

    if (count != FWGEN_WORDS(struct fwgen_pooling) || pool->block == 0u ||
        pool->block > FWGEN_MAX_BLOCK || pool->method > FWGEN_POOL_MIN) {
        return FWGEN_ERROR_PROGRAM;
    }
    for (uint32_t surface = 0; surface < pool->surfaces; surface++) {
        for (uint32_t y = 0; y < pool->output_height; y++) {
            for (uint32_t x = 0; x < pool->output_width; x++) {
                pool_pixel(pool, surface, y, x);
            }
        }
    }
    return FWGEN_OK;
}
