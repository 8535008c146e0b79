/*
 * dual.c - two accelerators: each has its own interrupt, both work at the same
 * time, and a fence chains a run on one to a run on the other.
 */
#include "app.h"

static uint32_t interrupts_of(uint32_t index)
{
    struct fwgen_statistics statistics;

    fwgen_accel_statistics(fwgen_accel_device(index), &statistics);
    return statistics.interrupts;
}

/* A run on one engine raises that one's interrupt and no other's. */
static bool interrupts(void)
{
    for (uint32_t i = 0; i < 2u; i++) {
        const uint32_t own = interrupts_of(i);
        const uint32_t other = interrupts_of(1u - i);

        EXPECT(fwgen_models[i].accelerator == i);
        EXPECT(fwgen_accel_submit(fwgen_accel_device(1u - i), &fwgen_models[i],
                                  0, NULL) == FWGEN_ERROR_ARGUMENT);
        EXPECT(fwgen_tensor_write(fwgen_model_input(&fwgen_models[i], 0),
                                  images[i], 512) == FWGEN_OK);
        EXPECT(fwgen_accel_submit(fwgen_accel_device(i), &fwgen_models[i], 0,
                                  NULL) == FWGEN_OK);
        EXPECT(memcmp(fwgen_model_output(&fwgen_models[i], 0)->address,
                      scores[i], 16) == 0);
        EXPECT(interrupts_of(i) > own);
        EXPECT(interrupts_of(1u - i) == other);
    }
    return true;
}

static struct fwgen_task tasks[2];
static uint8_t outputs[2][16] __attribute__((aligned(4)));
static struct fwgen_buffer in[2];
static struct fwgen_buffer out[2];

static void set_up(uint32_t i, uint32_t image)
{
    fwgen_task_init(&tasks[i], &fwgen_models[i]);
    in[i].data = (void *)(uintptr_t)images[image];
    in[i].size = 512;
    out[i].data = outputs[i];
    out[i].size = 16;
    tasks[i].inputs = &in[i];
    tasks[i].outputs = &out[i];
    (void)memset(outputs[i], 0, 16);
}

static bool at_once(void)
{
    uint32_t together = 0;

    for (uint32_t n = 0; n < 20u; n++) {
        for (uint32_t i = 0; i < 2u; i++) {
            set_up(i, (n + i) % CASES);
            EXPECT(fwgen_task_submit(fwgen_accel_device(i), &tasks[i], 0) ==
                   FWGEN_OK);
        }
        if (fwgen_accel_state(fwgen_accel_device(0)) == FWGEN_STATE_RUNNING &&
            fwgen_accel_state(fwgen_accel_device(1)) == FWGEN_STATE_RUNNING) {
            together++;
        }
        for (uint32_t i = 0; i < 2u; i++) {
            EXPECT(fwgen_job_wait(&tasks[i].job, 1000) == FWGEN_OK);
            EXPECT(memcmp(outputs[i], scores[(n + i) % CASES], 16) == 0);
        }
    }
    EXPECT(together >= 15u);
    return true;
}

static bool cascade(void)
{
    static struct fwgen_fence first;
    static struct fwgen_fence *const events[] = {&first};

    EXPECT(fwgen_fence_init(&first, FWGEN_FENCE_BINARY) == FWGEN_OK);
    for (uint32_t n = 0; n < 5u; n++) {
        set_up(0, n % CASES);
        set_up(1, (n + 1u) % CASES);
        tasks[0].signal_events = events;
        tasks[0].signal_count = 1;
        tasks[1].wait_events = events;
        tasks[1].wait_count = 1;
        EXPECT(fwgen_task_submit(fwgen_accel_device(1), &tasks[1], 0) ==
               FWGEN_OK);
        EXPECT(fwgen_job_wait(&tasks[1].job, 2) == FWGEN_ERROR_BUSY);
        EXPECT(fwgen_task_submit(fwgen_accel_device(0), &tasks[0], 0) ==
               FWGEN_OK);
        EXPECT(fwgen_job_wait(&tasks[1].job, 1000) == FWGEN_OK);
        EXPECT(fwgen_job_is_over(&tasks[0].job));
        EXPECT(fwgen_job_wait(&tasks[0].job, 0) == FWGEN_OK);
        EXPECT(memcmp(outputs[0], scores[n % CASES], 16) == 0);
        EXPECT(memcmp(outputs[1], scores[(n + 1u) % CASES], 16) == 0);
    }
    return true;
}

static bool handles(void)
{
    nvdla_handle handle[3];

    EXPECT(nvdla_create(&handle[0]) == FWGEN_OK);
    EXPECT(nvdla_create(&handle[1]) == FWGEN_OK);
    EXPECT(nvdla_create(&handle[2]) == FWGEN_ERROR_NO_INSTANCE);
    EXPECT(nvdla_load(handle[0], &fwgen_models[1]) == FWGEN_ERROR_ARGUMENT);
    EXPECT(nvdla_load(handle[1], &fwgen_models[1]) == FWGEN_OK);
    EXPECT(nvdla_submit(handle[1], 1000) == FWGEN_OK);
    EXPECT(nvdla_destroy(handle[1]) == FWGEN_OK);
    EXPECT(nvdla_destroy(handle[0]) == FWGEN_OK);
    return true;
}

static void client(void *argument)
{
    (void)argument;
    CHECK(interrupts);
    CHECK(at_once);
    CHECK(cascade);
    CHECK(handles);
    fwgen_log("app: end");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    APP_TASK(client, 1, NULL);
}
