/*
 * conv.h - one convolution, decoded, and the parts that prepare it.
 */
#ifndef FWGEN_NVDLA_CONV_H
#define FWGEN_NVDLA_CONV_H

#include "conv_kernels.h"
#include "units.h"

struct conv {
    struct nvdla_job *job;
    const struct conv_kernels *kernels;
    bool image;
    /* Input, from CDMA. */
    uint32_t width, height, channels;
    /* Kernel, from CSC: rows x columns x deep; an image row is one column
     * whose depth is all its pixels' channels. */
    uint32_t rows, columns, deep, kernel_count;
    unsigned merge; /* Y_EXTENSION: 1 << merge rows are stored together */
    uint32_t out_width, out_height;
    uint32_t stride_x, stride_y, dilation_x, dilation_y;
    uint32_t pad_left, pad_top, pad_right;
    int8_t pad_value;
    unsigned truncate; /* CACC.CLIP_TRUNCATE */

    /* Input as the panels want it: padded rows of elements. */
    unsigned element_bytes;  /* 1 or 2, by the kind of kernels */
    uint32_t pixel_elements; /* elements of a pixel in the buffer */
    uint32_t row_pixels;     /* multiple of stride_x */
    size_t row_bytes;
    uint32_t buffer_rows;
    uint8_t *data;

    /* The reduction: runs, cut into segments that 32 bits can sum. */
    struct conv_run *runs;
    size_t run_count;

    uint8_t *stored;     /* weights as in memory */
    uint8_t *stage;      /* one block's, a kernel after the other */
    size_t stage_bytes;  /* of one kernel */
    uint8_t *packed;     /* one group's, as the panels want them */
    size_t block_bytes;  /* packed bytes of one block, all runs */
    int32_t *weight_sum; /* [run][CONV_GROUP], for KERNEL_BYTES only */
};

/* conv_fetch.c: fills conv->data. */
bool conv_fetch(struct conv *conv);
/* conv_weights.c: runs and stored weights; then one group after the other. */
bool conv_weights_open(struct conv *conv);
void conv_weights_pack(struct conv *conv, uint32_t first, unsigned blocks);

#endif
