/*
 * order.c - which job comes next: priorities, turns of clients, arrival.
 *
 * A job that waits for a latch holds nothing up, so each client submits its
 * jobs behind the latch and the order of their runs shows once it opens. Runs
 * are told apart by their place in the sequence of results.
 */
#include "app.h"

#define JOBS 4u

struct client {
    struct fwgen_task tasks[JOBS];
    uint8_t priorities[JOBS];
    uint32_t count;
    char name;
};

static struct fwgen_fence gate;
static struct fwgen_fence *const gates[] = {&gate};
static struct fwgen_fence *ends[3u * JOBS];
static struct fwgen_fence end_storage[3u * JOBS];
static struct client clients[3];
static char order[3u * JOBS + 1u];
static char names[3u * JOBS];

static void submit(void *argument)
{
    struct client *client = argument;
    const uint32_t index = (uint32_t)(client - clients);

    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        for (uint32_t i = 0; i < client->count; i++) {
            struct fwgen_task *task = &client->tasks[i];

            fwgen_task_init(task, &fwgen_models[0]);
            task->wait_events = gates;
            task->wait_count = 1;
            task->signal_events = &ends[index * JOBS + i];
            task->signal_count = 1;
            (void)fwgen_job_set_priority(&task->job, client->priorities[i]);
            (void)fwgen_task_submit(fwgen_accel_device(0), task, 0);
        }
    }
}

static TaskHandle_t handles[3];

/* Submits what the clients have in the order of the clients, opens the gate and
 * compares the order in which the jobs end. */
static bool runs_as(const char *expected)
{
    uint32_t total = 0;
    uint32_t done = 0;

    EXPECT(fwgen_fence_init(&gate, FWGEN_FENCE_LATCH) == FWGEN_OK);
    for (uint32_t i = 0; i < 3u; i++) {
        for (uint32_t j = 0; j < JOBS; j++) {
            ends[i * JOBS + j] = &end_storage[i * JOBS + j];
            EXPECT(fwgen_fence_init(ends[i * JOBS + j], 1) == FWGEN_OK);
            names[i * JOBS + j] = clients[i].name;
        }
        total += clients[i].count;
        (void)xTaskNotifyGive(handles[i]);
        vTaskDelay(1);
    }
    EXPECT(fwgen_fence_signal(&gate) == FWGEN_OK);
    while (done < total) {
        for (uint32_t i = 0; i < 3u * JOBS; i++) {
            if (fwgen_fence_wait(ends[i], 0) == FWGEN_OK) {
                order[done++] = names[i];
            }
        }
    }
    order[done] = '\0';
    vTaskDelay(1);
    EXPECT(fwgen_fence_destroy(&gate) == FWGEN_OK);
    if (strcmp(order, expected) != 0) {
        fwgen_log(order);
        fwgen_log(expected);
    }
    return strcmp(order, expected) == 0;
}

static void set(uint32_t client, uint32_t count, uint8_t priority)
{
    clients[client].count = count;
    for (uint32_t i = 0; i < JOBS; i++) {
        clients[client].priorities[i] = priority;
    }
}

static bool turns(void)
{
    set(0, 4, 0);
    set(1, 2, 0);
    set(2, 1, 0);
    return runs_as("abcabaa");
}

static bool priorities(void)
{
    set(0, 3, 0);
    set(1, 2, 7);
    set(2, 2, 200);
    return runs_as("ccbbaaa");
}

static bool mixed(void)
{
    set(0, 3, 1);
    set(1, 3, 1);
    set(2, 1, 0);
    clients[0].priorities[2] = 9;
    return runs_as("aababbc");
}

static void judge(void *argument)
{
    (void)argument;
    CHECK(turns);
    CHECK(priorities);
    CHECK(mixed);
    fwgen_log("app: end");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    static StaticTask_t storage[3];
    static StackType_t stacks[3][256];

    for (uint32_t i = 0; i < 3u; i++) {
        clients[i].name = (char)('a' + i);
        handles[i] = xTaskCreateStatic(submit, "client", 256, &clients[i], 2,
                                       stacks[i], &storage[i]);
    }
    APP_TASK(judge, 1, NULL);
}
