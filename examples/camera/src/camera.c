/*
 * camera.c - a camera task with a deadline, and statistics of how it kept it.
 *
 * A picture is there every PERIOD_MS and its answer is due DEADLINE_MS later.
 * A picture that the task comes to when the next one is due already has been
 * overwritten: it is counted as dropped, and no inference is spent on it. The
 * control task has a higher priority than camera and accelerator and takes the
 * CPU for a while now and then, as a motor control or a radio would.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_accel.h"
#include "fwgen_app.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_fault.h"
#include "fwgen_tensor.h"

#include "pictures.h"

#define FRAMES 60u
#define PERIOD_MS 10u
#define DEADLINE_MS 4u
#define DIGITS 10u

/* The control task: each time it works a little longer. */
#define CONTROL_PERIOD_MS 35u
#define CONTROL_STEP_US 1500u
#define CONTROL_STEPS 10u

#define STACK_WORDS 512u
#define CAMERA_PRIORITY 3u
#define CONTROL_PRIORITY (NVDLA_TASK_PRIORITY + 1)

struct statistics {
    uint32_t frames;
    uint32_t met;
    uint32_t missed;
    uint32_t dropped;
    uint32_t failed;
    uint32_t shortest_us;
    uint32_t longest_us;
    uint64_t total_us;
};

static StaticTask_t camera_task;
static StackType_t camera_stack[STACK_WORDS];
static StaticTask_t control_task;
static StackType_t control_stack[STACK_WORDS];

static uint32_t microseconds(uint64_t timer)
{
    return (uint32_t)(timer * 1000000u / fwgen_timer_hz());
}

/* The time at which a tick happened. */
static uint64_t tick_time(TickType_t tick)
{
    return (uint64_t)tick * (fwgen_timer_hz() / configTICK_RATE_HZ);
}

static void capture(uint32_t frame)
{
    const struct fwgen_tensor *in = fwgen_model_input(&fwgen_models[0], 0);
    const int8_t *picture = pictures[frame % PICTURES];

    for (uint32_t y = 0; y < PICTURE_SIDE; y++) {
        for (uint32_t x = 0; x < PICTURE_SIDE; x++) {
            in->address[fwgen_tensor_offset(in, 0, y, x)] =
                (uint8_t)picture[y * PICTURE_SIDE + x];
        }
    }
    (void)fwgen_tensor_write(in, in->address, in->size);
}

static void print_scores(void)
{
    const struct fwgen_tensor *out = fwgen_model_output(&fwgen_models[0], 0);

    (void)fwgen_tensor_read(out, out->address, out->size);
    fwgen_print(", scores");
    for (uint32_t i = 0; i < DIGITS; i++) {
        fwgen_print(" ");
        fwgen_print_signed(
            (int8_t)out->address[fwgen_tensor_offset(out, i, 0, 0)]);
    }
}

static void show(uint32_t frame, const char *outcome, uint32_t latency_us,
                 bool has_scores)
{
    fwgen_console_lock();
    fwgen_print("frame ");
    fwgen_print_decimal(frame);
    fwgen_print(": ");
    fwgen_print(outcome);
    fwgen_print(" after ");
    fwgen_print_decimal(latency_us);
    fwgen_print(" us");
    if (has_scores) {
        print_scores();
    }
    fwgen_print("\n");
    fwgen_console_unlock();
}

static void look(uint32_t frame, uint64_t released, struct statistics *sums)
{
    const struct fwgen_model *model = &fwgen_models[0];
    enum fwgen_result result;
    uint32_t latency_us = microseconds(fwgen_timer_read() - released);

    sums->frames++;
    if (latency_us >= PERIOD_MS * 1000u) {
        sums->dropped++;
        show(frame, "dropped", latency_us, false);
        return;
    }
    capture(frame);
    result = fwgen_accel_submit(fwgen_accel_device(model->accelerator), model,
                                0, NULL);
    latency_us = microseconds(fwgen_timer_read() - released);
    if (result != FWGEN_OK) {
        sums->failed++;
        show(frame, fwgen_result_name(result), latency_us, false);
        return;
    }
    if (latency_us < sums->shortest_us) {
        sums->shortest_us = latency_us;
    }
    if (latency_us > sums->longest_us) {
        sums->longest_us = latency_us;
    }
    sums->total_us += latency_us;
    if (latency_us <= DEADLINE_MS * 1000u) {
        sums->met++;
        show(frame, "met", latency_us, true);
    } else {
        sums->missed++;
        show(frame, "missed", latency_us, true);
    }
}

static void camera(void *argument)
{
    struct statistics sums = {.shortest_us = UINT32_MAX};
    TickType_t wake = xTaskGetTickCount();

    (void)argument;
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        /* A wake time that has passed lets it through: it catches up. */
        vTaskDelayUntil(&wake, pdMS_TO_TICKS(PERIOD_MS));
        look(frame, tick_time(wake), &sums);
    }
    fwgen_log_value("deadline in us:", DEADLINE_MS * 1000u);
    fwgen_log_value("frames:", sums.frames);
    fwgen_log_value("met:", sums.met);
    fwgen_log_value("missed:", sums.missed);
    fwgen_log_value("dropped:", sums.dropped);
    fwgen_log_value("failed:", sums.failed);
    if (sums.met + sums.missed != 0u) {
        fwgen_log_value("latency, smallest in us:", sums.shortest_us);
        fwgen_log_value("latency, mean in us:",
                        (uint32_t)(sums.total_us / (sums.met + sums.missed)));
        fwgen_log_value("latency, largest in us:", sums.longest_us);
    }
    fwgen_exit(0);
}

static void control(void *argument)
{
    TickType_t wake = xTaskGetTickCount();

    (void)argument;
    for (uint32_t round = 0;; round++) {
        const uint32_t work_us = round % CONTROL_STEPS * CONTROL_STEP_US;
        const uint64_t start = fwgen_timer_read();

        while (microseconds(fwgen_timer_read() - start) < work_us) {
            /* computing */
        }
        vTaskDelayUntil(&wake, pdMS_TO_TICKS(CONTROL_PERIOD_MS));
    }
}

void fwgen_app_start(void)
{
    (void)xTaskCreateStatic(camera, "camera", STACK_WORDS, NULL,
                            CAMERA_PRIORITY, camera_stack, &camera_task);
    (void)xTaskCreateStatic(control, "control", STACK_WORDS, NULL,
                            CONTROL_PRIORITY, control_stack, &control_task);
}
