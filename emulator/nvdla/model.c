/*
 * model.c - an emulated NVDLA: creation, reset, time, and its entry points.
 *
 * Implements accel_model.h for the register map of nv_small ... nv_large, with
 * the int8 datapath complete: CDMA/CSC/CMAC/CACC, SDP, PDP, CDP, GLB. Not
 * modelled, and refused loudly where software asks for it: int16 and fp16,
 * Winograd, compressed weights, batches, 10- and 16-bit pixel formats. The
 * performance counters for stalls and for NaN/infinity read 0. BDMA and RUBIK
 * are modelled, though no published configuration has them.
 *
 * An operation runs for the cycles that cycles.c estimates; its results reach
 * memory when that time has passed (or earlier, through execute()).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static void set_parameters(struct accel_model *model)
{
    /* CFGROM describes nv_small; these words follow the configuration. */
    const struct nvdla_config *config = model->config;
    const struct {
        uint32_t offset;
        uint32_t value;
    } words[] = {
        {0x014, config->bus_bits / 8u}, {0x038, config->atomic_c},
        {0x03c, config->atomic_k},      {0x040, config->atom},
        {0x044, config->cbuf_banks},    {0x048, config->cbuf_width},
        {0x04c, config->cbuf_depth},    {0x068, config->cbuf_banks},
        {0x06c, config->cbuf_width},    {0x070, config->cbuf_depth},
        {0x08c, config->atomic_c},      {0x090, config->atomic_k},
        {0x094, config->atom},          {0x098, config->cbuf_banks},
        {0x09c, config->cbuf_width},    {0x0a0, config->cbuf_depth},
        {0x0c0, config->atomic_c},      {0x0c4, config->atomic_k},
        {0x0e0, config->atomic_c},      {0x0e4, config->atomic_k},
        {0x100, config->atomic_c},      {0x104, config->atomic_k},
        {0x11c, config->atom},          {0x158, config->atom},
        {0x180, config->atom},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        model->regs[0][BLOCK_CFGROM][words[i].offset >> 2] = words[i].value;
    }
}

static void reset(struct accel_model *model)
{
    /* A worker may be computing: let it finish its job. */
    (void)pthread_mutex_lock(&model->computing);
    for (unsigned i = 0; i < UNIT_COUNT; i++) {
        atomic_store(&model->jobs[i].state, JOB_FREE);
    }
    (void)pthread_mutex_unlock(&model->computing);
    memset(model->regs, 0, sizeof model->regs);
    for (size_t i = 0; i < nvdla_register_count(); i++) {
        const struct nvdla_register *reg = nvdla_register_at(i);
        unsigned block = reg->offset >> 12;
        unsigned word = (reg->offset & 0xfffu) >> 2;

        model->regs[0][block][word] = reg->reset;
        model->regs[1][block][word] = reg->reset;
    }
    set_parameters(model);
    memset(model->armed, 0, sizeof model->armed);
    memset(model->running, 0, sizeof model->running);
    memset(model->producer, 0, sizeof model->producer);
    memset(model->consumer, 0, sizeof model->consumer);
    memset(model->delayed, 0, sizeof model->delayed);
    memset(&model->bdma_open, 0, sizeof model->bdma_open);
    memset(model->bdma_busy, 0, sizeof model->bdma_busy);
    model->intr_status = 0;
    model->intr_mask = 0;
    model->intr_again = 0;
    model->spurious = false;
    nvdla_glb_update(model);
}

static struct accel_model *create(const char *config,
                                  const struct accel_host *host, char *error,
                                  size_t error_size)
{
    const struct nvdla_config *found = nvdla_config_find(config);
    struct accel_model *model;

    if (found == NULL) {
        (void)snprintf(error, error_size,
                       "nvdla has no configuration '%.40s'; there are "
                       "nv_small, nv_small_256, nv_small_256_full, "
                       "nv_medium_512, nv_medium_1024_full and nv_large",
                       config != NULL ? config : "");
        return NULL;
    }
    model = calloc(1, sizeof *model);
    if (model == NULL || pthread_mutex_init(&model->computing, NULL) != 0) {
        (void)snprintf(error, error_size, "out of memory");
        free(model);
        return NULL;
    }
    model->config = found;
    model->host = *host;
    nvdla_model_limit(model, (uint64_t)1 << 38, (uint64_t)1 << 30,
                      (size_t)1 << 30);
    reset(model);
    return model;
}

