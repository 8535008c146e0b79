/*
 * normalisation.c - NORMALISATION on the CPU: local response normalisation
 * across channels (arguments.h). Source and destination may not overlap unless
 * they are the same cube of one block.
 *
 * Channels beyond the last count as 0, also those that fill up the last block,
 * whose results are written too.
 */
#include "arguments.h"
#include "arith.h"
#include "fwgen_model.h"
#include "fwgen_result.h"
#include "lut.h"

/* The converted value of a channel of one pixel. */
static int32_t value_at(const struct fwgen_normalisation *op, uint32_t y,
                        uint32_t x, uint32_t c)
{
    const int16_t *values =
        (const int16_t *)(const void *)fwgen_bytes(op->values);

    if (c >= op->channels) { /* before the first one wraps to a large number */
        return 0;
    }
    return values[fwgen_cube_at(&op->source, c / op->block, y, x,
                                op->block)[c % op->block]];
}

static int32_t sum_of_squares(const struct fwgen_normalisation *op, uint32_t y,
                              uint32_t x, uint32_t c)
{
    int32_t sum = 0;

    for (uint32_t j = 0; j <= 2u * op->reach; j++) {
        const int32_t value = value_at(op, y, x, c + j - op->reach);

        sum += value * value;
    }
    return sum;
}

static uint8_t normalised(const struct fwgen_normalisation *op, uint32_t y,
                          uint32_t x, uint32_t c)
{
    const struct fwgen_lut *lut =
        (const struct fwgen_lut *)(const void *)fwgen_bytes(op->table);
    const int32_t value = value_at(op, y, x, c);
    const int32_t sum = (op->flags & FWGEN_NORMALISE_NO_SQUARES) != 0u
                            ? value
                            : sum_of_squares(op, y, x, c);
    int64_t result = fwgen_lut_narrow(lut, sum);

    if ((op->flags & FWGEN_NORMALISE_NO_MUL) == 0u) {
        result *= value;
    }
    result = (result - op->converter.offset) * op->converter.scale;
    return (uint8_t)fwgen_saturate(
        fwgen_round_shift(result, op->converter.shift), 8u);
}

int fwgen_kernel_normalisation(const uint32_t *arguments, uint32_t count)
{
    const struct fwgen_normalisation *op =
        (const struct fwgen_normalisation *)(const void *)arguments;
    uint8_t results[FWGEN_MAX_BLOCK];

    if (count != FWGEN_WORDS(struct fwgen_normalisation) || op->block == 0u ||
        op->block > FWGEN_MAX_BLOCK) {
        return FWGEN_ERROR_PROGRAM;
    }
    for (uint32_t y = 0; y < op->height; y++) {
        for (uint32_t x = 0; x < op->width; x++) {
            for (uint32_t c = 0; c < op->channels; c += op->block) {
                uint8_t *to = fwgen_cube_at(&op->destination, c / op->block, y,
                                            x, op->block);

                for (uint32_t i = 0; i < op->block; i++) {
                    results[i] = normalised(op, y, x, c + i);
                }
                for (uint32_t i = 0; i < op->block; i++) {
                    to[i] = results[i];
                }
            }
        }
    }
    return FWGEN_OK;
}
