/*
 * coef.h - coefficients of an NN job as they lie in memory: how long a blob
 * is, and what it holds.
 *
 * Both functions of a generation report through memory->error what is wrong
 * with a blob and return false. Buffers come from buffer_take().
 */
#ifndef FWGEN_VIP_COEF_H
#define FWGEN_VIP_COEF_H

#include "nn.h"

/* NN cores of a configuration at most. */
#define COEF_MAX_CORES 16u
/* Bytes of a header at most. */
#define COEF_MAX_HEADER 128u

struct coef_job {
    const struct vip_memory *memory;
    const struct nn_layer *layer;
    unsigned cores;
    bool zdp; /* V7: 1x1 kernels go in blocks of channels */
};

/* What a blob holds, kernels in the order of decoding. */
struct coef_kernels {
    uint8_t *weights; /* [kernel][channel][row][column], zero point included */
    int32_t *start;   /* [kernel] */
    uint32_t *planes; /* V7: [kernel] offset of the output plane */
};

static inline uint64_t coef_align(uint64_t size)
{
    return (size + 63u) & ~(uint64_t)63u;
}

static inline uint32_t coef_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Size of the header, and of the whole blob by its header. */
size_t coef_v8_header(unsigned cores);
bool coef_v8_size(const struct coef_job *job, const uint8_t *header,
                  uint64_t *size);
/* Decodes `blob`, behind which BUFFER_SLACK bytes can be read. The arrays are
 * as long as the layer has kernels. */
bool coef_v8_decode(const struct coef_job *job, const uint8_t *blob,
                    struct coef_kernels *kernels);

size_t coef_v7_header(unsigned cores);
bool coef_v7_size(const struct coef_job *job, const uint8_t *header,
                  uint64_t *size);
bool coef_v7_decode(const struct coef_job *job, const uint8_t *blob,
                    struct coef_kernels *kernels);

#endif
