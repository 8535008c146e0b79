/*
 * launch.c - jobs: their start, computation and completion.
 *
 * A job that an engine refuses or that leaves memory ends the command stream
 * (vip_fe_fail): what would follow works on tensors that were not written.
 *
 * TP jobs of one group run beside each other on the TP cores: their times
 * start together, though the model computes them one after another. Job
 * addresses with a flag in the low bits are those that more of a group follow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cycles.h"
#include "model.h"

static const char *const unit_names[] = {"NN", "TP"};

static void keep_error(void *opaque, const char *message)
{
    struct vip_job *job = opaque;

    if (job->error_count < VIP_JOB_ERRORS) {
        (void)snprintf(job->errors[job->error_count], VIP_ERROR_TEXT,
                       "%s job at 0x%08" PRIx32 ": %s", unit_names[job->unit],
                       job->address, message);
    }
    job->error_count++;
}

static bool refused(struct vip_job *job, const char *verb, uint64_t address,
                    size_t size, enum vip_access access)
{
    char text[120];

    if (access == VIP_ACCESS_OK) {
        return true;
    }
    (void)snprintf(text, sizeof text, "%s of %zu bytes at 0x%08" PRIx64 " %s",
                   verb, size, address,
                   access == VIP_ACCESS_EDGE
                       ? "crosses the edge of the VIP SRAM"
                       : "is outside the memory");
    keep_error(job, text);
    return false;
}

static bool job_read(void *opaque, uint64_t address, void *data, size_t size)
{
    struct vip_job *job = opaque;

    if (job->inject_dma_error) {
        job->read_failed = true;
        keep_error(job, "DMA error (injected fault)");
        return false;
    }
    if (!refused(job, "read", address, size,
                 vip_route_read(&job->route, address, data, size))) {
        job->read_failed = true;
        return false;
    }
    return true;
}

static bool job_write(void *opaque, uint64_t address, const void *data,
                      size_t size)
{
    struct vip_job *job = opaque;

    if (!refused(job, "write", address, size,
                 vip_route_write(&job->route, address, data, size))) {
        job->write_failed = true;
        return false;
    }
    return true;
}

static bool load_descriptor(struct accel_model *model, struct vip_job *job)
{
    uint8_t bytes[VIP_JOB_WORDS * 4u];

    if (vip_route_read(&job->route, job->address, bytes, sizeof bytes) !=
        VIP_ACCESS_OK) {
        model->axi_status |= 0x200u; /* DET_RD_ERR */
        vip_fe_fail(model,
                    "%s job: descriptor at 0x%08" PRIx32
                    " is outside the memory",
                    unit_names[job->unit], job->address);
        return false;
    }
    for (unsigned i = 0; i < VIP_JOB_WORDS; i++) {
        job->words[i] = (uint32_t)bytes[4u * i] |
                        (uint32_t)bytes[4u * i + 1u] << 8 |
                        (uint32_t)bytes[4u * i + 2u] << 16 |
                        (uint32_t)bytes[4u * i + 3u] << 24;
    }
    return true;
}

void vip_job_launch(struct accel_model *model, enum vip_unit unit,
                    uint32_t value)
{
    struct vip_front_end *fe = &model->fe;
    struct vip_job *job = &model->job;
    uint64_t from;

    job->unit = unit;
    job->address = value & ~0x3fu;
    job->route = model->route;
    job->inject_dma_error = false;
    job->ok = false;
    job->read_failed = false;
    job->write_failed = false;
    job->error_count = 0;
    memset(&job->cost, 0, sizeof job->cost);
    if (fe->jobs++ >= model->max_jobs) {
        vip_fe_fail(model, "FE: more than %u jobs in one run", model->max_jobs);
        return;
    }
    if (!load_descriptor(model, job)) {
        return;
    }
    job->facts = (struct vip_job_facts){
        .generation = model->config->generation,
        .nn_cores = model->config->nn_cores,
        .tp_cores = model->config->tp_cores,
        .nn_config = fe->nn_config,
        .max_macs = model->max_macs,
        .max_elements = model->max_elements,
        .max_bytes = model->max_bytes,
    };
    job->in_group = unit == VIP_TP && (value & 0x3fu) != 0;
    from = fe->group && unit == VIP_TP ? fe->group_start : model->now;
    fe->group = job->in_group;
    fe->group_start = from;
    job->start = model->now;
    job->due = from + vip_job_cycles(model->config, job);
    if (job->due < model->now + 1u) {
        job->due = model->now + 1u;
    }
    fe->idle_commands = 0;
    fe->state = FE_JOB;
    atomic_store_explicit(&job->state, VIP_JOB_LAUNCHED, memory_order_release);
}

