/*
 * cycles.c - how long an operation takes: an estimate, never exact timing.
 *
 * The rules are those of the published NVDLA performance sheet, read from
 * registers; fwgen/accel/nvdla/performance.py states them for layers, and a
 * test holds both together. A job takes the longest of its datapath cycles and
 * its traffic on each memory port divided by the bandwidth. Software, latency
 * and the start-up of pipelines are not counted.
 *
 * CONV. Strides are folded into channels: C' = C * stride_x * stride_y, rounded
 * up to the memory atom, over a pixel grid smaller by the strides.
 *   multiply cycles = C' * outputs * K * rows * columns / (strides * MACs),
 *   with K rounded up to atomic_k.
 * That is the sheet's rule, not the steps that the hardware makes: a layer of
 * few channels leaves lanes of a wide array idle, which it does not count.
 *   traffic = input * reads + weights * reads. Either all weights stay in the
 *   buffer and the input streams through (rows + 1 lines at a time), or the
 *   input stays and the weights stream (32 kernels at a time): whichever needs
 *   less room to stream. What does not fit beside it comes in parts, and the
 *   other is read again for each part.
 *   SDP  free behind a convolution, else sdp_rate elements a cycle; operands
 *        per element count as traffic, those per channel do not
 *   PDP  free behind SDP, else pdp_rate input elements a cycle
 *   CDP  cdp_rate elements a cycle
 *   BDMA, RUBIK  their traffic
 * Main memory moves dram_rate KiB in 1000 cycles, reads and writes together
 * (the sheet reckons a GB/s at 1 GHz so). The second port reads and writes a
 * bus width each per cycle.
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

static void add_read(struct nvdla_job *job, struct nvdla_cost *cost,
                     bool main_memory, uint64_t bytes)
{
    cost->bytes_read = plus(cost->bytes_read, bytes);
    if (!main_memory && job->config->has_sram) {
        cost->sram_read = plus(cost->sram_read, bytes);
    }
}

static void add_write(struct nvdla_job *job, struct nvdla_cost *cost,
                      bool main_memory, uint64_t bytes)
{
    cost->bytes_written = plus(cost->bytes_written, bytes);
    if (!main_memory && job->config->has_sram) {
        cost->sram_written = plus(cost->sram_written, bytes);
    }
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
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
    uint64_t deep = job_count(job, CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_CHANNEL_EXT);
    /* An image counts its columns as channels. */
    uint64_t columns =
        image ? divide_up(deep, channels)
              : job_count(job, CSC_D_WEIGHT_SIZE_EXT_0__WEIGHT_WIDTH_EXT);
    uint64_t kernels = job_count(job, CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_KERNEL);
    uint64_t outputs =
        times(job_count(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_WIDTH),
              job_count(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_HEIGHT));
    uint64_t down = job_count(job, CSC_D_CONV_STRIDE_EXT__CONV_Y_STRIDE_EXT);
    uint64_t across = job_count(job, CSC_D_CONV_STRIDE_EXT__CONV_X_STRIDE_EXT);
    uint64_t reach =
        times(rows - 1u, job_count(job, CSC_D_DILATION_EXT__Y_DILATION_EXT)) +
        1u;
    uint64_t folded = round_up(channels * down * across, config->atom);
    uint64_t lines = divide_up(height, down);
    uint64_t line = times(folded, divide_up(width, across));
    uint64_t input = times(line, lines);
    uint64_t kernel =
        times(times(folded, divide_up(rows, down)), divide_up(columns, across));
    uint64_t weights = times(kernel, kernels);
    uint64_t buffer =
        (uint64_t)config->cbuf_banks * config->cbuf_width * config->cbuf_depth;
    uint64_t strip =
        smaller(times(line, smaller(reach + 1u, lines)), buffer / 2u);
    uint64_t resident = smaller(times(kernel, 32u), buffer / 2u);
    uint64_t products = times(
        times(times(folded, outputs), round_up(kernels, config->atomic_k)),
        rows * columns);

    cost->macs = times(times(outputs, times(rows, image ? 1u : columns)),
                       times(deep, kernels));
    cost->cycles = divide_up(products, down * across * config->atomic_c *
                                           config->atomic_k);
    if (resident < strip) {
        input = times(input, divide_up(weights, buffer - strip));
    } else {
        weights = times(weights, divide_up(input, buffer - resident));
    }
    add_read(job, cost,
             job_field(job, CDMA_D_DAIN_RAM_TYPE__DATAIN_RAM_TYPE) != 0, input);
    add_read(job, cost,
             job_field(job, CDMA_D_WEIGHT_RAM_TYPE__WEIGHT_RAM_TYPE) != 0,
             weights);
}

