/*
 * pipeline_app.c - runs a model back to back and checks every output.
 *
 * Two jobs take turns, one for each bank where the build has two, so that one
 * always waits while the other one runs. data.h has PIPELINE_RUNS,
 * PIPELINE_DEPTH and, for each of two cases, input and expected output 0.
 */
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_accel.h"
#include "fwgen_app.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_fault.h"

#include "data.h"
#ifdef PIPELINE_CHECK
#include "nvdla.h"
#endif

static struct fwgen_job jobs[2];
static StaticTask_t task;
static StackType_t stack[512];

static void fill(const struct fwgen_model *model, uint32_t bank,
                 uint32_t number)
{
    const struct fwgen_tensor *in = fwgen_model_input_bank(model, 0, bank);

    (void)fwgen_tensor_write(in, inputs[number], in->size);
}

#ifdef PIPELINE_CHECK
/* Cancels one of two jobs at many moments: a job is cancelled or right, and
 * nothing is left behind for the next. Returns the number of surprises. */
static uint32_t cancel(fwgen_device device, const struct fwgen_model *model)
{
    uint32_t bad = 0;

    for (uint32_t n = 0; n < 60u; n++) {
        for (uint32_t i = 0; i < 2u; i++) {
            const struct fwgen_tensor *out =
                fwgen_model_output_bank(model, 0, model->banks > 1u ? i : 0u);

            out->address[0] ^= 0xffu;
            fwgen_cache_clean((uintptr_t)out->address, out->size);
            (void)fwgen_accel_submit_async(device, &jobs[i], 0);
        }
        fwgen_cpu_spin(n * 400u);
        if (n % 3u != 2u) {
            fwgen_job_cancel(&jobs[n % 3u]);
        }
        for (uint32_t i = 0; i < 2u; i++) {
            const uint32_t bank = model->banks > 1u ? i : 0u;
            const struct fwgen_tensor *out =
                fwgen_model_output_bank(model, 0, bank);
            const enum fwgen_result result =
                fwgen_job_wait(&jobs[i], portMAX_DELAY);

            bad += result != FWGEN_OK &&
                   (result != FWGEN_ERROR_CANCELLED || i != n % 3u);
            bad += result == FWGEN_OK &&
                   memcmp(out->address, expected[bank], out->size) != 0;
        }
    }
    return bad;
}

/* The interface of NVDLA users, and what must be refused. Returns the number of
 * surprises. */
static uint32_t check(const struct fwgen_model *model)
{
    static const enum nvdla_pipe_depth depths[] = {
        NVDLA_PIPE_DEPTH_1, NVDLA_PIPE_DEPTH_2, NVDLA_PIPE_DEPTH_4};
    nvdla_handle handle;
    uint32_t bad = 0;

    bad += nvdla_create(&handle) != FWGEN_OK;
    bad += nvdla_load(handle, model) != FWGEN_OK;
    for (uint32_t i = 0; i < 3u; i++) {
        const bool there =
            i == 0u || (uint32_t)depths[i] == model->pipeline_depth;
        const struct fwgen_tensor *out = fwgen_model_output(model, 0);

        bad += nvdla_enable_pipeline(handle, depths[i]) !=
               (there ? FWGEN_OK : FWGEN_ERROR_NOT_SUPPORTED);
        bad += fwgen_job_set_depth(&jobs[0], (uint32_t)depths[i]) !=
               (there ? FWGEN_OK : FWGEN_ERROR_NOT_SUPPORTED);
        if (there) {
            out->address[0] ^= 0xffu;
            fwgen_cache_clean((uintptr_t)out->address, out->size);
            bad += nvdla_submit(handle, 0) != FWGEN_OK;
            bad += memcmp(out->address, expected[0], out->size) != 0;
        }
    }
    bad += nvdla_destroy(handle) != FWGEN_OK;
    bad += fwgen_job_set_bank(&jobs[0], 2) != FWGEN_ERROR_NOT_SUPPORTED;
    bad += fwgen_model_input_bank(model, 0, model->banks) != NULL;
    bad += fwgen_model_output_bank(model, model->output_count, 0) != NULL;
    return bad;
}
#endif

static void run(void *argument)
{
    const struct fwgen_model *model = &fwgen_models[0];
    fwgen_device device = fwgen_accel_device(model->accelerator);
#ifdef PIPELINE_SHARED
    const bool banks = false;
#else
    const bool banks = model->banks > 1u;
#endif
    uint32_t wrong = 0;
    uint32_t failed = 0;
    uint64_t start;

    (void)argument;
    for (uint32_t i = 0; i < 2u; i++) {
        fwgen_job_init(&jobs[i], model);
        failed += fwgen_job_set_depth(&jobs[i], PIPELINE_DEPTH) != FWGEN_OK;
        if (banks) {
            failed += fwgen_job_set_bank(&jobs[i], i) != FWGEN_OK;
        }
        if (banks || i == 0u) {
            fill(model, i, i);
        }
    }
    vTaskDelay(2);
#ifdef PIPELINE_CHECK
    failed += 100u * check(model);
    (void)fwgen_job_set_depth(&jobs[0], PIPELINE_DEPTH);
    failed += 10000u * cancel(device, model);
    (void)fwgen_job_set_depth(&jobs[0], PIPELINE_DEPTH);
#endif
    start = fwgen_timer_read();
    (void)fwgen_accel_submit_async(device, &jobs[0], 0);
    (void)fwgen_accel_submit_async(device, &jobs[1], 0);
    for (uint32_t n = 0; n < PIPELINE_RUNS; n++) {
        const uint32_t bank = n & 1u;
        const struct fwgen_tensor *out =
            fwgen_model_output_bank(model, 0, banks ? bank : 0u);

        failed += fwgen_job_wait(&jobs[bank], portMAX_DELAY) != FWGEN_OK;
        wrong +=
            memcmp(out->address, expected[banks ? bank : 0u], out->size) != 0;
        if (banks) {
            /* an output that is not written again shows */
            out->address[0] ^= 0xffu;
            fwgen_cache_clean((uintptr_t)out->address, out->size);
        }
        if (n + 2u < PIPELINE_RUNS) {
            (void)fwgen_accel_submit_async(device, &jobs[bank], 0);
        }
    }
    start = fwgen_timer_read() - start;
    fwgen_console_lock();
    fwgen_print("wrong ");
    fwgen_print_decimal(wrong);
    fwgen_print(" failed ");
    fwgen_print_decimal(failed);
    fwgen_print(" ticks ");
    fwgen_print_decimal((uint32_t)start);
    fwgen_print(" hz ");
    fwgen_print_decimal(fwgen_timer_hz());
    fwgen_print(" done\n");
    fwgen_console_unlock();
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    (void)xTaskCreateStatic(run, "app", 512, NULL, 2, stack, &task);
}
