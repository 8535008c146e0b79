/*
 * launch.c - when armed register groups start, and what happens at the end.
 *
 * A block runs its groups strictly alternating: 0, 1, 0, ... Each block has a
 * CONSUMER pointer of its own. A job starts as soon as the consumer groups of
 * all blocks it needs are armed, in whatever order that happened:
 *   CONV  CACC, CMAC_A, CMAC_B, CSC and CDMA, and an SDP that takes its output
 *   SDP   FLYING_MODE = 1: a convolution as above; otherwise SDP_RDMA.
 *         SDP_RDMA also when a stage that is not bypassed takes an operand
 *         from memory. OUTPUT_DST = 1: a PDP with FLYING_MODE = 0.
 *   PDP   FLYING_MODE = 1: PDP_RDMA
 *   CDP   CDP_RDMA
 *   RUBIK RBK
 *   BDMA  a launched group (bdma.c)
 * An SDP_RDMA with every port disabled completes at once, as it has nothing to
 * do. At the end OP_ENABLE of the groups clears, the consumers toggle, and the
 * unit's interrupt bits rise. A chain with a convolution ends in three stages:
 * CDMA when everything has been fetched, the other four blocks one cycle before
 * the end, the rest at the end. The whole job is computed at its first stage,
 * because from then on the guest may reuse the input's memory.
 */
#include <stddef.h>
#include <string.h>

#include "cycles.h"
#include "dma.h"
#include "model.h"

#define BIT(block) (1u << (block))

static const uint32_t conv_blocks = BIT(BLOCK_CDMA) | BIT(BLOCK_CSC) |
                                    BIT(BLOCK_CMAC_A) | BIT(BLOCK_CMAC_B) |
                                    BIT(BLOCK_CACC);

static const char *const unit_names[UNIT_COUNT] = {"CONV", "SDP",  "PDP",
                                                   "CDP",  "BDMA", "RUBIK"};

static bool ready(const struct accel_model *model, unsigned block)
{
    return !model->running[block] &&
           model->armed[block][model->consumer[block]];
}

static bool all_ready(const struct accel_model *model, uint32_t blocks)
{
    for (unsigned block = 0; block < BLOCK_COUNT; block++) {
        if ((blocks & BIT(block)) != 0 && !ready(model, block)) {
            return false;
        }
    }
    return true;
}

/* A field of the group that a block runs next. */
static uint32_t next_field(const struct accel_model *model, uint32_t field)
{
    uint32_t offset = nvdla_field_offset(field);
    unsigned block = offset >> 12;

    return nvdla_field_get(
        field,
        model->regs[model->consumer[block]][block][(offset & 0xfffu) >> 2]);
}

static bool operand_from_memory(const struct accel_model *model,
                                uint32_t bypass, uint32_t part_bypass,
                                uint32_t source)
{
    return next_field(model, bypass) == 0 &&
           next_field(model, part_bypass) == 0 && next_field(model, source);
}

static bool sdp_takes_operands(const struct accel_model *model)
{
    return operand_from_memory(model, SDP_D_DP_BS_CFG__BS_BYPASS,
                               SDP_D_DP_BS_CFG__BS_ALU_BYPASS,
                               SDP_D_DP_BS_ALU_CFG__BS_ALU_SRC) ||
           operand_from_memory(model, SDP_D_DP_BS_CFG__BS_BYPASS,
                               SDP_D_DP_BS_CFG__BS_MUL_BYPASS,
                               SDP_D_DP_BS_MUL_CFG__BS_MUL_SRC) ||
           operand_from_memory(model, SDP_D_DP_BN_CFG__BN_BYPASS,
                               SDP_D_DP_BN_CFG__BN_ALU_BYPASS,
                               SDP_D_DP_BN_ALU_CFG__BN_ALU_SRC) ||
           operand_from_memory(model, SDP_D_DP_BN_CFG__BN_BYPASS,
                               SDP_D_DP_BN_CFG__BN_MUL_BYPASS,
                               SDP_D_DP_BN_MUL_CFG__BN_MUL_SRC) ||
           operand_from_memory(model, SDP_D_DP_EW_CFG__EW_BYPASS,
                               SDP_D_DP_EW_CFG__EW_ALU_BYPASS,
                               SDP_D_DP_EW_ALU_CFG__EW_ALU_SRC) ||
           operand_from_memory(model, SDP_D_DP_EW_CFG__EW_BYPASS,
                               SDP_D_DP_EW_CFG__EW_MUL_BYPASS,
                               SDP_D_DP_EW_MUL_CFG__EW_MUL_SRC);
}

