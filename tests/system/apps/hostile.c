/*
 * hostile.c - races that a client of the interface can provoke: each one ends
 * with a documented code, and what is reported right is right in every byte.
 *
 * A task of a higher priority gets the CPU with each tick, wherever the lower
 * one is; some hundred ticks hit every gap between two steps of a function.
 */
#include "app.h"

static fwgen_device device;
static const struct fwgen_model *model;
static struct fwgen_fence fence;
static struct fwgen_fence *const events[] = {&fence};
static volatile bool go_on;

/* Runs `body` in the disturber, at each tick, while go_on. */
static TaskHandle_t disturber_handle;
static void (*volatile body)(void);

static void disturber(void *argument)
{
    (void)argument;
    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        while (go_on) {
            vTaskDelay(1);
            body();
        }
        body = NULL;
    }
}

static void disturb(void (*with)(void))
{
    body = with;
    go_on = true;
    (void)xTaskNotifyGive(disturber_handle);
}

static void disturb_no_more(void)
{
    go_on = false;
    while (body != NULL) {
        vTaskDelay(1);
    }
}

/* ---- fences ---- */

static uint32_t closed;

static void look_at_latch(void)
{
    if (fwgen_fence_wait(&fence, 0) != FWGEN_OK) {
        closed++;
    }
}

/* An open latch is open for whoever looks, also while others pass it. */
static bool latch(void)
{
    const TickType_t start = xTaskGetTickCount();

    EXPECT(fwgen_fence_init(&fence, FWGEN_FENCE_LATCH) == FWGEN_OK);
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    disturb(look_at_latch);
    while (xTaskGetTickCount() - start < 300u) {
        EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_OK);
    }
    disturb_no_more();
    EXPECT(closed == 0u);
    return true;
}

static uint32_t reopened;

static void close_latch(void)
{
    (void)fwgen_fence_reset(&fence);
    reopened += fwgen_fence_count(&fence);
    vTaskDelay(1);
    reopened += fwgen_fence_count(&fence);
    (void)fwgen_fence_signal(&fence);
}

/* A latch that is closed while others pass stays closed. */
static bool closing(void)
{
    const TickType_t start = xTaskGetTickCount();

    disturb(close_latch);
    while (xTaskGetTickCount() - start < 400u) {
        const enum fwgen_result result = fwgen_fence_wait(&fence, 0);

        EXPECT(result == FWGEN_OK || result == FWGEN_ERROR_TIMEOUT);
    }
    disturb_no_more();
    EXPECT(reopened == 0u);
    return true;
}

static uint32_t destroyed;

static void destroy_and_make(void)
{
    if (fwgen_fence_destroy(&fence) == FWGEN_OK) {
        destroyed++;
        vTaskDelay(1);
        (void)fwgen_fence_init(&fence, FWGEN_FENCE_BINARY);
    }
}

/* A fence is destroyed under those who signal it, look at it and submit work
 * that waits for it. */
static bool destroying(void)
{
    static struct fwgen_task task;
    const TickType_t start = xTaskGetTickCount();
    enum fwgen_result result;

    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_init(&fence, FWGEN_FENCE_BINARY) == FWGEN_OK);
    fwgen_task_init(&task, model);
    task.wait_events = events;
    task.wait_count = 1;
    disturb(destroy_and_make);
    while (xTaskGetTickCount() - start < 400u) {
        result = fwgen_fence_signal(&fence);
        EXPECT(result == FWGEN_OK || result == FWGEN_ERROR_SIGNALLED ||
               result == FWGEN_ERROR_ARGUMENT);
        result = fwgen_fence_wait(&fence, 0);
        EXPECT(result == FWGEN_OK || result == FWGEN_ERROR_TIMEOUT ||
               result == FWGEN_ERROR_ARGUMENT);
        result = fwgen_fence_reset(&fence);
        EXPECT(result == FWGEN_OK || result == FWGEN_ERROR_ARGUMENT);
        result = fwgen_task_submit(device, &task, 1000);
        EXPECT(result == FWGEN_OK || result == FWGEN_ERROR_ARGUMENT);
        if (result == FWGEN_OK) {
            fwgen_job_cancel(&task.job);
            EXPECT(fwgen_job_wait(&task.job, 100) == FWGEN_ERROR_CANCELLED);
        }
    }
    disturb_no_more();
    EXPECT(destroyed > 20u);
    return true;
}

