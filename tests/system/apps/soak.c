/*
 * soak.c - two tasks run inferences in a loop while the hardware loses
 * interrupts: each ends right or with an error code, and what is reported right
 * is right in every byte.
 *
 * One submits and waits; the other keeps two tasks on the way, with events.
 */
#include "app.h"

struct tally {
    uint32_t right;
    uint32_t failed;
    uint32_t wrong;   /* reported right and are not */
    uint32_t strange; /* codes that the fault does not explain */
    volatile bool done;
};

static struct tally tallies[2];

static void note(struct tally *tally, enum fwgen_result result,
                 const uint8_t *output, uint32_t image)
{
    if (result == FWGEN_OK) {
        if (memcmp(output, scores[image], 16) == 0) {
            tally->right++;
        } else {
            tally->wrong++;
        }
    } else {
        tally->failed++;
        if (result != FWGEN_ERROR_TIMEOUT && result != FWGEN_ERROR_DEPENDENCY) {
            tally->strange++;
        }
    }
}

static void producer(void *argument)
{
    static struct fwgen_task task;
    static uint8_t output[16] __attribute__((aligned(4)));
    static struct fwgen_buffer in = {NULL, 512};
    static struct fwgen_buffer out = {output, 16};
    struct tally *tally = argument;

    for (uint32_t n = 0; n < INFERENCES / 2u; n++) {
        const uint32_t image = n % CASES;

        fwgen_task_init(&task, &fwgen_models[0]);
        in.data = (void *)(uintptr_t)images[image];
        task.inputs = &in;
        task.outputs = &out;
        (void)memset(output, 0x5a, sizeof(output));
        note(tally, fwgen_task_run(fwgen_accel_device(0), &task, 200), output,
             image);
    }
    tally->done = true;
    vTaskSuspend(NULL);
}

static void pairs(void *argument)
{
    static struct fwgen_fence link;
    static struct fwgen_fence *const events[] = {&link};
    static struct fwgen_task tasks[2];
    static uint8_t outputs[2][16] __attribute__((aligned(4)));
    static struct fwgen_buffer in[2];
    static struct fwgen_buffer out[2];
    struct tally *tally = argument;

    (void)fwgen_fence_init(&link, FWGEN_FENCE_BINARY);
    for (uint32_t n = 0; n < INFERENCES / 4u; n++) {
        for (uint32_t i = 0; i < 2u; i++) {
            fwgen_task_init(&tasks[i], &fwgen_models[0]);
            in[i].data = (void *)(uintptr_t)images[(n + i + 1u) % CASES];
            in[i].size = 512;
            out[i].data = outputs[i];
            out[i].size = 16;
            tasks[i].inputs = &in[i];
            tasks[i].outputs = &out[i];
            (void)memset(outputs[i], 0xa5, 16);
        }
        tasks[0].signal_events = events;
        tasks[0].signal_count = 1;
        tasks[1].wait_events = events;
        tasks[1].wait_count = 1;
        for (uint32_t i = 2u; i-- != 0u;) { /* who waits comes first */
            (void)fwgen_task_submit(fwgen_accel_device(0), &tasks[i], 0);
        }
        for (uint32_t i = 0; i < 2u; i++) {
            note(tally, fwgen_job_wait(&tasks[i].job, portMAX_DELAY),
                 outputs[i], (n + i + 1u) % CASES);
        }
    }
    tally->done = true;
    vTaskSuspend(NULL);
}

static void judge(void *argument)
{
    struct fwgen_statistics statistics;

    (void)argument;
    while (!tallies[0].done || !tallies[1].done) {
        vTaskDelay(10);
    }
    fwgen_accel_statistics(fwgen_accel_device(0), &statistics);
    fwgen_log_value("right", tallies[0].right + tallies[1].right);
    fwgen_log_value("failed", tallies[0].failed + tallies[1].failed);
    fwgen_log_value("wrong", tallies[0].wrong + tallies[1].wrong);
    fwgen_log_value("strange", tallies[0].strange + tallies[1].strange);
    fwgen_log_value("least", tallies[0].right < tallies[1].right
                                 ? tallies[0].right
                                 : tallies[1].right);
    fwgen_log_value("inferences", statistics.inferences);
    fwgen_log_value("resets", statistics.resets);
    fwgen_log("app: end");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    APP_TASK(producer, 2, &tallies[0]);
    APP_TASK(pairs, 2, &tallies[1]);
    APP_TASK(judge, 1, NULL);
}