static void toggle(struct accel_model *model, unsigned block)
{
    unsigned group = model->consumer[block];

    model->armed[block][group] = false;
    model->running[block] = false;
    model->consumer[block] = (uint8_t)(group ^ 1u);
}

static void copy_registers(const struct accel_model *model,
                           struct nvdla_job *job)
{
    for (unsigned block = JOB_FIRST_BLOCK; block <= BLOCK_RBK; block++) {
        if ((job->blocks & BIT(block)) == 0 || block == BLOCK_BDMA) {
            continue;
        }

        uint32_t *to = job->regs[job_block(block)];
        unsigned first = nvdla_op_enable_offset(block) >> 2;
        unsigned group = model->consumer[block];

        memcpy(to, model->regs[0][block], first * sizeof *to);
        memcpy(to + first, &model->regs[group][block][first],
               (JOB_WORDS - first) * sizeof *to);
    }
}

/* Starts a job headed by that unit; the blocks are ready. */
static void start(struct accel_model *model, enum nvdla_unit head,
                  uint32_t units, uint32_t blocks)
{
    struct nvdla_job *job = &model->jobs[head];

    /* All but the state, which a worker may be looking at. */
    memset(&job->has, 0, sizeof *job - offsetof(struct nvdla_job, has));
    job->config = model->config;
    job->host = &model->host;
    job->max_macs = model->max_macs;
    job->max_elements = model->max_elements;
    job->max_bytes = model->max_bytes;
    job->blocks = blocks;
    for (unsigned unit = 0; unit < UNIT_COUNT; unit++) {
        job->has[unit] = (units & BIT(unit)) != 0;
    }
    for (unsigned block = 0; block < BLOCK_COUNT; block++) {
        if ((blocks & BIT(block)) != 0) {
            job->group[block] = model->consumer[block];
            model->running[block] = true;
        }
    }
    copy_registers(model, job);
    if (job->has[UNIT_BDMA]) {
        job->transfers = model->bdma_group[job->group[BLOCK_BDMA]];
    }
    job->lut = job->has[UNIT_CDP] ? model->cdp_lut : model->sdp_lut;
    nvdla_estimate(job);
    job->start = model->now;
    job->end = model->now + nvdla_duration(job);
    job->due = job->end;
    if (job->has[UNIT_CONV]) {
        uint64_t loaded = model->now + nvdla_load_time(job);

        if (job->end < model->now + 3u) {
            job->end = model->now + 3u; /* three stages, one after the other */
        }
        job->due = loaded < job->end - 2u ? loaded : job->end - 2u;
    }
    if (nvdla_fault_strikes(model, FAULT_IRQ_SPURIOUS, model->ops_completed,
                            NULL)) {
        nvdla_glb_later(model, model->now + 1u, 0, true);
    }
    atomic_store_explicit(&job->state, JOB_LAUNCHED, memory_order_release);
}

static void launch_bdma(struct accel_model *model)
{
    unsigned group = model->bdma_next;

    if (model->running[BLOCK_BDMA] || !model->bdma_busy[group]) {
        return;
    }
    model->consumer[BLOCK_BDMA] = (uint8_t)group;
    start(model, UNIT_BDMA, BIT(UNIT_BDMA), BIT(BLOCK_BDMA));
}

static void launch_sdp(struct accel_model *model)
{
    uint32_t units = BIT(UNIT_SDP);
    uint32_t blocks = BIT(BLOCK_SDP);
    enum nvdla_unit head = UNIT_SDP;

    if (!ready(model, BLOCK_SDP)) {
        return;
    }
    if (next_field(model, SDP_D_FEATURE_MODE_CFG__FLYING_MODE)) {
        head = UNIT_CONV;
        units |= BIT(UNIT_CONV);
        blocks |= conv_blocks;
        /* Only then: a ready SDP_RDMA may belong to the operation after. */
        if (sdp_takes_operands(model)) {
            blocks |= BIT(BLOCK_SDP_RDMA);
        }
    } else {
        blocks |= BIT(BLOCK_SDP_RDMA);
    }
    if (next_field(model, SDP_D_FEATURE_MODE_CFG__OUTPUT_DST)) {
        units |= BIT(UNIT_PDP);
        blocks |= BIT(BLOCK_PDP);
    }
    if (!all_ready(model, blocks)) {
        return;
    }
    if ((units & BIT(UNIT_PDP)) != 0 &&
        next_field(model, PDP_D_OPERATION_MODE_CFG__FLYING_MODE)) {
        return;
    }
    start(model, head, units, blocks);
}