/* The fields of one operand port of SDP_RDMA. */
struct operand {
    uint32_t disable, use, size, mode, ram;
};

static void add_operand(struct nvdla_job *job, struct nvdla_cost *cost,
                        const struct operand *operand, uint64_t elements)
{
    uint64_t each = (job_field(job, operand->use) == 2u ? 2u : 1u) *
                    (job_field(job, operand->size) != 0 ? 2u : 1u);

    if ((job->blocks & 1u << BLOCK_SDP_RDMA) != 0 &&
        job_field(job, operand->disable) == 0 &&
        job_field(job, operand->mode) != 0) {
        add_read(job, cost, job_field(job, operand->ram) != 0,
                 times(elements, each));
    }
}

static void estimate_sdp(struct nvdla_job *job)
{
#define OPERAND(port)                                                          \
    {                                                                          \
        SDP_RDMA_D_##port##_CFG__##port##_DISABLE,                             \
            SDP_RDMA_D_##port##_CFG__##port##_DATA_USE,                        \
            SDP_RDMA_D_##port##_CFG__##port##_DATA_SIZE,                       \
            SDP_RDMA_D_##port##_CFG__##port##_DATA_MODE,                       \
            SDP_RDMA_D_##port##_CFG__##port##_RAM_TYPE                         \
    }
    static const struct operand operands[] = {OPERAND(BRDMA), OPERAND(NRDMA),
                                              OPERAND(ERDMA)};
#undef OPERAND
    struct nvdla_cost *cost = &job->cost[UNIT_SDP];
    uint64_t channels = round_up(
        job_count(job, SDP_D_DATA_CUBE_CHANNEL__CHANNEL), job->config->atom);
    uint64_t elements =
        times(times(job_count(job, SDP_D_DATA_CUBE_WIDTH__WIDTH),
                    job_count(job, SDP_D_DATA_CUBE_HEIGHT__HEIGHT)),
              channels);

    if (!job->has[UNIT_CONV]) {
        cost->cycles = divide_up(elements, job->config->sdp_rate);
        add_read(job, cost,
                 job_field(job, SDP_RDMA_D_SRC_DMA_CFG__SRC_RAM_TYPE) != 0,
                 elements);
    }
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        add_operand(job, cost, &operands[i], elements);
    }
    if (!job->has[UNIT_PDP]) {
        add_write(job, cost,
                  job_field(job, SDP_D_DST_DMA_CFG__DST_RAM_TYPE) != 0,
                  elements);
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
    uint64_t stored = times(
        times(job_count(job, PDP_D_DATA_CUBE_OUT_WIDTH__CUBE_OUT_WIDTH),
              job_count(job, PDP_D_DATA_CUBE_OUT_HEIGHT__CUBE_OUT_HEIGHT)),
        channels);

    if (!job->has[UNIT_SDP]) {
        cost->cycles = divide_up(elements, job->config->pdp_rate);
        add_read(job, cost,
                 job_field(job, PDP_RDMA_D_SRC_RAM_CFG__SRC_RAM_TYPE) != 0,
                 elements);
    }
    add_write(job, cost, job_field(job, PDP_D_DST_RAM_CFG__DST_RAM_TYPE) != 0,
              stored);
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
    add_read(job, cost,
             job_field(job, CDP_RDMA_D_SRC_DMA_CFG__SRC_RAM_TYPE) != 0,
             elements);
    add_write(job, cost, job_field(job, CDP_D_DST_DMA_CFG__DST_RAM_TYPE) != 0,
              elements);
}

