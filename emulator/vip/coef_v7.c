/*
 * coef_v7.c - coefficients of V7 cores: raw bytes and runs of zero points.
 *
 * A table of stream sizes in bytes, one for each core, then the streams; all
 * are multiples of 64 bytes. A stream has the width of run lengths (8 bits),
 * its number of kernels (16 bits) and weights: a run length, that many zero
 * points and one weight of 8 bits, again and again. Directly behind the token
 * of a kernel's first weight lie 32 bits, what its sums start with; behind that
 * of its last weight 32 bits, the offset of its output plane. A run goes on
 * where they interrupt it.
 *
 * Weights of a superblock go channel by channel, all kernels' for each. Where
 * the hardware skips zeros of 1x1 kernels ("ZDP", unless GL_NN_CONFIG disables
 * it), they go by blocks of 6 channels.
 */
#include "coef.h"

#include <inttypes.h>

#include "buffer_pool.h"
#include "coef_bits.h"

#define ZDP_CHANNELS 6u
#define MAX_RUN_BITS 8u
#define TOKEN_BITS (MAX_RUN_BITS + 8u)
#define HEADER_BITS 24u
#define KERNEL_BITS 64u /* besides its weights */

struct stream {
    struct coef_bits bits;
    unsigned run_bits;
    uint32_t run; /* zero points before `weight` */
    bool open;    /* whether `weight` is still to come */
    uint8_t weight, zero;
};

size_t coef_v7_header(unsigned cores)
{
    return (size_t)coef_align(4u * cores);
}

bool coef_v7_size(const struct coef_job *job, const uint8_t *header,
                  uint64_t *size)
{
    uint64_t kernels = job->layer->kernels;
    uint64_t weights = kernels * nn_kernel_size(job->layer);
    uint64_t most = coef_align(
        (HEADER_BITS + kernels * KERNEL_BITS + weights * TOKEN_BITS + 7u) / 8u);

    *size = coef_v7_header(job->cores);
    for (unsigned core = 0; core < job->cores; core++) {
        uint64_t bytes = coef_word(header + 4u * core);

        if (bytes % 64u != 0 || bytes > most) {
            return vip_job_error(job->memory,
                                 "NN coefficients: core %u has %" PRIu64
                                 " bytes; expected a multiple of 64 up to "
                                 "%" PRIu64,
                                 core, bytes, most);
        }
        *size += bytes;
    }
    return true;
}

static inline uint8_t next_weight(struct stream *stream)
{
    if (!stream->open) {
        /* The caller has checked that the position is inside. */
        stream->run = coef_take(&stream->bits, stream->run_bits);
        stream->weight = (uint8_t)coef_take(&stream->bits, 8);
        stream->open = true;
    }
    if (stream->run > 0) {
        stream->run--;
        return stream->zero;
    }
    stream->open = false;
    return stream->weight;
}

static bool too_short(const struct stream *stream)
{
    return stream->bits.position > stream->bits.length;
}

/* One channel of a kernel. */
static bool read_channel(const struct nn_layer *layer, struct stream *stream,
                         uint32_t kernel, uint32_t channel,
                         struct coef_kernels *kernels)
{
    uint32_t area = layer->kernel_width * layer->kernel_height;
    uint8_t *to = kernels->weights + kernel * nn_kernel_size(layer) +
                  (uint64_t)channel * area;

    for (uint32_t tap = 0; tap < area; tap++) {
        to[tap] = next_weight(stream);
        if (too_short(stream)) {
            return false;
        }
        if (channel == 0 && tap == 0) {
            kernels->start[kernel] = (int32_t)coef_take(&stream->bits, 32);
        }
        if (channel == layer->channels - 1u && tap == area - 1u) {
            kernels->planes[kernel] = coef_take(&stream->bits, 32);
        }
        if (too_short(stream)) {
            return false;
        }
    }
    return true;
}