void nvdla_launch_ready(struct accel_model *model)
{
    if (ready(model, BLOCK_SDP_RDMA) &&
        next_field(model, SDP_RDMA_D_FEATURE_MODE_CFG__FLYING_MODE) &&
        next_field(model, SDP_RDMA_D_BRDMA_CFG__BRDMA_DISABLE) &&
        next_field(model, SDP_RDMA_D_NRDMA_CFG__NRDMA_DISABLE) &&
        next_field(model, SDP_RDMA_D_ERDMA_CFG__ERDMA_DISABLE)) {
        toggle(model, BLOCK_SDP_RDMA);
    }
    launch_sdp(model);
    if (all_ready(model, BIT(BLOCK_PDP) | BIT(BLOCK_PDP_RDMA)) &&
        next_field(model, PDP_D_OPERATION_MODE_CFG__FLYING_MODE)) {
        start(model, UNIT_PDP, BIT(UNIT_PDP),
              BIT(BLOCK_PDP) | BIT(BLOCK_PDP_RDMA));
    }
    if (all_ready(model, BIT(BLOCK_CDP) | BIT(BLOCK_CDP_RDMA))) {
        start(model, UNIT_CDP, BIT(UNIT_CDP),
              BIT(BLOCK_CDP) | BIT(BLOCK_CDP_RDMA));
    }
    if (ready(model, BLOCK_RBK)) {
        start(model, UNIT_RUBIK, BIT(UNIT_RUBIK), BIT(BLOCK_RBK));
    }
    launch_bdma(model);
}

/* Interrupt bits of a unit whose operation ran in the job's groups. */
static uint32_t done_bits(const struct nvdla_job *job, unsigned unit)
{
    switch (unit) {
    case UNIT_CONV:
        return 1u << (20u + job->group[BLOCK_CACC]);
    case UNIT_SDP:
        return 1u << job->group[BLOCK_SDP];
    case UNIT_CDP:
        return 1u << (2u + job->group[BLOCK_CDP]);
    case UNIT_BDMA:
        return 1u << (6u + job->group[BLOCK_BDMA]);
    case UNIT_RUBIK:
        return 1u << (8u + job->group[BLOCK_RBK]);
    case UNIT_PDP:
    default:
        return 1u << (4u + job->group[BLOCK_PDP]);
    }
}

static void set_result(struct accel_model *model, const struct nvdla_job *job,
                       uint32_t offset, uint32_t value)
{
    unsigned block = offset >> 12;

    model->regs[job->group[block]][block][(offset & 0xfffu) >> 2] = value;
}

static void set_results(struct accel_model *model, const struct nvdla_job *job)
{
    const struct nvdla_lut_counters *lut = &job->lut_counters;

    if (job->has[UNIT_SDP]) {
        bool count = job_field(job, SDP_D_PERF_ENABLE__PERF_LUT_EN) != 0;

        set_result(model, job, SDP_D_STATUS, job->unequal ? 1u : 0u);
        set_result(model, job, SDP_D_PERF_OUT_SATURATION,
                   job_field(job, SDP_D_PERF_ENABLE__PERF_SAT_EN)
                       ? job->sdp_saturation
                       : 0u);
        set_result(model, job, SDP_D_PERF_LUT_UFLOW,
                   count ? lut->underflow : 0u);
        set_result(model, job, SDP_D_PERF_LUT_OFLOW,
                   count ? lut->overflow : 0u);
        set_result(model, job, SDP_D_PERF_LUT_HYBRID, count ? lut->hybrid : 0u);
        set_result(model, job, SDP_D_PERF_LUT_LE_HIT, count ? lut->le_hit : 0u);
        set_result(model, job, SDP_D_PERF_LUT_LO_HIT, count ? lut->lo_hit : 0u);
    }
    if (job->has[UNIT_CDP]) {
        bool count = job_field(job, CDP_D_PERF_ENABLE__LUT_EN) != 0;

        set_result(model, job, CDP_D_OUT_SATURATION, job->cdp_saturation);
        set_result(model, job, CDP_D_PERF_LUT_UFLOW,
                   count ? lut->underflow : 0u);
        set_result(model, job, CDP_D_PERF_LUT_OFLOW,
                   count ? lut->overflow : 0u);
        set_result(model, job, CDP_D_PERF_LUT_HYBRID, count ? lut->hybrid : 0u);
        set_result(model, job, CDP_D_PERF_LUT_LE_HIT, count ? lut->le_hit : 0u);
        set_result(model, job, CDP_D_PERF_LUT_LO_HIT, count ? lut->lo_hit : 0u);
    }
}

