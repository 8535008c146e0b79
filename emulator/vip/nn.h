/*
 * nn.h - one job of the NN engine, decoded, and the parts that run it.
 *
 * The engine convolves planes of uint8 pixels, requantises the sums and may
 * pool 2 x 2 pixels:
 *
 *   sum  = start + sum over channels and taps of (weight - weight_zero) * p
 *   q    = sum * multiplier / 2^shift, to nearest, ties to even
 *   byte = clamp(q, with relu at least 0, + out_zero, 0, 255)
 *
 * where p is the pixel less 128 on V8 and the pixel on V7. Outside the image
 * pixels have the border's value.
 */
#ifndef FWGEN_VIP_NN_H
#define FWGEN_VIP_NN_H

#include "job.h"

/* Weights of one kernel at most: sums stay far below 2^39 and products of sum
 * and multiplier below 2^63. */
#define NN_MAX_KERNEL ((uint64_t)1 << 22)

enum nn_pooling { NN_POOL_NONE = 0, NN_POOL_MAX = 1, NN_POOL_FIRST = 3 };

struct nn_plane_set {
    uint64_t address;
    uint32_t row;        /* bytes from one row to the next */
    uint32_t plane_rows; /* rows from one plane to the next */
    struct vip_ring ring;
};

struct nn_layer {
    bool depthwise;
    uint32_t kernel_width, kernel_height;
    uint32_t channels; /* of the input */
    uint32_t depth;    /* channels that one kernel sums: 1 if depthwise */
    uint32_t kernels;  /* output channels */
    uint32_t kernels_per_core;
    enum nn_pooling pooling;
    bool relu;
    int32_t x_offset, y_offset; /* of tap 0 for output 0 */
    uint32_t in_width, in_height;
    uint8_t border;
    struct nn_plane_set in;
    uint32_t conv_width, conv_height; /* before pooling */
    uint32_t out_width, out_height;   /* after it */
    struct nn_plane_set out;
    uint64_t coefficients; /* address */
    uint32_t multiplier;
    int32_t shift;
    uint8_t weight_zero, out_zero;
};

/* nn_layer.c: takes the descriptor apart; false and an error when it asks for
 * what is not modelled or for more work than the facts allow. */
bool nn_layer_read(const struct vip_memory *memory,
                   const struct vip_job_facts *facts,
                   const uint32_t words[VIP_JOB_WORDS], struct nn_layer *layer);

static inline uint64_t nn_kernel_size(const struct nn_layer *layer)
{
    return (uint64_t)layer->kernel_width * layer->kernel_height * layer->depth;
}

/* A job under way. */
struct nn_job {
    const struct vip_memory *memory;
    const struct vip_job_facts *facts;
    struct nn_layer layer;
    struct vip_job_cost cost;
};

/* buffer_take() with the limit of the facts and an error. */
void *nn_take(const struct nn_job *job, uint64_t size);
/* Bytes of a row or a plane, around the end of a ring. */
bool nn_read(struct nn_job *job, const struct nn_plane_set *set,
             uint64_t address, void *to, size_t size);
bool nn_write(struct nn_job *job, const struct nn_plane_set *set,
              uint64_t address, const void *from, size_t size);

struct nn_weights;

/* nn_dense.c and nn_depthwise.c */
bool nn_run_dense(struct nn_job *job, const struct nn_weights *weights);
bool nn_run_depthwise(struct nn_job *job, const struct nn_weights *weights);

#endif