/* Each job that failed marks a signal, however many there are; a good signal
 * behind them is good. */
static bool failures(void)
{
    static struct fwgen_task tasks[3];

    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_init(&fence, 8) == FWGEN_OK);
    for (uint32_t i = 0; i < 2u; i++) {
        static struct fwgen_fence never;
        static struct fwgen_fence *const nevers[] = {&never};

        (void)fwgen_fence_init(&never, FWGEN_FENCE_BINARY);
        fwgen_task_init(&tasks[i], model);
        tasks[i].wait_events = nevers;
        tasks[i].wait_count = 1;
        tasks[i].signal_events = events;
        tasks[i].signal_count = 1;
        EXPECT(fwgen_task_run(device, &tasks[i], 2) == FWGEN_ERROR_TIMEOUT);
    }
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_count(&fence) == 3u);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_ERROR_DEPENDENCY);
    fwgen_task_init(&tasks[2], model);
    tasks[2].wait_events = events;
    tasks[2].wait_count = 1;
    EXPECT(fwgen_task_run(device, &tasks[2], 0) == FWGEN_ERROR_DEPENDENCY);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_OK);
    /* a failure behind a good signal does not go with the wrong one */
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    EXPECT(fwgen_task_run(device, &tasks[0], 2) == FWGEN_ERROR_TIMEOUT);
    (void)fwgen_fence_wait(&fence, 0);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_ERROR_DEPENDENCY);
    EXPECT(fwgen_fence_wait(&fence, 0) == FWGEN_ERROR_TIMEOUT);
    return true;
}

/* ---- jobs ---- */

static struct fwgen_job shared;
static volatile uint32_t heard;

static void listener(void *argument)
{
    (void)argument;
    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        if (fwgen_job_wait(&shared, portMAX_DELAY) == FWGEN_OK) {
            heard++;
        }
    }
}

static TaskHandle_t listeners[2];

/* Several tasks wait for one job, and once more when it is over. */
static bool waiting(void)
{
    fwgen_job_init(&shared, model);
    for (uint32_t n = 1; n <= 3u; n++) {
        EXPECT(fwgen_accel_submit_async(device, &shared, 0) == FWGEN_OK);
        (void)xTaskNotifyGive(listeners[0]);
        (void)xTaskNotifyGive(listeners[1]);
        EXPECT(fwgen_job_wait(&shared, 100) == FWGEN_OK);
        EXPECT(fwgen_job_wait(&shared, 100) == FWGEN_OK);
        vTaskDelay(2);
        EXPECT(heard == 2u * n);
    }
    return true;
}

/* A client that always has a job in the queue keeps its order and lets others
 * have their turn, also when a job waits for a fence all the while. */
