/*
 * cycles.c - how long a job takes: an estimate, never exact timing.
 *
 * No public document gives the timing of these engines. The rules are those
 * that any such engine cannot beat; caches, stalls and the decoding of
 * coefficients are not counted, so that silicon is slower:
 *   NN   the longer of multiplications / multipliers (config.c) and traffic
 *        (input, output, and one byte a weight) / bytes of the bus per cycle
 *   TP   the longer of one output element a cycle and traffic (the window and
 *        the output) / bytes of the bus per cycle; FC: one weight a cycle
 * Every job costs JOB_CYCLES besides. TP jobs of one group run beside each
 * other (launch.c).
 */
#include "cycles.h"

#define JOB_CYCLES 100u
#define LIMIT ((uint64_t)1 << 60)

/* Products of descriptor fields can pass 64 bits; nothing real comes near. */
static uint64_t times(uint64_t a, uint64_t b)
{
    return a != 0 && b > LIMIT / a ? LIMIT : a * b;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t nn_cycles(const struct vip_config *config, const uint32_t *w)
{
    uint64_t kernel = times(vip_bits(w, 0, 2, 4), vip_bits(w, 8, 12, 4));
    uint64_t channels = vip_bits(w, 0, 6, 14) | (uint64_t)vip_bits(w, 5, 26, 6)
                                                    << 14;
    uint64_t outputs = vip_bits(w, 4, 0, 14);
    uint64_t area = times(vip_bits(w, 3, 6, 13), vip_bits(w, 3, 19, 13));
    uint64_t input = times(vip_bits(w, 1, 6, 13), vip_bits(w, 1, 19, 13));
    bool depthwise = vip_bits(w, 22, 17, 1) != 0;
    uint64_t weights = times(times(kernel, outputs), depthwise ? 1u : channels);
    uint64_t traffic = times(input, depthwise ? outputs : channels) / 4u +
                       times(area, outputs) / 4u + weights / 4u;

    return longer(times(weights, area) / config->macs,
                  traffic / config->bus_bytes * 4u);
}

static uint64_t span(uint32_t word, unsigned high, uint32_t end)
{
    int32_t first = (int16_t)(uint16_t)(word >> high);
    int32_t last = (int16_t)(uint16_t)(end >> high);

    return last < first ? 0u : (uint64_t)(last - first + 1);
}

static uint64_t tp_cycles(const struct vip_config *config, const uint32_t *w)
{
    uint64_t planes = vip_bits(w, 1, 16, 16);
    uint64_t window = times(span(w[4], 0, w[5]), span(w[4], 16, w[5]));
    uint64_t elements = times(window, planes);

    if (vip_bits(w, 6, 0, 2) == 3u) {
        return times(planes, vip_bits(w, 22, 0, 16));
    }
    return longer(elements, elements / config->bus_bytes * 2u);
}

uint64_t vip_job_cycles(const struct vip_config *config,
                        const struct vip_job *job)
{
    uint64_t cycles = job->unit == VIP_NN ? nn_cycles(config, job->words)
                                          : tp_cycles(config, job->words);

    return JOB_CYCLES + (cycles > LIMIT ? LIMIT : cycles);
}
