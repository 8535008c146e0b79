/*
 * nn_dense.c - kernels that sum all channels, in panels of conv_kernels.h.
 *
 * A strip is some rows of the output of up to CONV_GROUP kernels; its sums
 * stay in the second level cache. A stage is some strips; its bytes go to
 * memory together, so that they are few large pieces.
 */
#include <string.h>

#include "buffer_pool.h"
#include "clones.h"
#include "nn_image.h"
#include "nn_output.h"
#include "nn_transpose.h"
#include "nn_weights.h"

#define STRIP_PIXELS 512u
#define STAGE_BYTES ((uint64_t)1 << 20)

struct dense {
    struct nn_job *job;
    const struct nn_weights *weights;
    struct nn_window window;
    struct nn_scale scale;
    uint32_t width, height; /* of what is computed */
    uint8_t *image;
    size_t pixel_bytes, row_bytes; /* of the image */
    struct conv_run *runs;
    int32_t *pixel_sums; /* [row][column] sums of the channels, for excess */
    uint32_t strip_rows, stage_rows;
    int32_t *sums;  /* [pixel of the strip][CONV_GROUP] */
    int64_t *wide;  /* the same for several segments, or NULL */
    uint8_t *bytes; /* [kernel][pixel of the stage] */
};

static bool open_runs(struct dense *dense)
{
    const struct nn_weights *weights = dense->weights;
    size_t element = weights->host->kind == KERNEL_WORDS ? 2u : 1u;

    dense->pixel_bytes = dense->job->layer.channels * element;
    dense->row_bytes = dense->window.columns * dense->pixel_bytes;
    dense->runs = nn_take(dense->job, weights->run_count * sizeof *dense->runs);
    if (dense->runs == NULL) {
        return false;
    }
    for (size_t r = 0; r < weights->run_count; r++) {
        const struct nn_run *run = &weights->runs[r];

        dense->runs[r] = (struct conv_run){
            run->row * dense->row_bytes + run->element * element, run->groups};
    }
    return true;
}

FWGEN_CLONES
static int32_t sum_pixel(const uint8_t *bytes, size_t count, uint8_t flip)
{
    int32_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (int8_t)(bytes[i] ^ flip);
    }
    return sum;
}

static bool sum_pixels(struct dense *dense)
{
    size_t count = (size_t)dense->window.rows * dense->window.columns;
    uint8_t flip = dense->weights->host->kind == KERNEL_BYTES ? 0x80 : 0;

    if (dense->weights->excess == 0) {
        return true;
    }
    dense->pixel_sums = nn_take(dense->job, count * sizeof *dense->pixel_sums);
    if (dense->pixel_sums == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        dense->pixel_sums[i] = sum_pixel(dense->image + i * dense->pixel_bytes,
                                         dense->pixel_bytes, flip);
    }
    return true;
}

/* Excess times the sum of all pixels under the kernels at (x, y). */
static int64_t excess_at(const struct dense *dense, uint32_t x, uint32_t y)
{
    const struct nn_layer *layer = &dense->job->layer;
    const int32_t *from;
    int64_t sum = 0;

    if (dense->pixel_sums == NULL) {
        return 0;
    }
    from = dense->pixel_sums +
           (size_t)y * dense->window.step * dense->window.columns +
           (size_t)x * dense->window.step;
    for (uint32_t row = 0; row < layer->kernel_height; row++) {
        for (uint32_t column = 0; column < layer->kernel_width; column++) {
            sum += from[(size_t)row * dense->window.columns + column];
        }
    }
    return sum * dense->weights->excess;
}

