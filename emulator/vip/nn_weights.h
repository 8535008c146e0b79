/*
 * nn_weights.h - the coefficients of a job, decoded and packed for the host.
 *
 * With signed pixels b = pixel - 128 and signed weights a, each sum is
 *
 *   base[k] + sum a * b + excess * sum b
 *
 * a is weight - weight_zero and excess 0 where that fits the kernels' numbers;
 * otherwise a is weight - 128 and excess 128 - weight_zero. base holds what a
 * blob says a sum starts with and, on V7, what counting pixels from 0 adds.
 */
#ifndef FWGEN_VIP_NN_WEIGHTS_H
#define FWGEN_VIP_NN_WEIGHTS_H

#include "conv_kernels.h"
#include "nn.h"

/* One row of a kernel, or a piece of it that 32 bits can sum. */
struct nn_run {
    uint32_t row;
    uint32_t element; /* first one, counted from the row's start */
    uint32_t groups;  /* of 4 bytes */
};

/* Runs that 32 bits can sum. */
struct nn_segment {
    size_t first, end; /* runs */
    size_t groups;     /* of all runs before */
};

struct nn_weights {
    int64_t *base;       /* [kernel] */
    int64_t largest_sum; /* no sum of any kernel passes this, either way */
    uint32_t *planes;    /* [kernel] offset of its output plane, or NULL */
    /* Dense kernels; lines of CONV_GROUP kernels, the last one filled up. */
    const struct conv_kernels *host;
    int32_t excess;
    struct nn_run *runs;
    size_t run_count;
    struct nn_segment *segments;
    size_t segment_count;
    int32_t *start;     /* [segment][kernel] */
    uint8_t *packed;    /* [block of TILE_BLOCK kernels][run][group] */
    size_t block_bytes; /* of one block */
    /* Depthwise kernels: exact, since below 2^24. */
    float *taps; /* [kernel][row][column] */
};

/* Weights of the job, out of the cache when memory still holds what they were
 * decoded from. NULL after an error. Give them back when the job is done. */
const struct nn_weights *nn_weights_get(struct nn_job *job);
void nn_weights_give(const struct nn_weights *weights);

/* nn_pack.c: fills everything but planes; frees what an entry holds. */
struct coef_kernels;
bool nn_pack(const struct nn_job *job, const struct coef_kernels *kernels,
             struct nn_weights *weights);
void nn_pack_free(struct nn_weights *weights);
/* Host bytes that it takes. */
size_t nn_pack_bytes(const struct nn_job *job,
                     const struct nn_weights *weights);

static inline uint32_t nn_padded_kernels(const struct nn_layer *layer)
{
    return (layer->kernels + CONV_GROUP - 1u) / CONV_GROUP * CONV_GROUP;
}

#endif
