/*
 * nn_output.h - sums to bytes, pooling, and the way into memory.
 */
#ifndef FWGEN_VIP_NN_OUTPUT_H
#define FWGEN_VIP_NN_OUTPUT_H

#include "nn_weights.h"

/* The requantisation of a job. */
struct nn_scale {
    bool exact;   /* doubles hold each product of sum and multiplier */
    double scale; /* multiplier / 2^shift */
    double low, high;
    int32_t zero;
    uint32_t multiplier;
    int32_t shift;
    int32_t least, most; /* low and high */
};

struct nn_scale nn_scale_of(const struct nn_layer *layer,
                            const struct nn_weights *weights);

/* One sum, however large. */
uint8_t nn_scale_one(const struct nn_scale *scale, int64_t sum);
/* With scale->exact: out[i] = sums[i] + base[i] + extra, requantised. */
void nn_scale_line(const struct nn_scale *scale, const int32_t *sums,
                   const double *base, double extra, size_t count,
                   uint8_t *out);
/* The same with one base for all of a float line of whole numbers. */
void nn_scale_floats(const struct nn_scale *scale, const float *sums,
                     double base, size_t count, uint8_t *out);

/* Rows of some kernels' planes that follow each other in `bytes`, as computed;
 * `first_row` is even with pooling. Pools them in place and writes them. */
struct nn_rows {
    uint32_t first_kernel, kernels;
    uint32_t first_row, rows;
    uint8_t *bytes;
};
bool nn_rows_write(struct nn_job *job, const struct nn_weights *weights,
                   struct nn_rows *rows);

#endif
