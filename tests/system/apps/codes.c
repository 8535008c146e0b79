/*
 * codes.c - misuse and bad input of the interface in a build that returns
 * codes: each is as documented and nothing is corrupted.
 */
#include "app.h"

#define QUEUE 3u /* queue_length of the build */

static fwgen_device device;
static const struct fwgen_model *model;
static uint8_t input[512] __attribute__((aligned(4)));
static uint8_t output[20] __attribute__((aligned(4)));
static struct fwgen_buffer in = {input, 512};
static struct fwgen_buffer out = {output, 16};
static struct fwgen_task task;
static struct fwgen_fence fence;
static struct fwgen_fence other;
static struct fwgen_fence *const one_event[] = {&fence};

/* One inference with image `i` is right. */
static bool works(uint32_t i)
{
    in.data = input;
    out.data = output;
    in.size = 512;
    out.size = 16;
    (void)memcpy(input, images[i], sizeof(input));
    (void)memset(output, 0xee, sizeof(output));
    fwgen_task_init(&task, model);
    task.inputs = &in;
    task.outputs = &out;
    EXPECT(fwgen_task_run(device, &task, 0) == FWGEN_OK);
    EXPECT(memcmp(output, scores[i], 16) == 0);
    EXPECT(output[16] == 0xee && output[19] == 0xee);
    return true;
}

static bool buffers(void)
{
    static uint8_t before[512];
    const struct fwgen_tensor *tensor = fwgen_model_input(model, 0);

    EXPECT(works(0));
    (void)memcpy(before, tensor->address, sizeof(before));
    (void)memset(input, 0x55, sizeof(input));
    in.size = 511;
    EXPECT(fwgen_task_run(device, &task, 0) == FWGEN_ERROR_BAD_LENGTH);
    in.size = 513;
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_BAD_LENGTH);
    in.size = 512;
    out.size = 0;
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_BAD_LENGTH);
    out.size = 16;
    in.data = input + 2;
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_ALIGNMENT);
    in.data = input;
    out.data = output + 1;
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_ALIGNMENT);
    EXPECT(fwgen_tensor_write(tensor, input + 1, 512) == FWGEN_ERROR_ALIGNMENT);
    EXPECT(fwgen_tensor_write(tensor, input, 1) == FWGEN_ERROR_BAD_LENGTH);
    EXPECT(fwgen_tensor_write(NULL, input, 512) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_tensor_read(tensor, NULL, 512) == FWGEN_ERROR_ARGUMENT);
    EXPECT(memcmp(before, tensor->address, sizeof(before)) == 0);
    EXPECT(fwgen_job_is_over(&task.job));
    EXPECT(works(1));
    return true;
}

static bool arguments(void)
{
    const volatile uint32_t *volatile const vectors = NULL;
    const uint32_t vector = *vectors;
    struct fwgen_job job;
    struct fwgen_model elsewhere = *model;
    struct fwgen_statistics statistics;
    uint32_t ticks;

    EXPECT(fwgen_accel_submit(NULL, model, 0, NULL) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_accel_submit(device, NULL, 0, NULL) == FWGEN_ERROR_ARGUMENT);
    elsewhere.accelerator = 7;
    EXPECT(fwgen_accel_submit(device, &elsewhere, 0, NULL) ==
           FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_accel_submit_async(device, NULL, 0) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_task_submit(device, NULL, 0) == FWGEN_ERROR_ARGUMENT);
    fwgen_job_init(&job, model);
    EXPECT(fwgen_job_wait(&job, 0) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_job_set_priority(NULL, 1) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_job_set_bank(NULL, 1) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_job_set_depth(NULL, 1) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_job_run(device, NULL, 0) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_job_wait(NULL, 0) == FWGEN_ERROR_ARGUMENT);
    /* a name that is not found, and what follows from it */
    EXPECT(fwgen_model_find("digit") == NULL && fwgen_model_find(NULL) == NULL);
    EXPECT(fwgen_model_input(NULL, 0) == NULL);
    EXPECT(fwgen_model_output(NULL, 0) == NULL);
    EXPECT(fwgen_model_input_bank(NULL, 0, 0) == NULL);
    EXPECT(fwgen_model_output_bank(NULL, 0, 0) == NULL);
    EXPECT(fwgen_model_find_input(NULL, "image") == NULL);
    EXPECT(fwgen_model_find_output(model, NULL) == NULL);
    /* a device that the board has not */
    EXPECT(fwgen_accel_device(1) == NULL);
    EXPECT(fwgen_accel_hardware(NULL) == NULL);
    EXPECT(fwgen_accel_state(NULL) == FWGEN_STATE_BROKEN);
    EXPECT(fwgen_accel_profile(NULL, model, 0, &ticks, 1) == 0u);
    EXPECT(fwgen_accel_profile(device, model, 0, NULL, 1) == 0u);
    (void)memset(&statistics, 0x5a, sizeof(statistics));
    fwgen_accel_statistics(NULL, &statistics);
    EXPECT(statistics.errors == 0x5a5a5a5au);
    fwgen_accel_statistics(device, NULL);
    EXPECT(fwgen_job_is_over(NULL) && fwgen_job_report(NULL) == NULL);
    fwgen_job_cancel(NULL);
    fwgen_job_init(NULL, model); /* address 0 holds the vector table */
    fwgen_task_init(NULL, model);
    EXPECT(*vectors == vector);
    fwgen_task_init(&task, model);
    task.wait_count = 1; /* without a list */
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_model_find_input(model, "image") ==
           fwgen_model_input(model, 0));
    EXPECT(fwgen_model_find_output(model, "image") == NULL);
    EXPECT(works(2));
    return true;
}

