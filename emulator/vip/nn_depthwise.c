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

/* What the taps read past a row of outputs. */
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
    float *sums;  /* one row */
    uint8_t *bytes;
};

/* Both phases of a row of pixels; the line is filled with the border. */
FWGEN_CLONES
static void fill_row(const struct depthwise *d, const uint8_t *from, float *to)
{
    const uint32_t left = d->window.left;
    const uint32_t columns = d->window.inside_columns;
    const float border = (float)(d->job->layer.border - 128);

    for (size_t x = 0; x < d->row; x++) {
        to[x] = border;
    }
    if (from == NULL) {
        return;
    }
    if (d->window.step == 1u) {
        for (uint32_t x = 0; x < columns; x++) {
            to[left + x] = (float)(from[x] - 128);
        }
        return;
    }
    for (uint32_t x = 0; x < columns; x++) {
        uint32_t column = left + x;

        to[(column & 1u) * d->phase + column / 2u] = (float)(from[x] - 128);
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

/* The taps of one row of a kernel for a row of outputs. */
static inline void add_taps(const float *const *from, const float *taps,
                            uint32_t count, size_t width, float *sums)
{
    for (size_t x = 0; x < width; x++) {
        float sum = sums[x];

        for (uint32_t tap = 0; tap < count; tap++) {
            sum += taps[tap] * from[tap][x];
        }
        sums[x] = sum;
    }
}

FWGEN_CLONES
static void sum_row(const struct depthwise *d, uint32_t y, const float *taps)
{
    const uint32_t kernel_width = d->job->layer.kernel_width;
    const size_t width = d->width;

    memset(d->sums, 0, width * sizeof *d->sums);
    for (uint32_t row = 0; row < d->job->layer.kernel_height; row++) {
        const float *line =
            d->image + ((size_t)y * d->window.step + row) * d->row;

        for (uint32_t first = 0; first < kernel_width;) {
            uint32_t left = kernel_width - first;
            uint32_t count = left >= 5u ? 5u : left >= 3u ? 3u : 1u;
            const float *from[5];

            for (uint32_t tap = 0; tap < count; tap++) {
                uint32_t column = first + tap;

                from[tap] = d->window.step == 1u
                                ? line + column
                                : line + (column & 1u) * d->phase + column / 2u;
            }
            /* Constant counts, so that the inner loop goes away. */
            if (count == 5u) {
                add_taps(from, taps + first, 5, width, d->sums);
            } else if (count == 3u) {
                add_taps(from, taps + first, 3, width, d->sums);
            } else {
                add_taps(from, taps + first, 1, width, d->sums);
            }
            first += count;
        }
        taps += kernel_width;
    }
}

static void scale_row(const struct depthwise *d, uint32_t kernel, uint8_t *out)
{
    int64_t base = d->weights->base[kernel];

    if (d->scale.exact) {
        nn_scale_floats(&d->scale, d->sums, (double)base, d->width, out);
        return;
    }
    for (uint32_t x = 0; x < d->width; x++) {
        out[x] = nn_scale_one(&d->scale, (int64_t)d->sums[x] + base);
    }
}

static bool run_planes(struct depthwise *d, uint32_t first)
{
    const struct nn_layer *layer = &d->job->layer;
    size_t area = (size_t)layer->kernel_width * layer->kernel_height;
    uint32_t left = layer->kernels - first;
    struct nn_rows rows = {
        .first_kernel = first,
        .kernels = left < d->planes.count ? left : d->planes.count,
        .first_row = 0,
        .rows = d->height,
        .bytes = d->bytes,
    };
    uint8_t *out = d->bytes;

    if (!nn_planes_read(d->job, &d->window, first, &d->planes)) {
        return false;
    }
    for (uint32_t k = 0; k < rows.kernels; k++) {
        fill_plane(d, d->planes.bytes + k * d->planes.plane_pitch);
        for (uint32_t y = 0; y < d->height; y++, out += d->width) {
            sum_row(d, y, d->weights->taps + (first + k) * area);
            scale_row(d, first + k, out);
        }
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
    d->sums = nn_take(d->job, d->width * sizeof *d->sums);
    d->bytes = nn_take(d->job, outputs * d->planes.count);
    return d->image != NULL && d->sums != NULL && d->bytes != NULL;
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
    buffer_give(d.bytes);
    return ok;
}
