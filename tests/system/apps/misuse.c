/*
 * misuse.c - one mistake, chosen by MISUSE, in a test build: it asserts.
 */
#include "app.h"

static uint8_t buffer[516] __attribute__((aligned(4)));
static struct fwgen_fence fence;

static void wait_for_it(void *argument)
{
    (void)argument;
    (void)fwgen_fence_wait(&fence, portMAX_DELAY);
    vTaskSuspend(NULL);
}

static void client(void *argument)
{
    const fwgen_device device = fwgen_accel_device(0);
    const struct fwgen_model *model = &fwgen_models[0];
    static struct fwgen_task task;
    static struct fwgen_buffer in;

    (void)argument;
    vTaskDelay(5);
    fwgen_log("app: now");
    fwgen_task_init(&task, model);
    task.inputs = &in;
    in.data = buffer;
    in.size = 512;
    switch (MISUSE) {
    case 0:
        (void)fwgen_accel_submit(NULL, model, 0, NULL);
        break;
    case 1:
        in.size = 4;
        (void)fwgen_task_submit(device, &task, 0);
        break;
    case 2:
        in.data = buffer + 1;
        (void)fwgen_task_submit(device, &task, 0);
        break;
    case 3:
        (void)fwgen_fence_destroy(&fence); /* wait_for_it waits */
        break;
    case 4:
        (void)fwgen_tensor_write(fwgen_model_input(model, 0), buffer, 1);
        break;
    case 5:
        (void)nvdla_load(NULL, model);
        break;
    case 6:
        (void)fwgen_model_input(fwgen_model_find("no such model"), 0);
        break;
    default:
        /* run-time conditions do not assert */
        (void)fwgen_fence_signal(&fence);
        vTaskDelay(2);
        (void)fwgen_fence_signal(&fence);
        (void)fwgen_fence_signal(&fence);
        (void)fwgen_task_submit(device, &task, 0);
        (void)fwgen_task_submit(device, &task, 0);
        (void)fwgen_job_wait(&task.job, portMAX_DELAY);
        break;
    }
    fwgen_log("app: went on");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    (void)fwgen_fence_init(&fence, FWGEN_FENCE_BINARY);
    APP_TASK(wait_for_it, 2, NULL);
    APP_TASK(client, 1, NULL);
}
