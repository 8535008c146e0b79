/*
 * cycles.c - how long an operation takes: an estimate, never exact timing.
 *
 * The model is that of the published NVDLA performance sheet: a job takes the
 * longer of its datapath cycles and its memory traffic divided by the
 * bandwidth (config.c: dram_mbytes). Software overhead, latencies and the
 * start-up of pipelines are not counted.
 *   CONV  one step of atomic_c channels by atomic_k kernels a cycle; channels
 *         and kernels are rounded up to whole steps, an image row of S pixels
 *         counts as S * C channels. If input and weights do not fit into the
 *         convolution buffer together, one of them is fetched again: with the
 *         rows of one output line resident the input, with 32 kernels resident
 *         the weights, whichever needs less room.
 *   SDP   free behind a convolution, else sdp_rate elements a cycle
 *   PDP   free behind SDP, else pdp_rate input elements a cycle
 *   CDP   cdp_rate elements a cycle
 * Memory bytes are whole atoms as the DMA engines move them.
 */
#include "cycles.h"

/* Products of register fields can pass 64 bits; nothing real comes near. */
static uint64_t times(uint64_t a, uint64_t b)
{
    const uint64_t limit = (uint64_t)1 << 60;

    if (a != 0 && b > limit / a) {
        return limit;
    }
    return a * b;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    const uint64_t limit = (uint64_t)1 << 60;

    return a > limit || b > limit || a + b > limit ? limit : a + b;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0 ? 1u : 0u);
}

static uint64_t round_up(uint64_t a, uint64_t b)
{
    return times(divide_up(a, b), b);
}

static void estimate_conv(struct nvdla_job *job)
{
    const struct nvdla_config *config = job->config;
    struct nvdla_cost *cost = &job->cost[UNIT_CONV];
    bool image = job_field(job, CDMA_D_DATAIN_FORMAT__DATAIN_FORMAT) != 0;
    uint64_t width = job_count(job, CDMA_D_DATAIN_SIZE_0__DATAIN_WIDTH);
    uint64_t height = job_count(job, CDMA_D_DATAIN_SIZE_0__DATAIN_HEIGHT);
    uint64_t channels = job_count(job, CDMA_D_DATAIN_SIZE_1__DATAIN_CHANNEL);
    uint64_t rows = job_count(job, CSC_D_WEIGHT_SIZE_EXT_0__WEIGHT_HEIGHT_EXT);
    uint64_t columns =
        job_count(job, CSC_D_WEIGHT_SIZE_EXT_0__WEIGHT_WIDTH_EXT);
    uint64_t deep = job_count(job, CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_CHANNEL_EXT);
    uint64_t kernels = job_count(job, CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_KERNEL);
    uint64_t outputs =
        times(job_count(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_WIDTH),
              job_count(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_HEIGHT));
    unsigned merge = job_field(job, CSC_D_POST_Y_EXTENSION__Y_EXTENSION);
    uint64_t merged_rows = divide_up(rows, (uint64_t)1 << merge);
    uint64_t steps = times(divide_up(deep << merge, config->atomic_c),
                           divide_up(kernels, config->atomic_k));
    uint64_t kernel_bytes = times(times(rows, columns), deep);
    uint64_t weights = times(kernel_bytes, kernels);
    uint64_t line =
        times(width, image ? channels : round_up(channels, config->atom));
    uint64_t input = times(line, height);
    uint64_t buffer =
        (uint64_t)config->cbuf_banks * config->cbuf_width * config->cbuf_depth;
    uint64_t least_input = times(line, rows < height ? rows : height);
    uint64_t least_weights = times(kernel_bytes, kernels < 32u ? kernels : 32u);
    uint64_t input_reads = 1;
    uint64_t weight_reads = 1;

    if (least_weights > buffer / 2u) {
        least_weights = buffer / 2u;
    }
    if (least_input <= least_weights) {
        input_reads = divide_up(weights, buffer - least_input);
    } else {
        weight_reads = divide_up(input, buffer - least_weights);
    }
    cost->macs = times(times(outputs, kernel_bytes), kernels);
    cost->cycles = times(times(outputs, steps), times(merged_rows, columns));
    cost->bytes_read =
        plus(times(input, input_reads), times(weights, weight_reads));
}

static uint64_t operand_bytes(const struct nvdla_job *job, uint32_t disable,
                              uint32_t use, uint32_t size, uint32_t mode,
                              uint64_t elements, uint64_t channels)
{
    uint64_t each = (job_field(job, use) == 2u ? 2u : 1u) *
                    (job_field(job, size) != 0 ? 2u : 1u);

    if ((job->blocks & 1u << BLOCK_SDP_RDMA) == 0 ||
        job_field(job, disable) != 0) {
        return 0;
    }
    return times(job_field(job, mode) != 0 ? elements : channels, each);
}