/* Waits for the fence until somebody signals it. */
static enum fwgen_result waiter_result;

static void waiter(void *argument)
{
    (void)argument;
    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        waiter_result = fwgen_fence_wait(&other, portMAX_DELAY);
    }
}

static TaskHandle_t waiter_handle;

static bool fences(void)
{
    static struct fwgen_fence never;

    EXPECT(fwgen_fence_signal(&never) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_fence_wait(NULL, 0) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_fence_init(&fence, 256) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_fence_init(&fence, FWGEN_FENCE_BINARY) == FWGEN_OK);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_ERROR_TIMEOUT);
    EXPECT(fwgen_fence_wait(&fence, 3) == FWGEN_ERROR_TIMEOUT);
    /* signalled twice */
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_ERROR_SIGNALLED);
    EXPECT(fwgen_fence_count(&fence) == 1u);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_OK);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_ERROR_TIMEOUT);
    /* a latch lets everybody through until it is closed */
    EXPECT(fwgen_fence_init(&other, FWGEN_FENCE_LATCH) == FWGEN_OK);
    EXPECT(fwgen_fence_signal(&other) == FWGEN_OK);
    EXPECT(fwgen_fence_signal(&other) == FWGEN_ERROR_SIGNALLED);
    EXPECT(fwgen_fence_wait(&other, 0) == FWGEN_OK);
    EXPECT(fwgen_fence_wait(&other, 0) == FWGEN_OK);
    EXPECT(fwgen_fence_reset(&other) == FWGEN_OK);
    EXPECT(fwgen_fence_wait(&other, 0) == FWGEN_ERROR_TIMEOUT);
    EXPECT(fwgen_fence_destroy(&other) == FWGEN_OK);
    /* counting */
    EXPECT(fwgen_fence_init(&other, 3) == FWGEN_OK);
    for (uint32_t i = 0; i < 3u; i++) {
        EXPECT(fwgen_fence_signal(&other) == FWGEN_OK);
    }
    EXPECT(fwgen_fence_signal(&other) == FWGEN_ERROR_SIGNALLED);
    EXPECT(fwgen_fence_count(&other) == 3u);
    EXPECT(fwgen_fence_reset(&other) == FWGEN_OK);
    /* destroyed while a task waits */
    (void)xTaskNotifyGive(waiter_handle);
    vTaskDelay(2);
    EXPECT(fwgen_fence_destroy(&other) == FWGEN_ERROR_BUSY);
    EXPECT(fwgen_fence_signal(&other) == FWGEN_OK);
    vTaskDelay(2);
    EXPECT(waiter_result == FWGEN_OK);
    EXPECT(fwgen_fence_destroy(&other) == FWGEN_OK);
    EXPECT(fwgen_fence_destroy(&other) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_fence_signal(&other) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_fence_wait(&other, 0) == FWGEN_ERROR_ARGUMENT);
    return true;
}

static void set_up(struct fwgen_task *which, uint32_t image)
{
    (void)memcpy(input, images[image], sizeof(input));
    (void)memset(output, 0, sizeof(output));
    in = (struct fwgen_buffer){input, 512};
    out = (struct fwgen_buffer){output, 16};
    fwgen_task_init(which, model);
    which->inputs = &in;
    which->outputs = &out;
}