static void flip_bit(struct accel_model *model, const struct nvdla_job *job,
                     uint64_t bit)
{
    struct nvdla_port port = nvdla_job_output(job);
    uint64_t address = port.base + bit / 8u;
    uint8_t byte;

    if (!model->host.read(model->host.opaque, port.space, address, &byte, 1)) {
        return;
    }
    byte = (uint8_t)(byte ^ (1u << (bit % 8u)));
    (void)model->host.write(model->host.opaque, port.space, address, &byte, 1);
}

static void compute(struct accel_model *model, struct nvdla_job *job)
{
    (void)pthread_mutex_lock(&model->computing);
    if (atomic_load_explicit(&job->state, memory_order_acquire) ==
        JOB_LAUNCHED) {
        nvdla_job_compute(job);
        atomic_store_explicit(&job->state, JOB_EXECUTED, memory_order_release);
    }
    (void)pthread_mutex_unlock(&model->computing);
}

static unsigned operations(const struct nvdla_job *job)
{
    unsigned count = 0;

    for (unsigned unit = 0; unit < UNIT_COUNT; unit++) {
        count += job->has[unit] ? 1u : 0u;
    }
    return count;
}

static bool strikes_job(struct accel_model *model, const struct nvdla_job *job,
                        enum fault_kind kind, uint64_t *argument)
{
    for (unsigned i = 0; i < operations(job); i++) {
        if (nvdla_fault_strikes(model, kind, model->ops_completed + i,
                                argument)) {
            return true;
        }
    }
    return false;
}

/* Sets interrupt bits now, later, twice or not at all. */
static void raise_bits(struct accel_model *model, uint32_t bits, bool lost,
                       bool twice, const uint64_t *delay)
{
    if (lost) {
        return;
    }
    if (twice) {
        model->intr_again |= bits;
    }
    if (delay != NULL) {
        nvdla_glb_later(model, model->now + *delay, bits, false);
        return;
    }
    nvdla_glb_raise(model, bits);
}

static void report(struct accel_model *model, const struct nvdla_job *job,
                   unsigned unit)
{
    static const unsigned blocks[UNIT_COUNT] = {
        BLOCK_CACC, BLOCK_SDP, BLOCK_PDP, BLOCK_CDP, BLOCK_BDMA, BLOCK_RBK};

    if (model->host.op_done != NULL) {
        struct accel_op_event event = {
            .unit = unit_names[unit],
            .group = job->group[blocks[unit]],
            .start_cycle = job->start,
            .end_cycle = model->now,
            .macs = job->cost[unit].macs,
            .bytes_read = job->cost[unit].bytes_read,
            .bytes_written = job->cost[unit].bytes_written,
        };

        model->host.op_done(model->host.opaque, &event);
    }
}

static void announce(struct accel_model *model, const struct nvdla_job *job,
                     unsigned unit)
{
    uint64_t index = model->ops_completed++;
    uint64_t delay = 0;
    bool lost = nvdla_fault_strikes(model, FAULT_IRQ_LOST, index, NULL);
    bool twice =
        !lost && nvdla_fault_strikes(model, FAULT_IRQ_TWICE, index, NULL);
    bool late =
        !lost && nvdla_fault_strikes(model, FAULT_IRQ_LATE, index, &delay);

    report(model, job, unit);
    raise_bits(model, done_bits(job, unit), lost, twice, late ? &delay : NULL);
}

