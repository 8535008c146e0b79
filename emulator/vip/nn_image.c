/*
 * nn_image.c - reads planes and turns them into pixels of all channels.
 *
 * Memory is read in pieces as large as its layout allows; bytes between the
 * rows or planes of a tensor are read along with them when they are few.
 */
#include "nn_image.h"

#include <string.h>

#include "buffer_pool.h"
#include "clones.h"
#include "nn_transpose.h"

#define CHANNELS 16u /* turned at once */
/* Bytes of planes that are read at once, and as many as CHANNELS may take. */
#define STAGE_BYTES ((uint64_t)1 << 20)
#define TURN_BYTES ((uint64_t)4 << 20)
/* Gaps of up to this many bytes are read. */
#define GAP 64u

/* The inside part of [offset, offset + count) in a line of `size` pixels. */
static void clip(int32_t offset, uint32_t count, uint32_t size,
                 uint32_t *before, uint32_t *first, uint32_t *inside)
{
    int64_t low = offset > 0 ? offset : 0;
    int64_t high = (int64_t)offset + count;

    if (high > size) {
        high = size;
    }
    *inside = high > low ? (uint32_t)(high - low) : 0u;
    *first = (uint32_t)low;
    *before = *inside != 0 ? (uint32_t)(low - offset) : count;
}

struct nn_window nn_window_of(const struct nn_layer *layer)
{
    uint32_t step = layer->pooling == NN_POOL_FIRST ? 2u : 1u;
    uint32_t width = step == 2u ? layer->out_width : layer->conv_width;
    uint32_t height = step == 2u ? layer->out_height : layer->conv_height;
    struct nn_window window = {.step = step};

    window.rows = (height - 1u) * step + layer->kernel_height;
    window.columns = (width - 1u) * step + layer->kernel_width;
    clip(layer->y_offset, window.rows, layer->in_height, &window.top,
         &window.first_row, &window.inside_rows);
    clip(layer->x_offset, window.columns, layer->in_width, &window.left,
         &window.first_column, &window.inside_columns);
    return window;
}

/* A multiple of CHANNELS, unless these are too large. */
static uint32_t planes_at_once(uint64_t size)
{
    uint32_t count = CHANNELS;

    while (count > 1u && count * size > TURN_BYTES) {
        count /= 2u;
    }
    while (count >= CHANNELS && count < 1024u &&
           2u * count * size <= STAGE_BYTES) {
        count *= 2u;
    }
    return count;
}

bool nn_planes_open(struct nn_job *job, const struct nn_window *window,
                    struct nn_planes *planes)
{
    const struct nn_layer *layer = &job->layer;
    uint64_t columns = window->inside_columns;
    uint64_t plane = (uint64_t)layer->in.row * layer->in.plane_rows;
    uint64_t span;

    planes->row_pitch =
        layer->in.row <= 2u * columns + GAP ? layer->in.row : columns;
    span = window->inside_rows == 0
               ? 0u
               : (window->inside_rows - 1u) * planes->row_pitch + columns;
    planes->plane_pitch = span;
    if (planes->row_pitch == layer->in.row && plane >= span &&
        plane <= span + span / 4u + GAP) {
        planes->plane_pitch = (size_t)plane;
    }
    planes->count = planes_at_once(planes->plane_pitch);
    if (planes->count > layer->channels) {
        planes->count = layer->channels;
    }
    planes->bytes =
        nn_take(job, (uint64_t)planes->count * planes->plane_pitch + 1u);
    return planes->bytes != NULL;
}

bool nn_planes_read(struct nn_job *job, const struct nn_window *window,
                    uint32_t first, struct nn_planes *planes)
{
    const struct nn_plane_set *in = &job->layer.in;
    uint64_t plane = (uint64_t)in->row * in->plane_rows;
    uint64_t address = in->address + first * plane +
                       (uint64_t)window->first_row * in->row +
                       window->first_column;
    uint32_t left = job->layer.channels - first;
    uint32_t count = left < planes->count ? left : planes->count;
    size_t columns = window->inside_columns;
    size_t span;

    if (window->inside_rows == 0 || columns == 0) {
        return true;
    }
    job->cost.bytes_read += (uint64_t)count * window->inside_rows * columns;
    span = (window->inside_rows - 1u) * planes->row_pitch + columns;
    if (planes->plane_pitch == plane && planes->row_pitch == in->row) {
        return nn_read(job, in, address, planes->bytes,
                       (count - 1u) * planes->plane_pitch + span);
    }
    for (uint32_t p = 0; p < count; p++, address += plane) {
        uint8_t *to = planes->bytes + p * planes->plane_pitch;

        if (planes->row_pitch == in->row) {
            if (!nn_read(job, in, address, to, span)) {
                return false;
            }
            continue;
        }
        for (uint32_t row = 0; row < window->inside_rows; row++) {
            if (!nn_read(job, in, address + (uint64_t)row * in->row,
                         to + row * planes->row_pitch, columns)) {
                return false;
            }
        }
    }
    return true;
}

/* What an image is made of. */
struct image {
    uint8_t *bytes;
    enum kernel_kind kind;
    size_t element, pixel, row; /* bytes */
};

