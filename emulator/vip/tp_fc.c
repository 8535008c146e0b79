/*
 * tp_fc.c - fully connected layers on the TP engine (tile sequence 3).
 *
 *     sum[n] = start[n] + sum over inputs of
 *              (pixel - input zero) * (weight - weight zero)
 *     byte   = sum * (2^15 + mult) / 2^(15 + shift) + output zero, to nearest,
 *              ties to even, clamped to 0..255
 *
 * The blob at the look-up table's address: the head of V8 coefficients, with
 * an average that is added to every weight; from byte 28 a table of lengths
 * in bits, 14 bits each, one for each input; aligned to 64 the starts, one
 * int32 for each output; aligned to 64 the streams, one for each input, each
 * padded to 64 bytes, with a weight for each output.
 *
 * Inputs lie a slice apart; outputs an increment of loop 4, whose count is
 * their number. Of the window, tile and tap fields none counts.
 */
#include <inttypes.h>
#include <string.h>

#include "buffer_pool.h"
#include "coef_huffman.h"
#include "tp.h"

#define LENGTH_BITS 14u
#define ALIGNED(size) (((size) + 63u) & ~(uint64_t)63u)
/* Of a table entry. */
#define STREAM_BYTES (((1u << LENGTH_BITS) + 7u) / 8u)

struct fc {
    const struct tp_job *job;
    struct coef_coder coder;
    uint32_t inputs, outputs;
    int32_t weight_zero;
    const uint8_t *table; /* of lengths */
    uint64_t blob;        /* address */
    uint64_t at;          /* offset of what comes next in the blob */
    int64_t *sums;
    uint8_t *weights; /* of one input */
};

static bool read_bytes(const struct fc *fc, uint64_t address, void *data,
                       size_t size, struct vip_job_cost *cost)
{
    cost->bytes_read += size;
    return fc->job->memory->read(fc->job->memory->opaque, address, data, size);
}

/* The next part of the blob; each is padded to a multiple of 64 bytes. */
static bool read_part(struct fc *fc, void *data, size_t size,
                      struct vip_job_cost *cost)
{
    uint64_t address = fc->blob + fc->at;

    fc->at = ALIGNED(fc->at + size);
    return read_bytes(fc, address, data, size, cost);
}

static uint32_t stream_bits(const struct fc *fc, uint32_t input)
{
    struct coef_bits bits = {fc->table, (uint64_t)input * LENGTH_BITS,
                             UINT64_MAX};

    return coef_take(&bits, LENGTH_BITS);
}

static bool load_starts(struct fc *fc, struct vip_job_cost *cost)
{
    uint8_t *bytes = buffer_take((size_t)fc->outputs * 4u);
    bool ok;

    if (bytes == NULL) {
        return vip_job_error(fc->job->memory, "no host memory for FC");
    }
    ok = read_part(fc, bytes, (size_t)fc->outputs * 4u, cost);
    for (uint32_t n = 0; ok && n < fc->outputs; n++) {
        const uint8_t *word = bytes + 4u * (size_t)n;

        fc->sums[n] =
            (int32_t)((uint32_t)word[0] | (uint32_t)word[1] << 8 |
                      (uint32_t)word[2] << 16 | (uint32_t)word[3] << 24);
    }
    buffer_give(bytes);
    return ok;
}

static bool add_input(struct fc *fc, uint32_t input, struct vip_job_cost *cost)
{
    const uint32_t *w = fc->job->words;
    struct vip_ring ring = vip_ring_of(w[25], w[26]);
    uint8_t stream[STREAM_BYTES + BUFFER_SLACK];
    struct coef_bits bits = {stream, 0, stream_bits(fc, input)};
    size_t size = (size_t)((bits.length + 7u) / 8u);
    uint64_t address = vip_ring_wrap(ring, w[10] + input * w[3]);
    const char *error;
    uint8_t pixel;
    int32_t value;

    memset(stream, 0, sizeof stream);
    if (!read_bytes(fc, address, &pixel, 1, cost) ||
        !read_part(fc, stream, size, cost)) {
        return false;
    }
    error = coef_stream(&fc->coder, &bits, fc->weights, fc->outputs);
    if (error != NULL) {
        return vip_job_error(fc->job->memory,
                             "FC coefficients: input %" PRIu32 ", bit %" PRIu64
                             " of %" PRIu64 ": %s",
                             input, bits.position, bits.length, error);
    }
    value = (int32_t)pixel - (int32_t)vip_bits(w, 29, 24, 8);
    for (uint32_t n = 0; n < fc->outputs; n++) {
        uint8_t weight = (uint8_t)(fc->weights[n] + fc->coder.average);

        fc->sums[n] += (int64_t)value * ((int32_t)weight - fc->weight_zero);
    }
    return true;
}