static void estimate_bdma(struct nvdla_job *job)
{
    struct nvdla_cost *cost = &job->cost[UNIT_BDMA];

    for (unsigned i = 0; i < job->transfers.count; i++) {
        const uint32_t *words = job->transfers.words[i];
        uint64_t bytes = times(times(words[4] + 1u, 32u),
                               times(words[6] + 1u, words[9] + 1u));

        add_read(job, cost, (words[5] & 1u) != 0, bytes);
        add_write(job, cost, (words[5] & 2u) != 0, bytes);
    }
}

static void estimate_rubik(struct nvdla_job *job)
{
    struct nvdla_cost *cost = &job->cost[UNIT_RUBIK];
    bool contract = job_field(job, RBK_D_MISC_CFG__RUBIK_MODE) == 0;
    uint64_t channels =
        contract ? job_count(job, RBK_D_DATAOUT_SIZE_1__DATAOUT_CHANNEL)
                 : job_count(job, RBK_D_DATAIN_SIZE_1__DATAIN_CHANNEL);
    uint64_t phases =
        contract ? times(job_count(job, RBK_D_DECONV_STRIDE__DECONV_X_STRIDE),
                         job_count(job, RBK_D_DECONV_STRIDE__DECONV_Y_STRIDE))
                 : 1u;
    uint64_t elements =
        times(times(times(job_count(job, RBK_D_DATAIN_SIZE_0__DATAIN_WIDTH),
                          job_count(job, RBK_D_DATAIN_SIZE_0__DATAIN_HEIGHT)),
                    round_up(channels, job->config->atom)),
              phases);

    add_read(job, cost,
             job_field(job, RBK_D_DAIN_RAM_TYPE__DATAIN_RAM_TYPE) != 0,
             elements);
    add_write(job, cost,
              job_field(job, RBK_D_DAOUT_RAM_TYPE__DATAOUT_RAM_TYPE) != 0,
              elements);
}

void nvdla_estimate(struct nvdla_job *job)
{
    static void (*const estimates[UNIT_COUNT])(struct nvdla_job *) = {
        estimate_conv, estimate_sdp,  estimate_pdp,
        estimate_cdp,  estimate_bdma, estimate_rubik,
    };

    for (unsigned unit = 0; unit < UNIT_COUNT; unit++) {
        if (job->has[unit]) {
            estimates[unit](job);
        }
    }
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Cycles of the ports for bytes of a kind. */
static uint64_t memory_cycles(const struct nvdla_config *config, uint64_t dram,
                              uint64_t sram_read, uint64_t sram_written)
{
    uint64_t bus = config->bus_bits / 8u;
    uint64_t sram = longer(sram_read, sram_written);

    return longer(
        divide_up(times(dram, 1000u), (uint64_t)config->dram_rate * 1024u),
        divide_up(sram, bus));
}

uint64_t nvdla_duration(const struct nvdla_job *job)
{
    uint64_t cycles = 1;
    struct nvdla_cost sum = {0, 0, 0, 0, 0, 0};

    for (unsigned unit = 0; unit < UNIT_COUNT; unit++) {
        const struct nvdla_cost *cost = &job->cost[unit];

        cycles = longer(cycles, cost->cycles);
        sum.bytes_read = plus(sum.bytes_read, cost->bytes_read);
        sum.bytes_written = plus(sum.bytes_written, cost->bytes_written);
        sum.sram_read = plus(sum.sram_read, cost->sram_read);
        sum.sram_written = plus(sum.sram_written, cost->sram_written);
    }
    return longer(cycles,
                  memory_cycles(job->config,
                                plus(sum.bytes_read - sum.sram_read,
                                     sum.bytes_written - sum.sram_written),
                                sum.sram_read, sum.sram_written));
}

uint64_t nvdla_load_time(const struct nvdla_job *job)
{
    const struct nvdla_cost *cost = &job->cost[UNIT_CONV];

    return memory_cycles(job->config, cost->bytes_read - cost->sram_read,
                         cost->sram_read, 0);
}