/* `count` kernels from `first` on. */
static bool read_superblock(const struct coef_job *job, struct stream *stream,
                            uint32_t first, uint32_t count,
                            struct coef_kernels *kernels)
{
    const struct nn_layer *layer = job->layer;
    uint32_t step = job->zdp && layer->kernel_width * layer->kernel_height == 1u
                        ? ZDP_CHANNELS
                        : 1u;

    for (uint32_t block = 0; block < layer->channels; block += step) {
        uint32_t end = block + step;

        if (end > layer->channels) {
            end = layer->channels;
        }
        for (uint32_t k = first; k < first + count; k++) {
            for (uint32_t channel = block; channel < end; channel++) {
                if (!read_channel(layer, stream, k, channel, kernels)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* What is wrong with a stream that has been read, or NULL. */
static const char *check_end(const struct stream *stream)
{
    if (stream->open) {
        return "a run passes the last weight";
    }
    if (coef_align((stream->bits.position + 7u) / 8u) * 8u !=
        stream->bits.length) {
        return "bytes are left behind the last weight";
    }
    return NULL;
}

/* Kernels of one core, from *kernel on, which is moved on. */
static const char *read_core(const struct coef_job *job, struct stream *stream,
                             uint32_t *kernel, struct coef_kernels *kernels)
{
    uint32_t per_core = job->layer->kernels_per_core;
    uint32_t count;

    stream->run_bits = coef_take(&stream->bits, 8);
    count = coef_take(&stream->bits, 16);
    if (stream->run_bits > MAX_RUN_BITS) {
        return "run lengths of more than 8 bits";
    }
    if (count > job->layer->kernels - *kernel) {
        return "the cores have more kernels than the descriptor";
    }
    for (uint32_t done = 0; done < count;) {
        uint32_t now = count - done < per_core ? count - done : per_core;

        if (!read_superblock(job, stream, *kernel, now, kernels)) {
            return "the stream ends too early";
        }
        *kernel += now;
        done += now;
    }
    return check_end(stream);
}

/* Every plane has one kernel. */
static bool check_planes(const struct coef_job *job, const uint32_t *planes)
{
    const struct nn_layer *layer = job->layer;
    uint64_t plane = (uint64_t)layer->out.row * layer->out.plane_rows;
    uint8_t *seen = buffer_take(layer->kernels);
    bool ok = true;

    if (seen == NULL) {
        return vip_job_error(job->memory, "NN: no memory left on the host");
    }
    memset(seen, 0, layer->kernels);
    for (uint32_t k = 0; ok && k < layer->kernels; k++) {
        uint64_t index = plane != 0 ? planes[k] / plane : 0u;

        ok = index * plane == planes[k] && index < layer->kernels &&
             seen[index] == 0;
        if (ok) {
            seen[index] = 1;
        } else {
            (void)vip_job_error(job->memory,
                                "NN coefficients: output offset 0x%x of the "
                                "kernel %u is no free plane of %" PRIu64
                                " bytes",
                                (unsigned)planes[k], (unsigned)k, plane);
        }
    }
    buffer_give(seen);
    return ok;
}

bool coef_v7_decode(const struct coef_job *job, const uint8_t *blob,
                    struct coef_kernels *kernels)
{
    const uint8_t *at = blob + coef_v7_header(job->cores);
    uint32_t kernel = 0;

    for (unsigned core = 0; core < job->cores; core++) {
        uint32_t size = coef_word(blob + 4u * core);
        struct stream stream = {.bits = {at, 0, (uint64_t)size * 8u},
                                .zero = job->layer->weight_zero};
        const char *error;

        if (size == 0) {
            continue;
        }
        error = read_core(job, &stream, &kernel, kernels);
        if (error != NULL) {
            return vip_job_error(
                job->memory,
                "NN coefficients: core %u, bit %" PRIu64 " of %" PRIu64 ": %s",
                core, stream.bits.position, stream.bits.length, error);
        }
        at += size;
    }
    if (kernel != job->layer->kernels) {
        return vip_job_error(job->memory,
                             "NN coefficients: the cores have %u kernels, the "
                             "descriptor %u",
                             (unsigned)kernel, (unsigned)job->layer->kernels);
    }
    return check_planes(job, kernels->planes);
}