/* sum * (2^15 + mult) / 2^(15 + shift) + zero, clamped. */
static uint8_t scaled(int64_t sum, uint32_t mult, int32_t shift, uint8_t zero)
{
    /* Below 2^50 * 2^16, which only sums that no stream can make come near. */
    __int128 value = (__int128)sum * (0x8000 + (int32_t)mult);
    int32_t down = 15 + shift;
    __int128 whole, rest, half;

    if (down <= 0) {
        /* Anything but 0 is 2^15 times 1 or more. */
        return value == 0 ? zero : value > 0 ? 255 : 0;
    }
    value += (__int128)zero << down;
    whole = value >> down; /* towards minus infinity */
    rest = value - whole * ((__int128)1 << down);
    half = (__int128)1 << (down - 1);
    if (rest > half || (rest == half && (whole & 1) != 0)) {
        whole++;
    }
    return whole < 0 ? 0 : whole > 255 ? 255 : (uint8_t)whole;
}

static bool store(const struct fc *fc, struct vip_job_cost *cost)
{
    const uint32_t *w = fc->job->words;
    struct tp_output output;

    if (!tp_output_open(&output, fc->job)) {
        return false;
    }
    for (uint32_t n = 0; n < fc->outputs; n++) {
        tp_output_store(&output, w[13] + n * w[20],
                        scaled(fc->sums[n], vip_bits(w, 30, 8, 15),
                               tp_post_shift(w),
                               (uint8_t)vip_bits(w, 30, 0, 8)));
    }
    cost->bytes_written = output.bytes;
    return tp_output_close(&output);
}

static bool run(struct fc *fc, uint8_t *head, size_t head_size,
                struct vip_job_cost *cost)
{
    if (!read_part(fc, head, head_size, cost) ||
        !coef_coder_read(fc->job->memory, head, &fc->coder) ||
        !load_starts(fc, cost)) {
        return false;
    }
    for (uint32_t z = 0; z < fc->inputs; z++) {
        if (!add_input(fc, z, cost)) {
            return false;
        }
    }
    cost->macs = (uint64_t)fc->inputs * fc->outputs;
    return store(fc, cost);
}

bool tp_fc_run(const struct tp_job *job, struct vip_job_cost *cost)
{
    struct fc fc = {.job = job,
                    .inputs = job->planes,
                    .blob = job->words[11],
                    .outputs = vip_bits(job->words, 22, 0, 16),
                    .weight_zero = (int32_t)vip_bits(job->words, 29, 16, 8)};
    size_t head_size =
        COEF_CODER_BYTES + ((size_t)fc.inputs * LENGTH_BITS + 7u) / 8u;
    uint8_t *head;
    bool ok;

    if (job->x.image != 1u || job->y.image != 1u || fc.inputs == 0 ||
        fc.outputs == 0 ||
        (uint64_t)fc.inputs * fc.outputs > job->facts->max_elements) {
        return vip_job_error(job->memory,
                             "FC of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                             " inputs and %" PRIu32
                             " outputs: wants a vector of 1 x 1 x n, and is "
                             "too much to emulate beyond %" PRIu64 " weights",
                             job->x.image, job->y.image, fc.inputs, fc.outputs,
                             job->facts->max_elements);
    }
    fc.sums = buffer_take((size_t)fc.outputs * sizeof *fc.sums);
    fc.weights = buffer_take(fc.outputs);
    head = buffer_take(head_size);
    ok = fc.sums != NULL && fc.weights != NULL && head != NULL;
    if (!ok) {
        (void)vip_job_error(job->memory, "no host memory for FC");
    } else {
        fc.table = head + COEF_CODER_BYTES;
        ok = run(&fc, head, head_size, cost);
    }
    buffer_give(head);
    buffer_give(fc.weights);
    buffer_give(fc.sums);
    return ok;
}
