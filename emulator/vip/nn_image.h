/*
 * nn_image.h - the pixels that a job's kernels meet.
 */
#ifndef FWGEN_VIP_NN_IMAGE_H
#define FWGEN_VIP_NN_IMAGE_H

#include "conv_kernels.h"
#include "nn.h"

/* All pixels that some output needs, borders included, and the part of them
 * that lies inside the input. */
struct nn_window {
    uint32_t rows, columns;
    uint32_t step;      /* pixels from one output to the next: 1 or 2 */
    uint32_t top, left; /* border in front of the inside */
    uint32_t inside_rows, inside_columns;
    uint32_t first_row, first_column; /* of the inside, in the input */
};

struct nn_window nn_window_of(const struct nn_layer *layer);

/* Planes' inside parts as they were read. */
struct nn_planes {
    uint8_t *bytes; /* behind which BUFFER_SLACK bytes can be read */
    size_t row_pitch, plane_pitch;
    uint32_t count; /* planes at once */
};

/* How planes are read: chooses pitches and takes a buffer. */
bool nn_planes_open(struct nn_job *job, const struct nn_window *window,
                    struct nn_planes *planes);
/* Channels [first, first + planes->count), or fewer at the end. */
bool nn_planes_read(struct nn_job *job, const struct nn_window *window,
                    uint32_t first, struct nn_planes *planes);

/* The whole window, [row][column][channel], elements of that kind with
 * pixel - 128 (BYTES: pixel). From buffer_take(), NULL after an error. */
uint8_t *nn_image_read(struct nn_job *job, const struct nn_window *window,
                       enum kernel_kind kind);

#endif