static void estimate_sdp(struct nvdla_job *job)
{
    struct nvdla_cost *cost = &job->cost[UNIT_SDP];
    uint64_t channels = round_up(
        job_count(job, SDP_D_DATA_CUBE_CHANNEL__CHANNEL), job->config->atom);
    uint64_t elements =
        times(times(job_count(job, SDP_D_DATA_CUBE_WIDTH__WIDTH),
                    job_count(job, SDP_D_DATA_CUBE_HEIGHT__HEIGHT)),
              channels);

    if (!job->has[UNIT_CONV]) {
        cost->cycles = divide_up(elements, job->config->sdp_rate);
        cost->bytes_read = elements;
    }
    cost->bytes_read =
        plus(cost->bytes_read,
             plus(operand_bytes(job, SDP_RDMA_D_BRDMA_CFG__BRDMA_DISABLE,
                                SDP_RDMA_D_BRDMA_CFG__BRDMA_DATA_USE,
                                SDP_RDMA_D_BRDMA_CFG__BRDMA_DATA_SIZE,
                                SDP_RDMA_D_BRDMA_CFG__BRDMA_DATA_MODE, elements,
                                channels),
                  plus(operand_bytes(job, SDP_RDMA_D_NRDMA_CFG__NRDMA_DISABLE,
                                     SDP_RDMA_D_NRDMA_CFG__NRDMA_DATA_USE,
                                     SDP_RDMA_D_NRDMA_CFG__NRDMA_DATA_SIZE,
                                     SDP_RDMA_D_NRDMA_CFG__NRDMA_DATA_MODE,
                                     elements, channels),
                       operand_bytes(job, SDP_RDMA_D_ERDMA_CFG__ERDMA_DISABLE,
                                     SDP_RDMA_D_ERDMA_CFG__ERDMA_DATA_USE,
                                     SDP_RDMA_D_ERDMA_CFG__ERDMA_DATA_SIZE,
                                     SDP_RDMA_D_ERDMA_CFG__ERDMA_DATA_MODE,
                                     elements, channels))));
    if (!job->has[UNIT_PDP]) {
        cost->bytes_written = elements;
    }
}

static void estimate_pdp(struct nvdla_job *job)
{
    struct nvdla_cost *cost = &job->cost[UNIT_PDP];
    uint64_t channels =
        round_up(job_count(job, PDP_D_DATA_CUBE_IN_CHANNEL__CUBE_IN_CHANNEL),
                 job->config->atom);
    uint64_t elements =
        times(times(job_count(job, PDP_D_DATA_CUBE_IN_WIDTH__CUBE_IN_WIDTH),
                    job_count(job, PDP_D_DATA_CUBE_IN_HEIGHT__CUBE_IN_HEIGHT)),
              channels);

    if (!job->has[UNIT_SDP]) {
        cost->cycles = divide_up(elements, job->config->pdp_rate);
        cost->bytes_read = elements;
    }
    cost->bytes_written = times(
        times(job_count(job, PDP_D_DATA_CUBE_OUT_WIDTH__CUBE_OUT_WIDTH),
              job_count(job, PDP_D_DATA_CUBE_OUT_HEIGHT__CUBE_OUT_HEIGHT)),
        channels);
}

static void estimate_cdp(struct nvdla_job *job)
{
    struct nvdla_cost *cost = &job->cost[UNIT_CDP];
    uint64_t elements =
        times(times(job_count(job, CDP_RDMA_D_DATA_CUBE_WIDTH__WIDTH),
                    job_count(job, CDP_RDMA_D_DATA_CUBE_HEIGHT__HEIGHT)),
              round_up(job_count(job, CDP_RDMA_D_DATA_CUBE_CHANNEL__CHANNEL),
                       job->config->atom));

    cost->cycles = divide_up(elements, job->config->cdp_rate);
    cost->bytes_read = elements;
    cost->bytes_written = elements;
}

void nvdla_estimate(struct nvdla_job *job)
{
    if (job->has[UNIT_CONV]) {
        estimate_conv(job);
    }
    if (job->has[UNIT_SDP]) {
        estimate_sdp(job);
    }
    if (job->has[UNIT_PDP]) {
        estimate_pdp(job);
    }
    if (job->has[UNIT_CDP]) {
        estimate_cdp(job);
    }
}

uint64_t nvdla_duration(const struct nvdla_job *job)
{
    uint64_t cycles = 1;
    uint64_t bytes = 0;

    for (unsigned unit = 0; unit < UNIT_COUNT; unit++) {
        const struct nvdla_cost *cost = &job->cost[unit];

        if (cost->cycles > cycles) {
            cycles = cost->cycles;
        }
        bytes = plus(bytes, plus(cost->bytes_read, cost->bytes_written));
    }

    uint64_t memory = divide_up(times(bytes, 1000u), job->config->dram_mbytes);

    return memory > cycles ? memory : cycles;
}