void nvdla_model_limit(struct accel_model *model, uint64_t macs,
                       uint64_t elements, size_t bytes)
{
    model->max_macs = macs;
    model->max_elements = elements;
    model->max_bytes = bytes;
}

static void destroy(struct accel_model *model)
{
    if (model == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&model->computing);
    (void)pthread_mutex_unlock(&model->computing);
    (void)pthread_mutex_destroy(&model->computing);
    free(model);
}

static bool is_running(const struct nvdla_job *job)
{
    int state = atomic_load_explicit(&job->state, memory_order_acquire);

    return state == JOB_LAUNCHED || state == JOB_EXECUTED;
}

/* Model time of the next stage of a job or delayed interrupt. */
static uint64_t next_time(const struct accel_model *model)
{
    uint64_t earliest = ACCEL_NO_EVENT;

    for (unsigned i = 0; i < UNIT_COUNT; i++) {
        if (is_running(&model->jobs[i]) && model->jobs[i].due < earliest) {
            earliest = model->jobs[i].due;
        }
    }
    for (unsigned i = 0; i < DELAYED_COUNT; i++) {
        if (model->delayed[i].used && model->delayed[i].cycle < earliest) {
            earliest = model->delayed[i].cycle;
        }
    }
    return earliest;
}

static uint64_t next_event(const struct accel_model *model)
{
    uint64_t time = next_time(model);

    return time == ACCEL_NO_EVENT ? ACCEL_NO_EVENT : time - model->now;
}

/* Handles one thing that is due now. */
static void handle_due(struct accel_model *model)
{
    for (unsigned i = 0; i < DELAYED_COUNT; i++) {
        struct nvdla_delayed *delayed = &model->delayed[i];

        if (delayed->used && delayed->cycle <= model->now) {
            delayed->used = false;
            if (delayed->spurious) {
                model->spurious = true;
            }
            nvdla_glb_raise(model, delayed->bits);
            return;
        }
    }
    for (unsigned i = 0; i < UNIT_COUNT; i++) {
        struct nvdla_job *job = &model->jobs[i];

        if (is_running(job) && job->due <= model->now) {
            nvdla_proceed(model, job);
            return;
        }
    }
}

static void advance(struct accel_model *model, uint64_t cycles)
{
    uint64_t target = cycles > UINT64_MAX - 1u - model->now
                          ? UINT64_MAX - 1u
                          : model->now + cycles;
    uint64_t time = next_time(model);

    while (time <= target) {
        model->now = time > model->now ? time : model->now;
        handle_due(model);
        time = next_time(model);
    }
    if (cycles != UINT64_MAX) {
        model->now = target;
    }
}

static void execute(struct accel_model *model)
{
    if (atomic_load(&model->in_order)) {
        return;
    }
    (void)pthread_mutex_lock(&model->computing);
    for (unsigned i = 0; i < UNIT_COUNT; i++) {
        struct nvdla_job *job = &model->jobs[i];

        if (atomic_load_explicit(&job->state, memory_order_acquire) ==
            JOB_LAUNCHED) {
            nvdla_job_compute(job);
            atomic_store_explicit(&job->state, JOB_EXECUTED,
                                  memory_order_release);
        }
    }
    (void)pthread_mutex_unlock(&model->computing);
}

static uint64_t guest_errors(const struct accel_model *model)
{
    return model->error_total;
}

const struct accel_family nvdla_family = {
    .name = "nvdla",
    .configs = nvdla_config_names,
    .create = create,
    .destroy = destroy,
    .reset = reset,
    .read = nvdla_csb_read,
    .write = nvdla_csb_write,
    .next_event = next_event,
    .advance = advance,
    .execute = execute,
    .guest_errors = guest_errors,
    .register_name = nvdla_csb_name,
    .fault = nvdla_fault_arm,
    .window_size = NVDLA_WINDOW,
    .resets = nvdla_csb_resets,
};
