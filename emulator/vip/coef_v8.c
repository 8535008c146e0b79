/*
 * coef_v8.c - coefficients of V8 cores: a stream of bytes for each core.
 *
 * A header of 64 bytes (more with more than 9 cores): the coding of the
 * streams, and the length of each in bits. Then the streams, each padded to 64
 * bytes, and an int32 for each kernel. The first two bytes of a stream are the
 * number of the core's kernels; all others are weights less their zero point.
 * The order is the one of Mesa's etnaviv driver, but for depthwise kernels,
 * which are observed to go as share_of() says.
 */
#include "coef.h"

#include <inttypes.h>
#include <string.h>

#include "buffer_pool.h"
#include "coef_huffman.h"

#define LENGTHS_AT COEF_CODER_BYTES /* in the header */
#define BLOCK 9u /* weights of one kernel that follow each other */

size_t coef_v8_header(unsigned cores)
{
    return (size_t)coef_align(LENGTHS_AT + 4u * cores);
}

static unsigned used_cores(const struct coef_job *job)
{
    return job->layer->kernels < job->cores ? job->layer->kernels : job->cores;
}

static uint64_t blocks_of(const struct nn_layer *layer)
{
    return (nn_kernel_size(layer) + BLOCK - 1u) / BLOCK;
}

/* Kernels of a core in the superblock (or, depthwise, the group of one kernel
 * a core) that starts at `first`. */
struct share {
    uint32_t first, count;
};

static struct share share_of(const struct coef_job *job, unsigned core,
                             uint32_t first)
{
    const struct nn_layer *layer = job->layer;
    uint32_t used = used_cores(job);
    uint32_t left = layer->kernels - first;
    struct share share = {first, 0};
    uint32_t members;

    if (layer->depthwise) {
        members = left < used ? left : used;
        /* Channels of a group are dealt out from the last core on. */
        if (core < members) {
            share.first = first + members - 1u - core;
            share.count = 1;
        }
        return share;
    }
    members = used * layer->kernels_per_core;
    if (members > left) {
        members = left;
    }
    share.count = members / used + (core < members % used ? 1u : 0u);
    share.first += core * (members / used) +
                   (core < members % used ? core : members % used);
    return share;
}

/* From one superblock or group to the next. */
static uint32_t share_step(const struct coef_job *job)
{
    return job->layer->depthwise
               ? used_cores(job)
               : used_cores(job) * job->layer->kernels_per_core;
}

static uint32_t kernels_of_core(const struct coef_job *job, unsigned core)
{
    uint32_t step = share_step(job);
    uint32_t total = 0;

    for (uint64_t first = 0; first < job->layer->kernels; first += step) {
        total += share_of(job, core, (uint32_t)first).count;
    }
    return total;
}

/* Bytes that a core's stream decodes to. */
static uint64_t bytes_of_core(const struct coef_job *job, uint32_t kernels)
{
    return 2u + kernels * blocks_of(job->layer) * BLOCK;
}

bool coef_v8_size(const struct coef_job *job, const uint8_t *header,
                  uint64_t *size)
{
    unsigned used = used_cores(job);

    *size = coef_v8_header(job->cores);
    for (unsigned core = 0; core < job->cores; core++) {
        uint64_t bits = coef_word(header + LENGTHS_AT + 4u * core);
        uint64_t most = 0;

        if (core < used) {
            most = COEF_STREAM_BITS(
                bytes_of_core(job, kernels_of_core(job, core)));
        }
        if (bits > most) {
            return vip_job_error(job->memory,
                                 "NN coefficients: core %u has %" PRIu64
                                 " bits, its kernels take at most %" PRIu64,
                                 core, bits, most);
        }
        *size += coef_align((bits + 7u) / 8u);
    }
    *size += (uint64_t)job->layer->kernels * 4u;
    return true;
}

/* Blocks of a core's kernels to their places. */
static void deal_out(const struct coef_job *job, unsigned core,
                     const uint8_t *from, uint8_t *weights)
{
    const struct nn_layer *layer = job->layer;
    uint64_t size = nn_kernel_size(layer);
    uint64_t blocks = blocks_of(layer);
    uint32_t step = share_step(job);

    for (uint64_t first = 0; first < layer->kernels; first += step) {
        struct share share = share_of(job, core, (uint32_t)first);

        for (uint64_t block = 0; block < blocks; block++) {
            uint64_t at = block * BLOCK;
            uint64_t count = size - at < BLOCK ? size - at : BLOCK;

            for (uint32_t k = 0; k < share.count; k++, from += BLOCK) {
                uint8_t *to = weights + (share.first + k) * size + at;

                for (uint64_t i = 0; i < count; i++) {
                    to[i] = (uint8_t)(from[i] + layer->weight_zero);
                }
            }
        }
    }
}

static bool decode_core(const struct coef_job *job,
                        const struct coef_coder *coder, unsigned core,
                        struct coef_bits *bits, uint8_t *weights)
{
    uint32_t kernels = kernels_of_core(job, core);
    uint64_t size = bytes_of_core(job, kernels);
    uint8_t *bytes = buffer_take((size_t)size);
    const char *error = "no memory left on the host";
    uint32_t stored = kernels;

    if (bytes != NULL) {
        error = coef_stream(coder, bits, bytes, size);
    }
    if (error == NULL) {
        stored = bytes[0] | (uint32_t)bytes[1] << 8;
        if (stored == kernels) {
            deal_out(job, core, bytes + 2, weights);
        }
    }
    buffer_give(bytes);
    if (error != NULL) {
        return vip_job_error(job->memory,
                             "NN coefficients: core %u, bit %" PRIu64
                             " of %" PRIu64 ": %s",
                             core, bits->position, bits->length, error);
    }
    if (stored != kernels) {
        return vip_job_error(job->memory,
                             "NN coefficients: core %u says it has %u kernels, "
                             "the descriptor gives it %u",
                             core, (unsigned)stored, (unsigned)kernels);
    }
    return true;
}

bool coef_v8_decode(const struct coef_job *job, const uint8_t *blob,
                    struct coef_kernels *kernels)
{
    const uint8_t *at = blob + coef_v8_header(job->cores);
    struct coef_coder coder;

    if (!coef_coder_read(job->memory, blob, &coder)) {
        return false;
    }
    if (coder.average != 0) {
        return vip_job_error(job->memory,
                             "NN coefficients: average bias %u, only 0 is "
                             "modelled",
                             (unsigned)coder.average);
    }
    for (unsigned core = 0; core < used_cores(job); core++) {
        struct coef_bits bits = {at, 0,
                                 coef_word(blob + LENGTHS_AT + 4u * core)};

        if (!decode_core(job, &coder, core, &bits, kernels->weights)) {
            return false;
        }
        at += coef_align((bits.length + 7u) / 8u);
    }
    for (uint32_t k = 0; k < job->layer->kernels; k++) {
        kernels->start[k] = (int32_t)coef_word(at + 4u * k);
    }
    return true;
}
