/*
 * tp_window.c - one plane of the window, with its border.
 */
#include <string.h>

#include "tp.h"

/* Reads consecutive addresses, which the ring may break into pieces. */
static bool read_ring(const struct tp_job *job, struct vip_ring ring,
                      uint32_t address, uint8_t *data, size_t size)
{
    while (size > 0) {
        uint64_t at = vip_ring_wrap(ring, address);
        size_t part = size;

        if (ring.size != 0 && at < ring.end && part > ring.end - at) {
            part = (size_t)(ring.end - at);
        }
        if (!job->memory->read(job->memory->opaque, at, data, part)) {
            return false;
        }
        address += (uint32_t)part;
        data += part;
        size -= part;
    }
    return true;
}

/* Where index 0 <= i < size of the window lies in the image, clamped. */
static uint32_t clamped(const struct tp_axis *axis, uint32_t i)
{
    int64_t at = (int64_t)axis->start + i;

    if (at < 0) {
        return 0;
    }
    return at < axis->image ? (uint32_t)at : axis->image - 1u;
}

static bool in_image(const struct tp_axis *axis, uint32_t i)
{
    int64_t at = (int64_t)axis->start + i;

    return at >= 0 && at < axis->image;
}

/* The columns of the window that the image has: [first, first + count). */
static uint32_t columns(const struct tp_axis *axis, uint32_t *first)
{
    int64_t low = axis->start < 0 ? -(int64_t)axis->start : 0;
    int64_t high = (int64_t)axis->image - axis->start;

    if (high > axis->size) {
        high = axis->size;
    }
    *first = (uint32_t)low;
    return low < high ? (uint32_t)(high - low) : 0u;
}

static bool load_row(const struct tp_job *job, struct vip_ring ring,
                     uint32_t row_address, uint8_t *row,
                     struct vip_job_cost *cost)
{
    const struct tp_axis *x = &job->x;
    uint32_t first;
    uint32_t count = columns(x, &first);
    uint32_t at = row_address + clamped(x, first);
    uint8_t left = job->border;
    uint8_t right = left;

    if (count > 0) {
        if (!read_ring(job, ring, at, row + first, count)) {
            return false;
        }
        cost->bytes_read += count;
        if (job->replicate) {
            left = row[first];
            right = row[first + count - 1u];
        }
    } else if (job->replicate) {
        /* Wholly beside the image: one pixel of its edge. */
        if (!read_ring(job, ring, row_address + clamped(x, 0), &left, 1)) {
            return false;
        }
        cost->bytes_read++;
        memset(row, left, x->size);
        return true;
    } else {
        first = x->size;
    }
    memset(row, left, first);
    memset(row + first + count, right, x->size - first - count);
    return true;
}

bool tp_window_load(const struct tp_job *job, uint32_t plane, uint8_t *data,
                    struct vip_job_cost *cost)
{
    const uint32_t *words = job->words;
    struct vip_ring ring = vip_ring_of(words[25], words[26]);
    uint32_t stride = vip_bits(words, 2, 0, 16);
    uint32_t base = words[10] + plane * words[3];

    for (uint32_t y = 0; y < job->y.size; y++) {
        uint8_t *row = data + (size_t)y * job->x.size;

        if (!job->replicate && !in_image(&job->y, y)) {
            memset(row, job->border, job->x.size);
        } else if (!load_row(job, ring, base + clamped(&job->y, y) * stride,
                             row, cost)) {
            return false;
        }
    }
    return true;
}