static bool streaming(void)
{
    static struct fwgen_task stuck;
    static struct fwgen_job jobs[3];

    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_init(&fence, FWGEN_FENCE_BINARY) == FWGEN_OK);
    fwgen_task_init(&stuck, model);
    stuck.wait_events = events;
    stuck.wait_count = 1;
    EXPECT(fwgen_task_submit(device, &stuck, 0) == FWGEN_OK);
    for (uint32_t i = 0; i < 3u; i++) {
        fwgen_job_init(&jobs[i], model);
    }
    EXPECT(fwgen_accel_submit_async(device, &jobs[0], 0) == FWGEN_OK);
    EXPECT(fwgen_accel_submit_async(device, &jobs[1], 0) == FWGEN_OK);
    for (uint32_t i = 2; i <= 400u; i++) {
        EXPECT(fwgen_accel_submit_async(device, &jobs[i % 3u], 0) == FWGEN_OK);
        EXPECT(fwgen_job_wait(&jobs[(i - 2u) % 3u], 100) == FWGEN_OK);
        EXPECT(!fwgen_job_is_over(&jobs[i % 3u])); /* the older ones first */
    }
    EXPECT(fwgen_job_wait(&jobs[399u % 3u], 100) == FWGEN_OK);
    EXPECT(fwgen_job_wait(&jobs[400u % 3u], 100) == FWGEN_OK);
    EXPECT(fwgen_fence_signal(&fence) == FWGEN_OK);
    EXPECT(fwgen_job_wait(&stuck.job, 100) == FWGEN_OK);
    return true;
}

static struct fwgen_task victims[3];

static void cancel_one(void)
{
    fwgen_job_cancel(&victims[xTaskGetTickCount() % 3u].job);
}

/* Jobs are cancelled wherever they are. */
static bool cancelling(void)
{
    static uint8_t outputs[3][16] __attribute__((aligned(4)));
    static struct fwgen_buffer in[3];
    static struct fwgen_buffer out[3];
    uint32_t right = 0;
    uint32_t cancelled = 0;

    for (uint32_t i = 0; i < 3u; i++) {
        fwgen_task_init(&victims[i], model);
        EXPECT(fwgen_task_run(device, &victims[i], 0) == FWGEN_OK);
        (void)fwgen_job_set_bank(&victims[i].job, i % 2u);
        out[i] = (struct fwgen_buffer){outputs[i], 16};
        victims[i].inputs = &in[i];
        victims[i].outputs = &out[i];
    }
    disturb(cancel_one);
    for (uint32_t n = 0; n < 300u; n++) {
        for (uint32_t i = 0; i < 3u; i++) {
            const void *const image = images[(n + i) % CASES];

            in[i] = (struct fwgen_buffer){(void *)(uintptr_t)image, 512};
            (void)memset(outputs[i], 0xa5, 16);
            EXPECT(fwgen_task_submit(device, &victims[i], 0) == FWGEN_OK);
        }
        for (uint32_t i = 0; i < 3u; i++) {
            const enum fwgen_result result =
                fwgen_job_wait(&victims[i].job, 100);

            EXPECT(result == FWGEN_OK || result == FWGEN_ERROR_CANCELLED);
            if (result == FWGEN_OK) {
                right++;
                EXPECT(memcmp(outputs[i], scores[(n + i) % CASES], 16) == 0);
            } else {
                cancelled++;
            }
        }
    }
    disturb_no_more();
    fwgen_log_value("right", right);
    fwgen_log_value("cancelled", cancelled);
    EXPECT(right > 100u && cancelled > 100u);
    return true;
}

/* Nothing overtakes a run that was begun ahead, also not at the highest
 * priority (pipelined builds). */