void vip_job_compute(struct accel_model *model)
{
    struct vip_job *job = &model->job;

    (void)pthread_mutex_lock(&model->computing);
    if (atomic_load_explicit(&job->state, memory_order_acquire) ==
        VIP_JOB_LAUNCHED) {
        struct vip_memory memory = {job, job_read, job_write, keep_error};

        job->ok =
            job->unit == VIP_NN
                ? vip_nn_run(&memory, &job->facts, job->words, &job->cost)
                : vip_tp_run(&memory, &job->facts, job->words, &job->cost);
        atomic_store_explicit(&job->state, VIP_JOB_EXECUTED,
                              memory_order_release);
    }
    (void)pthread_mutex_unlock(&model->computing);
}

static void flip_bit(struct vip_job *job, uint64_t bit)
{
    uint64_t address = job->words[job->unit == VIP_NN ? 7 : 13] + bit / 8u;
    uint8_t byte;

    if (vip_route_read(&job->route, address, &byte, 1) == VIP_ACCESS_OK) {
        byte = (uint8_t)(byte ^ (1u << (bit % 8u)));
        (void)vip_route_write(&job->route, address, &byte, 1);
    }
}

static void report_errors(struct accel_model *model, const struct vip_job *job)
{
    for (unsigned i = 0; i < job->error_count && i < VIP_JOB_ERRORS; i++) {
        vip_guest_error(model, "%s", job->errors[i]);
    }
    if (job->error_count > VIP_JOB_ERRORS) {
        vip_guest_error(model, "%u more errors in the same job",
                        job->error_count - VIP_JOB_ERRORS);
    }
}

static void report_done(struct accel_model *model, const struct vip_job *job)
{
    if (model->host.op_done != NULL) {
        struct accel_op_event event = {
            .unit = unit_names[job->unit],
            .group = 0,
            .start_cycle = job->start,
            .end_cycle = model->now,
            .macs = job->cost.macs,
            .bytes_read = job->cost.bytes_read,
            .bytes_written = job->cost.bytes_written,
        };

        model->host.op_done(model->host.opaque, &event);
    }
}

void vip_job_complete(struct accel_model *model)
{
    struct vip_job *job = &model->job;
    uint64_t index = model->jobs_completed;
    uint64_t bit = 0;

    if (accel_fault_strikes(&model->faults, FAULT_STUCK_BUSY, index, NULL)) {
        /* A worker may be at it: wait, then leave the unit busy. */
        (void)pthread_mutex_lock(&model->computing);
        atomic_store_explicit(&job->state, VIP_JOB_STUCK, memory_order_release);
        (void)pthread_mutex_unlock(&model->computing);
        return;
    }
    if (accel_fault_strikes(&model->faults, FAULT_DMA_ERROR, index, NULL)) {
        job->inject_dma_error = true; /* nobody else computes then: in_order */
    }
    vip_job_compute(model);
    atomic_store_explicit(&job->state, VIP_JOB_FREE, memory_order_release);
    report_errors(model, job);
    if (!job->ok) {
        model->axi_status |= job->write_failed ? 0x100u : 0u; /* DET_WR_ERR */
        model->axi_status |= job->read_failed ? 0x200u : 0u;  /* DET_RD_ERR */
        vip_fe_fail(model,
                    "%s job at 0x%08" PRIx32 " failed: the front end stops",
                    unit_names[job->unit], job->address);
        return;
    }
    if (accel_fault_strikes(&model->faults, FAULT_BIT_FLIP, index, &bit)) {
        flip_bit(job, bit);
    }
    model->jobs_completed++;
    report_done(model, job);
    vip_fe_continue(model);
}