/* Jobs that wait for a fence and signal one. */
static bool events(void)
{
    static struct fwgen_fence *const both[] = {&fence, &fence};
    static struct fwgen_fence *const end[] = {&other};
    static struct fwgen_task second;

    EXPECT(fwgen_fence_init(&other, FWGEN_FENCE_BINARY) == FWGEN_OK);
    set_up(&task, 3);
    task.wait_events = one_event;
    task.wait_count = 1;
    task.signal_events = end;
    task.signal_count = 1;
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_OK);
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_BUSY);
    EXPECT(fwgen_job_set_priority(&task.job, 1) == FWGEN_ERROR_BUSY);
    /* a job that waits for a fence lets others pass */
    EXPECT(fwgen_accel_submit(device, model, 0, NULL) == FWGEN_OK);
    EXPECT(fwgen_job_wait(&task.job, 5) == FWGEN_ERROR_BUSY);
    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_ERROR_BUSY);
    EXPECT(fwgen_fence_destroy(&other) == FWGEN_ERROR_BUSY);
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_wait(&other, 100) == FWGEN_OK);
    EXPECT(fwgen_job_wait(&task.job, 100) == FWGEN_OK);
    EXPECT(memcmp(output, scores[3], 16) == 0);
    EXPECT(fwgen_fence_count(&fence) == 0u && fwgen_fence_count(&other) == 0u);
    /* the events do not come: the time limit ends it, and its own are marked */
    EXPECT(fwgen_task_run(device, &task, 5) == FWGEN_ERROR_TIMEOUT);
    EXPECT(fwgen_fence_wait(&other, 0) == FWGEN_ERROR_DEPENDENCY);
    EXPECT(fwgen_task_submit(device, &task, 5) == FWGEN_OK);
    EXPECT(fwgen_job_wait(&task.job, 20) == FWGEN_ERROR_TIMEOUT);
    /* ... which a job that waits for them gets */
    set_up(&second, 0);
    second.wait_events = end;
    second.wait_count = 1;
    EXPECT(fwgen_task_run(device, &second, 0) == FWGEN_ERROR_DEPENDENCY);
    EXPECT(output[0] == 0u && memcmp(output, output + 1, 15) == 0);
    /* cancelled before the event: the event is still there for others */
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_OK);
    fwgen_job_cancel(&task.job);
    EXPECT(fwgen_job_wait(&task.job, 0) == FWGEN_ERROR_CANCELLED);
    EXPECT(fwgen_fence_reset(&other) == FWGEN_OK);
    /* the event it signals is signalled already */
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_signal(&other) == FWGEN_OK);
    set_up(&task, 1);
    task.wait_events = one_event;
    task.wait_count = 1;
    task.signal_events = end;
    task.signal_count = 1;
    EXPECT(fwgen_task_run(device, &task, 0) == FWGEN_ERROR_SIGNALLED);
    EXPECT(memcmp(output, scores[1], 16) == 0);
    EXPECT(fwgen_fence_wait(&other, 0) == FWGEN_OK);
    /* one event twice, and one that is destroyed */
    task.wait_events = both;
    task.wait_count = 2;
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_ARGUMENT);
    task.wait_count = 1;
    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_ERROR_ARGUMENT);
    EXPECT(fwgen_fence_destroy(&other) == FWGEN_OK);
    EXPECT(works(2));
    return true;
}

/* Interrupt 31 is free on the board: software makes it pending. */
void fwgen_irq31_IRQHandler(void);
static enum fwgen_result isr_result;

void fwgen_irq31_IRQHandler(void)
{
    BaseType_t woken = pdFALSE;

    isr_result = fwgen_fence_signal_from_isr(&fence, &woken);
    portYIELD_FROM_ISR(woken);
}

static void pend(void)
{
    *(volatile uint32_t *)0xe000e200u = 1u << 31;
    __asm volatile("dsb\n isb" ::: "memory");
}

static bool interrupts(void)
{
    EXPECT(fwgen_fence_init(&fence, FWGEN_FENCE_BINARY) == FWGEN_OK);
    fwgen_irq_enable(31, FWGEN_APP_IRQ_PRIORITY);
    pend();
    EXPECT(isr_result == FWGEN_OK);
    pend();
    EXPECT(isr_result == FWGEN_ERROR_SIGNALLED);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_OK);
    set_up(&task, 2);
    task.wait_events = one_event;
    task.wait_count = 1;
    EXPECT(fwgen_task_submit(device, &task, 0) == FWGEN_OK);
    EXPECT(fwgen_job_wait(&task.job, 5) == FWGEN_ERROR_BUSY);
    pend();
    EXPECT(fwgen_job_wait(&task.job, 100) == FWGEN_OK);
    EXPECT(memcmp(output, scores[2], 16) == 0);
    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    fwgen_irq_disable(31);
    return true;
}