static bool ahead(void)
{
    static struct fwgen_task stuck;
    static struct fwgen_job jobs[4];
    static struct fwgen_job *const next = &jobs[3];
    static struct fwgen_job late;

    uint32_t claimed = 0;

    EXPECT(fwgen_fence_reset(&fence) == FWGEN_OK);
    for (uint32_t n = 0; n < 40u; n++) {
        (void)memcpy(fwgen_model_input(model, 0)->address, images[n % CASES],
                     512);
        fwgen_task_init(&stuck, model);
        stuck.wait_events = events;
        stuck.wait_count = 1;
        (void)fwgen_job_set_priority(&stuck.job, 255);
        fwgen_job_init(&late, model);
        (void)fwgen_job_set_depth(&late, 1);
        (void)fwgen_job_set_priority(&late, 255);
        for (uint32_t i = 0; i < 4u; i++) {
            fwgen_job_init(&jobs[i], model);
            EXPECT(fwgen_accel_submit_async(device, &jobs[i], 0) == FWGEN_OK);
        }
        /* of this client too, so that rounds differ */
        EXPECT(fwgen_task_submit(device, &stuck, 0) == FWGEN_OK);
        EXPECT(fwgen_job_wait(&jobs[1], 100) == FWGEN_OK);
        /* JOB_WAITING is 1: until `next` is claimed behind jobs[2] */
        while (next->state == 1u && !fwgen_job_is_over(&jobs[2])) {
        }
        claimed += fwgen_job_is_over(&jobs[2]) ? 0u : 1u;
        EXPECT(fwgen_accel_submit_async(device, &late, 100) == FWGEN_OK);
        EXPECT(fwgen_job_wait(next, 100) == FWGEN_OK);
        EXPECT(!fwgen_job_is_over(&late) || claimed <= n);
        EXPECT(memcmp(fwgen_model_output(model, 0)->address, scores[n % CASES],
                      16) == 0);
        EXPECT(fwgen_job_wait(&late, 100) == FWGEN_OK);
        EXPECT(memcmp(fwgen_model_output(model, 0)->address, scores[n % CASES],
                      16) == 0);
        fwgen_job_cancel(&stuck.job);
        EXPECT(fwgen_job_wait(&stuck.job, 100) == FWGEN_ERROR_CANCELLED);
    }
    fwgen_log_value("claimed", claimed);
    return true;
}

/* ---- interrupts ---- */

static uint32_t signals;

/* Interrupt 31 is free on the board: software makes it pending. */
void fwgen_irq31_IRQHandler(void);
void fwgen_irq31_IRQHandler(void)
{
    BaseType_t woken = pdFALSE;

    if (fwgen_fence_signal_from_isr(&fence, &woken) == FWGEN_OK) {
        signals++;
    }
    portYIELD_FROM_ISR(woken);
}

static void interrupt(void)
{
    *(volatile uint32_t *)0xe000e200u = 1u << 31;
    __asm volatile("dsb\n isb" ::: "memory");
}

/* Each signal of an interrupt lets exactly one run through, whenever it
 * comes. */
static bool storm(void)
{
    static struct fwgen_task task;
    uint32_t runs = 0;

    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    EXPECT(fwgen_fence_init(&fence, 255) == FWGEN_OK);
    fwgen_irq_enable(31, FWGEN_APP_IRQ_PRIORITY);
    fwgen_task_init(&task, model);
    task.wait_events = events;
    task.wait_count = 1;
    disturb(interrupt);
    while (runs < 200u) {
        const enum fwgen_result result = fwgen_task_run(device, &task, 2);

        EXPECT(result == FWGEN_OK || result == FWGEN_ERROR_TIMEOUT);
        runs += result == FWGEN_OK ? 1u : 0u;
    }
    disturb_no_more();
    fwgen_irq_disable(31);
    while (fwgen_task_run(device, &task, 2) == FWGEN_OK) {
        runs++;
    }
    EXPECT(runs == signals);
    EXPECT(fwgen_fence_destroy(&fence) == FWGEN_OK);
    return true;
}

static void client(void *argument)
{
    (void)argument;
    device = fwgen_accel_device(0);
    model = &fwgen_models[0];
    CHECK(latch);
    CHECK(closing);
    CHECK(destroying);
    CHECK(failures);
    CHECK(waiting);
    CHECK(streaming);
    CHECK(cancelling);
    CHECK(ahead);
    CHECK(storm);
    fwgen_log("app: end");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    static StaticTask_t storage[3];
    static StackType_t stacks[3][256];

    disturber_handle = xTaskCreateStatic(disturber, "disturber", 256, NULL, 4,
                                         stacks[0], &storage[0]);
    for (uint32_t i = 0; i < 2u; i++) {
        listeners[i] = xTaskCreateStatic(listener, "listener", 256, NULL, 1,
                                         stacks[1u + i], &storage[1u + i]);
    }
    APP_TASK(client, 1, NULL);
}
