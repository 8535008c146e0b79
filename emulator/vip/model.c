/*
 * model.c - an emulated VeriSilicon VIP: creation, reset, time, entry points.
 *
 * Implements accel_model.h. Modelled: registers of the host interface, the
 * front end with its command stream, events, the VIP SRAM, the NN engine
 * (nn*.c) and the TP engine (tp*.c) on uint8 data. Not modelled, and refused
 * loudly where software asks for it: shader jobs, the MMU, int8, int16 and
 * float data, performance counters, more than one core complex.
 *
 * A job runs for the cycles that cycles.c estimates; its results reach memory
 * when that time has passed (or earlier, through execute()).
 */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the VIP SRAM holds at power-on: not zero, so that software which relies
 * on cleared memory is found out. */
#define SRAM_FILL 0xa5

void vip_guest_error(struct accel_model *model, const char *format, ...)
{
    model->error_total++;
    if (model->host.guest_error != NULL) {
        char text[VIP_ERROR_TEXT + 60];
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        model->host.guest_error(model->host.opaque, text);
    }
}

void vip_model_reset(struct accel_model *model)
{
    /* A worker may be computing: let it finish its job. */
    (void)pthread_mutex_lock(&model->computing);
    atomic_store(&model->job.state, VIP_JOB_FREE);
    (void)pthread_mutex_unlock(&model->computing);
    memset(&model->fe, 0, sizeof model->fe);
    memset(model->delayed, 0, sizeof model->delayed);
    model->route.has_window = false;
    model->route.axi_start = 0;
    model->route.axi_end = 0;
    model->axi_status = 0;
    model->intr_pending = 0;
    model->intr_enable = 0;
    model->intr_again = 0;
    model->spurious = false;
    vip_registers_reset(model);
    vip_intr_update(model);
}

static void power_on(struct accel_model *model)
{
    vip_model_reset(model);
    memset(model->route.sram, SRAM_FILL, model->config->sram_size);
}

static struct accel_model *create(const char *config,
                                  const struct accel_host *host, char *error,
                                  size_t error_size)
{
    const struct vip_config *found = vip_config_find(config);
    struct accel_model *model;

    if (found == NULL) {
        int used = snprintf(error, error_size,
                            "vip has no configuration '%.40s'; there are",
                            config != NULL ? config : "");

        for (const char *const *name = vip_config_names();
             *name != NULL && used > 0 && (size_t)used < error_size; name++) {
            used +=
                snprintf(error + used, error_size - (size_t)used, " %s", *name);
        }
        return NULL;
    }
    model = calloc(1, sizeof *model);
    if (model != NULL) {
        model->route.sram = malloc(found->sram_size);
    }
    if (model == NULL || model->route.sram == NULL ||
        pthread_mutex_init(&model->computing, NULL) != 0) {
        (void)snprintf(error, error_size, "out of memory");
        if (model != NULL) {
            free(model->route.sram);
        }
        free(model);
        return NULL;
    }
    model->config = found;
    model->host = *host;
    model->route.host = &model->host;
    model->route.sram_size = found->sram_size;
    vip_model_limit(model, (uint64_t)1 << 38, (uint64_t)1 << 28,
                    (size_t)1 << 30, 1u << 16, 1u << 14);
    power_on(model);
    return model;
}

void vip_model_limit(struct accel_model *model, uint64_t macs,
                     uint64_t elements, size_t bytes, unsigned commands,
                     unsigned jobs)
{
    model->max_macs = macs;
    model->max_elements = elements;
    model->max_bytes = bytes;
    model->max_idle_commands = commands;
    model->max_jobs = jobs;
}

static void destroy(struct accel_model *model)
{
    if (model == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&model->computing);
    (void)pthread_mutex_unlock(&model->computing);
    (void)pthread_mutex_destroy(&model->computing);
    free(model->route.sram);
    free(model);
}

/* Model time of whatever happens next. */
static uint64_t next_time(const struct accel_model *model)
{
    uint64_t earliest = vip_intr_next(model);
    int state = atomic_load_explicit(&model->job.state, memory_order_acquire);

    if (model->fe.state == FE_RUNNING && model->fe.due < earliest) {
        earliest = model->fe.due;
    }
    if ((state == VIP_JOB_LAUNCHED || state == VIP_JOB_EXECUTED) &&
        model->job.due < earliest) {
        earliest = model->job.due;
    }
    return earliest;
}

static uint64_t next_event(const struct accel_model *model)
{
    uint64_t time = next_time(model);

    if (time == ACCEL_NO_EVENT) {
        return ACCEL_NO_EVENT;
    }
    return time > model->now ? time - model->now : 0;
}

static void handle_due(struct accel_model *model)
{
    if (vip_intr_due(model)) {
        return;
    }
    if (model->fe.state == FE_RUNNING && model->fe.due <= model->now) {
        vip_fe_proceed(model);
    } else {
        vip_job_complete(model);
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
    if (!atomic_load(&model->in_order)) {
        vip_job_compute(model);
    }
}

static uint64_t guest_errors(const struct accel_model *model)
{
    return model->error_total;
}

const struct accel_family vip_family = {
    .name = "vip",
    .configs = vip_config_names,
    .create = create,
    .destroy = destroy,
    .reset = power_on,
    .read = vip_register_read,
    .write = vip_register_write,
    .next_event = next_event,
    .advance = advance,
    .execute = execute,
    .guest_errors = guest_errors,
    .register_name = vip_register_name,
    .fault = vip_fault_arm,
    .window_size = VIP_WINDOW,
    .resets = vip_register_resets,
};
