/*
 * on_cpu.c - the application's interface on a board whose CPU runs the models:
 * the same names and results, deadlines and cancellation between kernels.
 */
#include "app.h"

static nvdla_handle handle;
static fwgen_device device;
static const struct fwgen_model *model;
static uint8_t input[512] __attribute__((aligned(4)));
static uint8_t output[16] __attribute__((aligned(4)));

/* One inference with image `i` is right. */
static bool works(uint32_t i)
{
    (void)memcpy(input, images[i], sizeof(input));
    EXPECT(fwgen_tensor_write(fwgen_model_input(model, 0), input, 512) ==
           FWGEN_OK);
    EXPECT(nvdla_submit(handle, 0) == FWGEN_OK);
    EXPECT(fwgen_tensor_read(fwgen_model_output(model, 0), output, 16) ==
           FWGEN_OK);
    EXPECT(memcmp(output, scores[i], 16) == 0);
    return true;
}

static bool results(void)
{
    struct nvdla_status status;

    EXPECT(nvdla_create(&handle) == FWGEN_OK);
    EXPECT(nvdla_load(handle, model) == FWGEN_OK);
    for (uint32_t i = 0; i < CASES; i++) {
        EXPECT(works(i));
    }
    EXPECT(nvdla_get_status(handle, &status) == FWGEN_OK);
    EXPECT(status.hw_version == NVDLA_VERSION_CPU);
    EXPECT(status.state == FWGEN_STATE_IDLE);
    EXPECT(status.statistics.inferences == CASES);
    EXPECT(status.statistics.interrupts == 0u);
    EXPECT(status.last.duration != 0u);
    return true;
}

static bool deadline(void)
{
    struct nvdla_status status;

    EXPECT(nvdla_submit(handle, 1) == FWGEN_ERROR_TIMEOUT);
    EXPECT(nvdla_get_status(handle, &status) == FWGEN_OK);
    EXPECT(status.last.operation < model->operation_count);
    EXPECT(works(1));
    return true;
}

static bool cancelling(void)
{
    struct fwgen_job job;

    fwgen_job_init(&job, model);
    EXPECT(fwgen_accel_submit_async(device, &job, 0) == FWGEN_OK);
    vTaskDelay(2);
    EXPECT(fwgen_accel_state(device) == FWGEN_STATE_RUNNING);
    fwgen_job_cancel(&job);
    EXPECT(fwgen_job_wait(&job, portMAX_DELAY) == FWGEN_ERROR_CANCELLED);
    EXPECT(works(2));
    return true;
}

static void client(void *argument)
{
    (void)argument;
    model = &fwgen_models[0];
    device = fwgen_accel_device(0);
    CHECK(results);
    CHECK(deadline);
    CHECK(cancelling);
    fwgen_log("app: end");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    /* Above the task that computes, so that it can cancel. */
    APP_TASK(client, NVDLA_TASK_PRIORITY + 1, NULL);
}
