/*
 * nn_depthwise.c - kernels that see one channel each.
 *
 * Planes stay planes, and pixels become floats: products are below 2^15 and a
 * kernel has at most 225 taps, so sums are whole numbers below 2^24, which
 * floats hold exactly. With a step of 2 even and odd columns lie apart.
 */
#include <string.h>

#include "buffer_pool.h"
#include "clones.h"
#include "nn_image.h"
#include "nn_output.h"
#include "nn_weights.h"

/* Floats of a phase that only taps of the last outputs reach. */
#define ROW_SLACK 16u

struct depthwise {
    struct nn_job *job;
    const struct nn_weights *weights;
    struct nn_window window;
    struct nn_scale scale;
    uint32_t width, height; /* of what is computed */
    struct nn_planes planes;
    size_t phase; /* floats from the even columns of a row to the odd ones */
    size_t row;   /* floats of a row */
    float *image; /* one plane with its borders */
    /* One plane of outputs. With a step of 1 its rows lie as far apart as the
     * image's, so that all of it is one line. */
    float *sums;
    size_t pitch, count; /* of the sums */
    uint8_t *scaled;     /* like the sums */
    uint8_t *bytes;
};

/* A line of `size` floats: some border, `count` pixels that lie `step` bytes
 * apart from the place `first` on, and border again. */
static inline void fill_line(float border, const uint8_t *from, size_t step,
                             size_t first, size_t count, size_t size, float *to)
{
    for (size_t x = 0; x < first; x++) {
        to[x] = border;
    }
    for (size_t x = 0; x < count; x++) {
        to[first + x] = (float)(from[x * step] - 128);
    }
    for (size_t x = first + count; x < size; x++) {
        to[x] = border;
    }
}

/* A row of the window with all its phases; from: its inside, or NULL. */
FWGEN_CLONES
static void fill_row(const struct depthwise *d, const uint8_t *from, float *to)
{
    const size_t left = d->window.left;
    const size_t columns = d->window.inside_columns;
    const float border = (float)(d->job->layer.border - 128);

    if (from == NULL) {
        fill_line(border, from, 1, 0, 0, d->row, to);
    } else if (d->window.step == 1u) {
        fill_line(border, from, 1, left, columns, d->row, to);
    } else {
        /* The first inside column may be an odd one. */
        size_t odd = left & 1u;

        fill_line(border, from + odd, 2, (left + 1u) / 2u,
                  (columns + 1u - odd) / 2u, d->phase, to);
        fill_line(border, from + (1u - odd), 2, left / 2u, (columns + odd) / 2u,
                  d->phase, to + d->phase);
    }
}

static void fill_plane(const struct depthwise *d, const uint8_t *plane)
{
    const struct nn_window *window = &d->window;

    for (uint32_t y = 0; y < window->rows; y++) {
        const uint8_t *from = NULL;

        if (y >= window->top && y < window->top + window->inside_rows &&
            window->inside_columns != 0) {
            from = plane + (y - window->top) * d->planes.row_pitch;
        }
        fill_row(d, from, d->image + y * d->row);
    }
}

/* `count` taps for a line of outputs, on top of what is there or alone. */
static inline void add_taps(const float *const *from, const float *taps,
                            uint32_t count, bool alone, size_t size,
                            float *restrict sums)
{
    for (size_t x = 0; x < size; x++) {
        float sum = alone ? 0.0f : sums[x];

        for (uint32_t tap = 0; tap < count; tap++) {
            sum += taps[tap] * from[tap][x];
        }
        sums[x] = sum;
    }
}

#define TAPS 9u /* at once, at most */

FWGEN_CLONES
static void sum_line(const struct depthwise *d, uint32_t y, size_t size,
                     const float *taps, float *sums)
{
    const uint32_t kernel_width = d->job->layer.kernel_width;
    const uint32_t total = kernel_width * d->job->layer.kernel_height;
    const float *line = d->image + (size_t)y * d->window.step * d->row;
    const float *from[TAPS];
    uint32_t column = 0;

    for (uint32_t first = 0; first < total;) {
        uint32_t left = total - first;
        uint32_t count = left >= 9u ? 9u : left >= 4u ? 4u : 1u;
        bool alone = first == 0;

        for (uint32_t tap = 0; tap < count; tap++) {
            from[tap] = d->window.step == 1u
                            ? line + column
                            : line + (column & 1u) * d->phase + column / 2u;
            if (++column == kernel_width) {
                column = 0;
                line += d->row;
            }
        }
        /* Constant counts, so that the inner loop goes away. */
        if (count == 9u && alone) {
            add_taps(from, taps + first, 9, true, size, sums);
        } else if (count == 9u) {
            add_taps(from, taps + first, 9, false, size, sums);
        } else if (count == 4u) {
            add_taps(from, taps + first, 4, alone, size, sums);
        } else {
            add_taps(from, taps + first, 1, alone, size, sums);
        }
        first += count;
    }
}

