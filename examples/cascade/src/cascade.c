/*
 * cascade.c - a model that finds a digit in a scene, and one that reads it.
 *
 * Three steps, chained by fences; nobody polls:
 *
 *     locate (accelerator) --found--> cut (CPU) --ready--> read (accelerator)
 *         --answered--> the task that shows the scenes
 *
 * Both inferences of a scene are submitted at once. The second waits in its
 * device's queue until the CPU has cut the digit out of the scene. On a board
 * with two accelerators the models have one each, on others they share it; the
 * code is the same.
 *
 * When the first model fails its signal says so: the cut is not made, and the
 * second inference is cancelled.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_accel.h"
#include "fwgen_app.h"
#include "fwgen_console.h"
#include "fwgen_fault.h"
#include "fwgen_fence.h"
#include "fwgen_link.h"
#include "fwgen_task.h"
#include "fwgen_tensor.h"

#include "scenes.h"

#define SCENE_BYTES 512u /* 16 lines of 16 pixels, padded to 32 bytes */
#define HEAT_BYTES 648u  /* 9 x 9 places in blocks of 8 channels */
#define DIGIT_BYTES 512u /* 8 x 8 pixels in blocks of 8 channels */
#define SCORE_BYTES 16u
#define DIGIT_SIDE 8u
#define PLACES (SCENE_SIDE - DIGIT_SIDE + 1u)
#define DIGITS 10u
#define TIMEOUT_MS 1000u

#define STACK_WORDS 512u

#define ALIGNED __attribute__((aligned(64)))

static uint8_t scene[SCENE_BYTES] ALIGNED;
static uint8_t heat[HEAT_BYTES] ALIGNED;
static uint8_t digit[DIGIT_BYTES] ALIGNED;
static uint8_t scores[SCORE_BYTES] ALIGNED;

static const struct fwgen_buffer scene_buffer = {scene, SCENE_BYTES};
static const struct fwgen_buffer heat_buffer = {heat, HEAT_BYTES};
static const struct fwgen_buffer digit_buffer = {digit, DIGIT_BYTES};
static const struct fwgen_buffer score_buffer = {scores, SCORE_BYTES};

static struct fwgen_fence found;
static struct fwgen_fence ready;
static struct fwgen_fence answered;
static struct fwgen_fence *const found_events[] = {&found};
static struct fwgen_fence *const ready_events[] = {&ready};
static struct fwgen_fence *const answered_events[] = {&answered};

static struct fwgen_task locate_job;
static struct fwgen_task read_job;

/* Where the cutter found the digit. */
static uint32_t top;
static uint32_t left;

static StaticTask_t cutter_task;
static StackType_t cutter_stack[STACK_WORDS];
static StaticTask_t viewer_task;
static StackType_t viewer_stack[STACK_WORDS];

static const struct fwgen_model *locator(void)
{
    return fwgen_model_find("locate");
}

static const struct fwgen_model *reader(void)
{
    return fwgen_model_find("digits");
}

/* The place of the first largest value. */
static void find_brightest(void)
{
    const struct fwgen_tensor *out = fwgen_model_output(locator(), 0);
    int32_t best = INT8_MIN - 1;

    for (uint32_t y = 0; y < PLACES; y++) {
        for (uint32_t x = 0; x < PLACES; x++) {
            const int8_t value =
                (int8_t)heat[fwgen_tensor_offset(out, 0, y, x)];

            if (value > best) {
                best = value;
                top = y;
                left = x;
            }
        }
    }
}

static void cut(void)
{
    const struct fwgen_tensor *from = fwgen_model_input(locator(), 0);
    const struct fwgen_tensor *to = fwgen_model_input(reader(), 0);

    for (uint32_t y = 0; y < DIGIT_SIDE; y++) {
        for (uint32_t x = 0; x < DIGIT_SIDE; x++) {
            digit[fwgen_tensor_offset(to, 0, y, x)] =
                scene[fwgen_tensor_offset(from, 0, top + y, left + x)];
        }
    }
}

static void cutter(void *argument)
{
    (void)argument;
    for (;;) {
        const enum fwgen_result result =
            fwgen_fence_wait(&found, portMAX_DELAY);

        if (result == FWGEN_OK) {
            find_brightest();
            cut();
            (void)fwgen_fence_signal(&ready);
        } else {
            fwgen_job_cancel(&read_job.job);
        }
    }
}

static void capture(uint32_t number)
{
    const struct fwgen_tensor *in = fwgen_model_input(locator(), 0);

    for (uint32_t y = 0; y < SCENE_SIDE; y++) {
        for (uint32_t x = 0; x < SCENE_SIDE; x++) {
            scene[fwgen_tensor_offset(in, 0, y, x)] =
                (uint8_t)scenes[number][y * SCENE_SIDE + x];
        }
    }
}