static bool open_strip(struct dense *dense)
{
    const struct nn_layer *layer = &dense->job->layer;
    uint32_t group = layer->kernels < CONV_GROUP ? layer->kernels : CONV_GROUP;
    uint32_t rows = STRIP_PIXELS / dense->width + 1u;
    uint64_t pixels;

    rows = (rows + 1u) & ~1u; /* pooling wants pairs */
    if (rows > dense->height) {
        rows = dense->height;
    }
    pixels = (uint64_t)rows * dense->width;
    dense->strip_rows = rows;
    dense->stage_rows = rows;
    while (dense->stage_rows < dense->height &&
           2u * (uint64_t)dense->stage_rows * dense->width * group <=
               STAGE_BYTES) {
        dense->stage_rows *= 2u;
    }
    dense->sums = nn_take(dense->job, (pixels * CONV_GROUP + PANEL_SLACK) *
                                          sizeof *dense->sums);
    dense->bytes =
        nn_take(dense->job, (uint64_t)dense->stage_rows * dense->width * group);
    if (dense->sums == NULL || dense->bytes == NULL) {
        return false;
    }
    if (dense->weights->segment_count > 1u) {
        dense->wide =
            nn_take(dense->job, pixels * CONV_GROUP * sizeof *dense->wide);
        return dense->wide != NULL;
    }
    return true;
}

/* Sums of the rows from y on. */
static void compute(struct dense *dense, uint32_t first, unsigned blocks,
                    uint32_t y, uint32_t rows)
{
    const struct nn_weights *weights = dense->weights;
    size_t padded = nn_padded_kernels(&dense->job->layer);
    size_t step = dense->window.step;
    size_t values = (size_t)rows * dense->width * CONV_GROUP;
    struct conv_panel panel = {
        .input = dense->image + y * step * dense->row_bytes,
        .pixel_step = step * dense->pixel_bytes,
        .row_step = step * dense->row_bytes,
        .columns = dense->width,
        .rows = rows,
        .block_bytes = weights->block_bytes,
        .blocks = blocks,
        .out = dense->sums,
    };

    if (step == 1u && dense->window.columns == dense->width) {
        panel.columns *= rows;
        panel.rows = 1;
    }
    if (dense->wide != NULL) {
        memset(dense->wide, 0, values * sizeof *dense->wide);
        /* The lanes of no block are added up as well. */
        memset(dense->sums, 0, values * sizeof *dense->sums);
    }
    for (size_t s = 0; s < weights->segment_count; s++) {
        const struct nn_segment *segment = &weights->segments[s];

        panel.start = weights->start + s * padded + first;
        panel.runs = dense->runs + segment->first;
        panel.run_count = segment->end - segment->first;
        panel.weights = weights->packed +
                        first / TILE_BLOCK * weights->block_bytes +
                        segment->groups * TILE_BLOCK * 4u;
        weights->host->panel(&panel);
        for (size_t i = 0; dense->wide != NULL && i < values; i++) {
            dense->wide[i] += dense->sums[i];
        }
    }
}

/* Bytes of one pixel, one for each kernel of the group. */
static void scale_pixel(const struct dense *dense, size_t pixel, int64_t extra,
                        const double *base, const int64_t *whole_base,
                        uint32_t count, uint8_t *out)
{
    const int32_t *sums = dense->sums + pixel * CONV_GROUP;

    if (dense->scale.exact && dense->wide == NULL) {
        nn_scale_line(&dense->scale, sums, base, (double)extra, count, out);
        return;
    }
    for (uint32_t k = 0; k < count; k++) {
        int64_t sum =
            dense->wide != NULL ? dense->wide[pixel * CONV_GROUP + k] : sums[k];

        out[k] = nn_scale_one(&dense->scale, sum + whole_base[k] + extra);
    }
}

/* 16 pixels of all kernels, turned into planes that lie `plane` bytes apart. */
static void store(uint8_t (*lines)[CONV_GROUP], size_t pixels, uint8_t *to,
                  size_t plane, uint32_t kernels)
{
    for (uint32_t k = 0; k < kernels; k += 16u, to += 16u * plane) {
        uint32_t count = kernels - k < 16u ? kernels - k : 16u;
        uint8_t turned[16][16];

        if (pixels == 16u && count == 16u) {
            nn_transpose_16(&lines[0][k], CONV_GROUP, to, plane);
            continue;
        }
        nn_transpose_16(&lines[0][k], CONV_GROUP, turned[0], 16);
        for (uint32_t i = 0; i < count; i++) {
            memcpy(to + i * plane, turned[i], pixels);
        }
    }
}