static inline void put(const struct image *image, uint8_t *to, uint8_t pixel)
{
    if (image->kind == KERNEL_WORDS) {
        int16_t word = (int16_t)(pixel - 128);

        memcpy(to, &word, sizeof word);
    } else {
        *to = image->kind == KERNEL_SIGNED ? pixel ^ 0x80u : pixel;
    }
}

/* `columns` pixels of the border from there on. */
static void fill(const struct image *image, uint32_t row, uint32_t column,
                 uint32_t columns, uint8_t border)
{
    uint8_t *to = image->bytes + row * image->row + column * image->pixel;
    size_t size = columns * image->pixel;

    if (image->kind != KERNEL_WORDS) {
        memset(to, image->kind == KERNEL_SIGNED ? border ^ 0x80 : border, size);
        return;
    }
    for (size_t i = 0; i < size; i += 2u) {
        put(image, to + i, border);
    }
}

static void fill_borders(const struct image *image,
                         const struct nn_window *window, uint8_t border)
{
    for (uint32_t row = 0; row < window->rows; row++) {
        uint32_t end = window->left + window->inside_columns;

        if (row < window->top || row >= window->top + window->inside_rows ||
            window->inside_columns == 0) {
            fill(image, row, 0, window->columns, border);
            continue;
        }
        fill(image, row, 0, window->left, border);
        fill(image, row, end, window->columns - end, border);
    }
}

/* 16 channels of `count` pixels that follow each other. */
FWGEN_CLONES
static void turn(const struct image *image, uint8_t *to, const uint8_t *from,
                 size_t plane_pitch, size_t count)
{
    for (size_t x = 0; x < count; x += 16u) {
        size_t here = count - x < 16u ? count - x : 16u;
        uint8_t lines[16][CHANNELS];

        /* The last ones reach past the row, which is readable. */
        nn_transpose_16(from + x, plane_pitch, lines[0], CHANNELS);
        for (size_t p = 0; p < here; p++, to += image->pixel) {
            if (image->kind == KERNEL_WORDS) {
                int16_t words[CHANNELS];

                for (size_t c = 0; c < CHANNELS; c++) {
                    words[c] = (int16_t)(lines[p][c] - 128);
                }
                memcpy(to, words, sizeof words);
            } else {
                uint8_t flip = image->kind == KERNEL_SIGNED ? 0x80 : 0;

                for (size_t c = 0; c < CHANNELS; c++) {
                    to[c] = lines[p][c] ^ flip;
                }
            }
        }
    }
}

static void spread(const struct image *image, uint8_t *to, const uint8_t *from,
                   size_t count)
{
    for (size_t x = 0; x < count; x++, to += image->pixel) {
        put(image, to, from[x]);
    }
}

/* Channel `first` of the planes and the ones behind it, CHANNELS at most. */
static void place(const struct image *image, const struct nn_window *window,
                  const struct nn_planes *planes, uint32_t first,
                  uint32_t channels, uint8_t *to)
{
    const uint8_t *from = planes->bytes + first * planes->plane_pitch;
    size_t count = window->inside_columns;
    uint32_t rows = window->inside_rows;

    if (planes->row_pitch == count && window->columns == count) {
        /* Neither side has gaps between its rows. */
        count *= rows;
        rows = rows != 0 ? 1u : 0u;
    }
    for (uint32_t row = 0; row < rows; row++) {
        if (channels == CHANNELS) {
            turn(image, to, from, planes->plane_pitch, count);
        } else {
            for (uint32_t c = 0; c < channels; c++) {
                spread(image, to + c * image->element,
                       from + c * planes->plane_pitch, count);
            }
        }
        from += planes->row_pitch;
        to += image->row;
    }
}

/* Planes that have been read, channels from `first` on, into the image. */
static void place_all(const struct image *image, const struct nn_window *window,
                      const struct nn_planes *planes, uint32_t first,
                      uint32_t channels)
{
    uint8_t *to = image->bytes + window->top * image->row +
                  window->left * image->pixel + first * image->element;

    for (uint32_t c = 0; c < channels; c += CHANNELS) {
        uint32_t left = channels - c;

        place(image, window, planes, c, left < CHANNELS ? left : CHANNELS,
              to + c * image->element);
    }
}

uint8_t *nn_image_read(struct nn_job *job, const struct nn_window *window,
                       enum kernel_kind kind)
{
    uint32_t channels = job->layer.channels;
    struct image image = {.kind = kind,
                          .element = kind == KERNEL_WORDS ? 2u : 1u};
    struct nn_planes planes = {.bytes = NULL};
    bool ok;

    image.pixel = channels * image.element;
    image.row = window->columns * image.pixel;
    image.bytes = nn_take(job, (uint64_t)window->rows * image.row + 64u);
    ok = image.bytes != NULL && nn_planes_open(job, window, &planes);
    if (ok) {
        fill_borders(&image, window, job->layer.border);
    }
    for (uint32_t first = 0; ok && first < channels; first += planes.count) {
        uint32_t left = channels - first;

        ok = nn_planes_read(job, window, first, &planes);
        if (ok) {
            place_all(&image, window, &planes, first,
                      left < planes.count ? left : planes.count);
        }
    }
    buffer_give(planes.bytes);
    if (!ok) {
        buffer_give(image.bytes);
        return NULL;
    }
    return image.bytes;
}