static bool queue_full(void)
{
    static struct fwgen_task tasks[QUEUE + 1u];
    struct fwgen_statistics statistics;

    EXPECT(fwgen_fence_init(&fence, FWGEN_FENCE_LATCH) == FWGEN_OK);
    for (uint32_t i = 0; i <= QUEUE; i++) {
        fwgen_task_init(&tasks[i], model);
        tasks[i].wait_events = one_event;
        tasks[i].wait_count = 1;
        EXPECT(fwgen_task_submit(device, &tasks[i], 0) ==
               (i < QUEUE ? FWGEN_OK : FWGEN_ERROR_QUEUE_FULL));
    }
    EXPECT(fwgen_accel_submit(device, model, 0, NULL) ==
           FWGEN_ERROR_QUEUE_FULL);
    fwgen_accel_statistics(device, &statistics);
    EXPECT(statistics.waiting == QUEUE);
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    for (uint32_t i = 0; i < QUEUE; i++) {
        EXPECT(fwgen_job_wait(&tasks[i].job, 100) == FWGEN_OK);
    }
    /* the refused one has left no trace */
    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    EXPECT(fwgen_job_is_over(&tasks[QUEUE].job));
    EXPECT(works(0));
    return true;
}

/* 0 ticks look, 0 ms bound nothing. */
static bool timeout_zero(void)
{
    struct fwgen_job job;

    fwgen_job_init(&job, model);
    EXPECT(fwgen_accel_submit_async(device, &job, 0) == FWGEN_OK);
    EXPECT(fwgen_job_wait(&job, 0) == FWGEN_ERROR_BUSY);
    EXPECT(fwgen_job_wait(&job, portMAX_DELAY) == FWGEN_OK);
    EXPECT(fwgen_accel_submit(device, model, 0, NULL) == FWGEN_OK);
    return true;
}

static nvdla_handle handle;
static enum fwgen_result submit_result = FWGEN_ERROR_BAD_TYPE;

static void submitter(void *argument)
{
    (void)argument;
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    submit_result = nvdla_submit(handle, 0);
    vTaskSuspend(NULL);
}

static TaskHandle_t submitter_handle;

/* A second load, submit and destroy while an inference runs. */
static bool busy_slot(void)
{
    const TickType_t start = xTaskGetTickCount();

    EXPECT(nvdla_create(&handle) == FWGEN_OK);
    EXPECT(nvdla_load(handle, model) == FWGEN_OK);
    EXPECT(nvdla_load(handle, model) == FWGEN_OK); /* idle: it may change */
    (void)memcpy(fwgen_model_input(model, 0)->address, images[1], 512);
    (void)xTaskNotifyGive(submitter_handle); /* more urgent than this task */
    EXPECT(nvdla_load(handle, model) == FWGEN_ERROR_BUSY);
    EXPECT(nvdla_submit(handle, 0) == FWGEN_ERROR_BUSY);
    EXPECT(nvdla_destroy(handle) == FWGEN_ERROR_BUSY);
    while (submit_result == FWGEN_ERROR_BAD_TYPE &&
           xTaskGetTickCount() - start < 100u) {
        vTaskDelay(1);
    }
    EXPECT(submit_result == FWGEN_OK);
    EXPECT(memcmp(fwgen_model_output(model, 0)->address, scores[1], 16) == 0);
    EXPECT(nvdla_destroy(handle) == FWGEN_OK);
    return true;
}

static void client(void *argument)
{
    (void)argument;
    device = fwgen_accel_device(0);
    model = &fwgen_models[0];
    CHECK(buffers);
    CHECK(arguments);
    CHECK(fences);
    CHECK(events);
    CHECK(interrupts);
    CHECK(queue_full);
    CHECK(timeout_zero);
    CHECK(busy_slot);
    fwgen_log("app: end");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    static StaticTask_t storage[2];
    static StackType_t stacks[2][256];

    waiter_handle = xTaskCreateStatic(waiter, "waiter", 256, NULL, 2, stacks[0],
                                      &storage[0]);
    submitter_handle = xTaskCreateStatic(submitter, "submitter", 256, NULL, 2,
                                         stacks[1], &storage[1]);
    APP_TASK(client, 1, NULL);
}