/* The outputs of one kernel, whose plane is in the image. */
static void run_plane(const struct depthwise *d, uint32_t kernel, uint8_t *out)
{
    const struct nn_layer *layer = &d->job->layer;
    const float *taps = d->weights->taps + (size_t)kernel *
                                               layer->kernel_width *
                                               layer->kernel_height;
    int64_t base = d->weights->base[kernel];

    if (d->window.step == 1u) {
        sum_line(d, 0, d->count, taps, d->sums);
    } else {
        for (uint32_t y = 0; y < d->height; y++) {
            sum_line(d, y, d->width, taps, d->sums + y * d->pitch);
        }
    }
    if (d->scale.exact) {
        nn_scale_floats(&d->scale, d->sums, (double)base, d->count, d->scaled);
    } else {
        for (size_t i = 0; i < d->count; i++) {
            d->scaled[i] = nn_scale_one(&d->scale, (int64_t)d->sums[i] + base);
        }
    }
    for (uint32_t y = 0; y < d->height; y++, out += d->width) {
        memcpy(out, d->scaled + y * d->pitch, d->width);
    }
}

static bool run_planes(struct depthwise *d, uint32_t first)
{
    const struct nn_layer *layer = &d->job->layer;
    uint32_t left = layer->kernels - first;
    struct nn_rows rows = {
        .first_kernel = first,
        .kernels = left < d->planes.count ? left : d->planes.count,
        .first_row = 0,
        .rows = d->height,
        .bytes = d->bytes,
    };
    size_t plane = (size_t)d->width * d->height;

    if (!nn_planes_read(d->job, &d->window, first, &d->planes)) {
        return false;
    }
    for (uint32_t k = 0; k < rows.kernels; k++) {
        fill_plane(d, d->planes.bytes + k * d->planes.plane_pitch);
        run_plane(d, first + k, d->bytes + k * plane);
    }
    return nn_rows_write(d->job, d->weights, &rows);
}

static bool open_buffers(struct depthwise *d)
{
    uint64_t outputs = (uint64_t)d->width * d->height;

    if (!nn_planes_open(d->job, &d->window, &d->planes)) {
        return false;
    }
    d->phase = (d->window.columns + 1u) / 2u + ROW_SLACK;
    d->row = d->window.step == 1u ? d->window.columns : 2u * d->phase;
    d->image =
        nn_take(d->job, (uint64_t)d->row * d->window.rows * sizeof *d->image);
    d->pitch = d->window.step == 1u ? d->row : d->width;
    d->count = (d->height - 1u) * d->pitch + d->width;
    d->sums = nn_take(d->job, (uint64_t)d->count * sizeof *d->sums);
    d->scaled = nn_take(d->job, d->count);
    d->bytes = nn_take(d->job, outputs * d->planes.count);
    return d->image != NULL && d->sums != NULL && d->scaled != NULL &&
           d->bytes != NULL;
}

bool nn_run_depthwise(struct nn_job *job, const struct nn_weights *weights)
{
    const struct nn_layer *layer = &job->layer;
    struct depthwise d = {
        .job = job,
        .weights = weights,
        .window = nn_window_of(layer),
        .scale = nn_scale_of(layer, weights),
        .width = layer->pooling == NN_POOL_FIRST ? layer->out_width
                                                 : layer->conv_width,
        .height = layer->pooling == NN_POOL_FIRST ? layer->out_height
                                                  : layer->conv_height,
    };
    bool ok = open_buffers(&d);

    for (uint32_t first = 0; ok && first < layer->kernels;
         first += d.planes.count) {
        ok = run_planes(&d, first);
    }
    buffer_give(d.planes.bytes);
    buffer_give(d.image);
    buffer_give(d.sums);
    buffer_give(d.scaled);
    buffer_give(d.bytes);
    return ok;
}