/* The sums of a strip, rows from y on, to their place in the stage. */
static void requantise(const struct dense *dense, const struct nn_rows *stage,
                       uint32_t y, uint32_t rows)
{
    size_t pixels = (size_t)rows * dense->width;
    size_t plane = (size_t)stage->rows * dense->width;
    uint8_t *to = stage->bytes + (size_t)(y - stage->first_row) * dense->width;
    const int64_t *whole_base = dense->weights->base + stage->first_kernel;
    uint8_t lines[16][CONV_GROUP];
    double base[CONV_GROUP];
    uint32_t x = 0;

    memset(lines, 0, sizeof lines);
    for (uint32_t k = 0; k < CONV_GROUP; k++) {
        base[k] = (double)whole_base[k];
    }
    for (size_t pixel = 0; pixel < pixels; pixel += 16u) {
        size_t here = pixels - pixel < 16u ? pixels - pixel : 16u;

        for (size_t p = 0; p < here; p++) {
            scale_pixel(dense, pixel + p, excess_at(dense, x, y), base,
                        whole_base, stage->kernels, lines[p]);
            if (++x == dense->width) {
                x = 0;
                y++;
            }
        }
        store(lines, here, to + pixel, plane, stage->kernels);
    }
}

static bool run_stage(struct dense *dense, struct nn_rows *stage)
{
    uint32_t end = stage->first_row + stage->rows;
    unsigned blocks = (stage->kernels + TILE_BLOCK - 1u) / TILE_BLOCK;

    for (uint32_t y = stage->first_row; y < end; y += dense->strip_rows) {
        uint32_t left = end - y;
        uint32_t rows = left < dense->strip_rows ? left : dense->strip_rows;

        compute(dense, stage->first_kernel, blocks, y, rows);
        requantise(dense, stage, y, rows);
    }
    return nn_rows_write(dense->job, dense->weights, stage);
}

static bool run_group(struct dense *dense, uint32_t first)
{
    uint32_t left = dense->job->layer.kernels - first;

    for (uint32_t y = 0; y < dense->height; y += dense->stage_rows) {
        uint32_t rest = dense->height - y;
        struct nn_rows stage = {
            .first_kernel = first,
            .kernels = left < CONV_GROUP ? left : CONV_GROUP,
            .first_row = y,
            .rows = rest < dense->stage_rows ? rest : dense->stage_rows,
            .bytes = dense->bytes,
        };

        if (!run_stage(dense, &stage)) {
            return false;
        }
    }
    return true;
}

bool nn_run_dense(struct nn_job *job, const struct nn_weights *weights)
{
    const struct nn_layer *layer = &job->layer;
    struct dense dense = {
        .job = job,
        .weights = weights,
        .window = nn_window_of(layer),
        .scale = nn_scale_of(layer, weights),
        .width = layer->pooling == NN_POOL_FIRST ? layer->out_width
                                                 : layer->conv_width,
        .height = layer->pooling == NN_POOL_FIRST ? layer->out_height
                                                  : layer->conv_height,
    };
    bool ok;

    dense.image = nn_image_read(job, &dense.window, weights->host->kind);
    ok = dense.image != NULL && open_runs(&dense) && sum_pixels(&dense) &&
         open_strip(&dense);
    for (uint32_t first = 0; ok && first < layer->kernels;
         first += CONV_GROUP) {
        ok = run_group(&dense, first);
    }
    buffer_give(dense.image);
    buffer_give(dense.runs);
    buffer_give(dense.pixel_sums);
    buffer_give(dense.sums);
    buffer_give(dense.wide);
    buffer_give(dense.bytes);
    return ok;
}