/* A number that tells one heat map from another. */
static uint32_t heat_checksum(void)
{
    const struct fwgen_tensor *out = fwgen_model_output(locator(), 0);
    uint32_t crc = 0;

    for (uint32_t y = 0; y < PLACES; y++) {
        for (uint32_t x = 0; x < PLACES; x++) {
            crc = fwgen_crc32(crc, &heat[fwgen_tensor_offset(out, 0, y, x)], 1);
        }
    }
    return crc;
}

static void show(uint32_t number, enum fwgen_result result)
{
    const struct fwgen_tensor *out = fwgen_model_output(reader(), 0);
    int32_t best = INT8_MIN - 1;
    uint32_t value = 0;

    fwgen_console_lock();
    fwgen_print("scene ");
    fwgen_print_decimal(number);
    fwgen_print(": ");
    fwgen_print(fwgen_result_name(result));
    if (result == FWGEN_OK) {
        fwgen_print(", heat ");
        fwgen_print_hex(heat_checksum());
        fwgen_print(", at ");
        fwgen_print_decimal(top);
        fwgen_print(" ");
        fwgen_print_decimal(left);
        fwgen_print(", scores");
        for (uint32_t i = 0; i < DIGITS; i++) {
            const int8_t score =
                (int8_t)scores[fwgen_tensor_offset(out, i, 0, 0)];

            fwgen_print(" ");
            fwgen_print_signed(score);
            if (score > best) {
                best = score;
                value = i;
            }
        }
        fwgen_print(", a ");
        fwgen_print_decimal(value);
    }
    fwgen_print("\n");
    fwgen_console_unlock();
}

static void viewer(void *argument)
{
    uint32_t good = 0;

    (void)argument;
    for (uint32_t number = 0; number < SCENES; number++) {
        enum fwgen_result result;

        capture(number);
        result = fwgen_task_submit(fwgen_accel_device(reader()->accelerator),
                                   &read_job, TIMEOUT_MS);
        if (result == FWGEN_OK) {
            result =
                fwgen_task_submit(fwgen_accel_device(locator()->accelerator),
                                  &locate_job, TIMEOUT_MS);
            if (result != FWGEN_OK) {
                fwgen_job_cancel(&read_job.job);
            }
            /* Signalled whatever becomes of it, so nobody waits for ever. */
            (void)fwgen_fence_wait(&answered, portMAX_DELAY);
            result = fwgen_job_wait(&read_job.job, portMAX_DELAY);
        }
        if (result == FWGEN_OK) {
            good++;
        }
        show(number, result);
    }
    fwgen_log_value("scenes read:", good);
    for (uint32_t i = 0; i < fwgen_accelerator_count; i++) {
        struct fwgen_statistics statistics;

        fwgen_accel_statistics(fwgen_accel_device(i), &statistics);
        fwgen_console_lock();
        fwgen_print(fwgen_accelerators[i].name);
        fwgen_print(": inferences ");
        fwgen_print_decimal(statistics.inferences);
        fwgen_print(", errors ");
        fwgen_print_decimal(statistics.errors);
        fwgen_print("\n");
        fwgen_console_unlock();
    }
    fwgen_exit(0);
}

void fwgen_app_start(void)
{
    configASSERT(locator() != NULL && reader() != NULL);
    configASSERT(fwgen_model_input(locator(), 0)->size == SCENE_BYTES);
    configASSERT(fwgen_model_output(locator(), 0)->size == HEAT_BYTES);
    configASSERT(fwgen_model_input(reader(), 0)->size == DIGIT_BYTES);
    configASSERT(fwgen_model_output(reader(), 0)->size == SCORE_BYTES);
    (void)fwgen_fence_init(&found, FWGEN_FENCE_BINARY);
    (void)fwgen_fence_init(&ready, FWGEN_FENCE_BINARY);
    (void)fwgen_fence_init(&answered, FWGEN_FENCE_BINARY);

    fwgen_task_init(&locate_job, locator());
    locate_job.inputs = &scene_buffer;
    locate_job.outputs = &heat_buffer;
    locate_job.signal_events = found_events;
    locate_job.signal_count = 1;

    fwgen_task_init(&read_job, reader());
    read_job.inputs = &digit_buffer;
    read_job.outputs = &score_buffer;
    read_job.wait_events = ready_events;
    read_job.wait_count = 1;
    read_job.signal_events = answered_events;
    read_job.signal_count = 1;

    (void)xTaskCreateStatic(cutter, "cutter", STACK_WORDS, NULL, 3,
                            cutter_stack, &cutter_task);
    (void)xTaskCreateStatic(viewer, "viewer", STACK_WORDS, NULL, 2,
                            viewer_stack, &viewer_task);
}
