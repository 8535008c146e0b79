/*
 * nn.c - runs one job of the NN engine; what it computes is in nn.h.
 *
 * Modelled: uint8 convolution on V7 and V8, dense and (V8) depthwise, with
 * constant borders, ReLU, and pooling of 2 x 2 pixels by maximum or first one;
 * ring buffers for input and output. Not modelled, and refused: other element
 * types, PReLU, average pooling, multipliers per channel, brick layouts.
 *
 * What the hardware does when the output overlaps the input is not known; here
 * a dense job has read all its input before it writes, a depthwise one has not.
 */
#include "nn.h"

#include <inttypes.h>
#include <string.h>

#include "buffer_pool.h"
#include "nn_weights.h"

void *nn_take(const struct nn_job *job, uint64_t size)
{
    void *buffer = NULL;

    if (size <= job->facts->max_bytes) {
        buffer = buffer_take((size_t)size);
    }
    if (buffer == NULL) {
        (void)vip_job_error(job->memory,
                            "NN: the job needs a buffer of %" PRIu64
                            " bytes: too large to emulate",
                            size);
    }
    return buffer;
}

/* Where the piece at an address lies, and how much of it in one go. */
static uint64_t locate(struct vip_ring ring, uint64_t address, size_t *size)
{
    uint64_t at = vip_ring_wrap(ring, address);

    if (ring.size != 0 && *size > ring.end - at) {
        *size = (size_t)(ring.end - at);
    }
    return at;
}

bool nn_read(struct nn_job *job, const struct nn_plane_set *set,
             uint64_t address, void *to, size_t size)
{
    uint8_t *next = to;

    while (size > 0) {
        size_t here = size;
        uint64_t at = locate(set->ring, address, &here);

        if (!job->memory->read(job->memory->opaque, at, next, here)) {
            return false;
        }
        next += here;
        address += here;
        size -= here;
    }
    return true;
}

bool nn_write(struct nn_job *job, const struct nn_plane_set *set,
              uint64_t address, const void *from, size_t size)
{
    const uint8_t *next = from;

    while (size > 0) {
        size_t here = size;
        uint64_t at = locate(set->ring, address, &here);

        if (!job->memory->write(job->memory->opaque, at, next, here)) {
            return false;
        }
        next += here;
        address += here;
        size -= here;
    }
    return true;
}

static bool check_ring(const struct vip_memory *memory, struct vip_ring ring,
                       const char *name)
{
    if (ring.size > ring.end) {
        return vip_job_error(memory,
                             "NN %s: ring of 0x%" PRIx64
                             " bytes that ends at 0x%" PRIx64,
                             name, ring.size, ring.end);
    }
    return true;
}

bool vip_nn_run(const struct vip_memory *memory,
                const struct vip_job_facts *facts,
                const uint32_t words[VIP_JOB_WORDS], struct vip_job_cost *cost)
{
    struct nn_job job;
    const struct nn_weights *weights;
    bool ok;

    memset(cost, 0, sizeof *cost);
    memset(&job, 0, sizeof job);
    job.memory = memory;
    job.facts = facts;
    if (!nn_layer_read(memory, facts, words, &job.layer) ||
        !check_ring(memory, job.layer.in.ring, "words 20, 21") ||
        !check_ring(memory, job.layer.out.ring, "words 18, 19")) {
        return false;
    }
    weights = nn_weights_get(&job);
    if (weights == NULL) {
        return false;
    }
    job.cost.macs = nn_kernel_size(&job.layer) * job.layer.conv_width *
                    job.layer.conv_height * job.layer.kernels;
    ok = job.layer.depthwise ? nn_run_depthwise(&job, weights)
                             : nn_run_dense(&job, weights);
    nn_weights_give(weights);
    if (ok) {
        *cost = job.cost;
    }
    return ok;
}