static void release(struct accel_model *model, const struct nvdla_job *job,
                    uint32_t blocks)
{
    for (unsigned block = 0; block < BLOCK_COUNT; block++) {
        if ((job->blocks & blocks & BIT(block)) == 0) {
            continue;
        }
        if (block == BLOCK_BDMA) {
            model->running[block] = false;
            model->bdma_busy[job->group[block]] = false;
            model->bdma_next = (uint8_t)(job->group[block] ^ 1u);
        } else {
            toggle(model, block);
        }
    }
}

/* The first stage of a job: faults are looked up, the results computed.
 * Returns false when the job will never complete. */
static bool begin(struct accel_model *model, struct nvdla_job *job)
{
    if (strikes_job(model, job, FAULT_STUCK_BUSY, NULL)) {
        /* A worker may be at it: wait, then leave the units busy. */
        (void)pthread_mutex_lock(&model->computing);
        atomic_store_explicit(&job->state, JOB_STUCK, memory_order_release);
        (void)pthread_mutex_unlock(&model->computing);
        return false;
    }
    if (strikes_job(model, job, FAULT_DMA_ERROR, NULL)) {
        job->inject_dma_error = true;
    }
    job->flip = strikes_job(model, job, FAULT_BIT_FLIP, &job->flip_bit);
    compute(model, job);
    for (unsigned i = 0; i < job->error_count && i < JOB_ERRORS; i++) {
        nvdla_guest_error(model, "%s", job->errors[i]);
    }
    if (job->error_count > JOB_ERRORS) {
        nvdla_guest_error(model, "%u more errors in the same operation",
                          job->error_count - JOB_ERRORS);
    }
    return true;
}

/* CDMA has fetched everything. */
static void loaded(struct accel_model *model, struct nvdla_job *job)
{
    uint64_t index = model->ops_completed++;

    job->conv_lost = nvdla_fault_strikes(model, FAULT_IRQ_LOST, index, NULL);
    job->conv_twice = !job->conv_lost &&
                      nvdla_fault_strikes(model, FAULT_IRQ_TWICE, index, NULL);
    job->conv_late =
        !job->conv_lost &&
        nvdla_fault_strikes(model, FAULT_IRQ_LATE, index, &job->conv_delay);
    job->stage = STAGE_LOADED;
    job->due = job->end - 1u;
    release(model, job, BIT(BLOCK_CDMA));
    raise_bits(model,
               1u << (16u + job->group[BLOCK_CDMA]) |
                   1u << (18u + job->group[BLOCK_CDMA]),
               job->conv_lost, job->conv_twice,
               job->conv_late ? &job->conv_delay : NULL);
}

/* CACC has delivered all sums. */
static void delivered(struct accel_model *model, struct nvdla_job *job)
{
    job->stage = STAGE_DELIVERED;
    job->due = job->end;
    set_result(model, job, CACC_D_OUT_SATURATION, job->cacc_saturation);
    release(model, job, conv_blocks & ~BIT(BLOCK_CDMA));
    report(model, job, UNIT_CONV);
    raise_bits(model, done_bits(job, UNIT_CONV), job->conv_lost,
               job->conv_twice, job->conv_late ? &job->conv_delay : NULL);
}

static void finish(struct accel_model *model, struct nvdla_job *job)
{
    if (job->flip) {
        flip_bit(model, job, job->flip_bit);
    }
    set_results(model, job);
    release(model, job, ~conv_blocks);
    atomic_store_explicit(&job->state, JOB_FREE, memory_order_release);
    for (unsigned unit = UNIT_SDP; unit < UNIT_COUNT; unit++) {
        if (job->has[unit]) {
            announce(model, job, unit);
        }
    }
    nvdla_launch_ready(model);
}

void nvdla_proceed(struct accel_model *model, struct nvdla_job *job)
{
    if (job->stage == STAGE_STARTED && !begin(model, job)) {
        return;
    }
    if (job->has[UNIT_CONV] && job->stage == STAGE_STARTED) {
        loaded(model, job);
    } else if (job->stage == STAGE_LOADED) {
        delivered(model, job);
    } else {
        finish(model, job);
    }
}
