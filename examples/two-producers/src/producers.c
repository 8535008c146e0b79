/*
 * producers.c - two tasks run one model on one accelerator, and know nothing of
 * each other.
 *
 * Each producer has buffers of its own: the accelerator's task copies them to
 * the model's tensors and back while these belong to the running job
 * (fwgen_task.h). The left producer takes the pictures with even numbers, the
 * right one the others, each at its own pace; jobs of equal priority take
 * turns.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_accel.h"
#include "fwgen_app.h"
#include "fwgen_console.h"
#include "fwgen_fault.h"
#include "fwgen_fence.h"
#include "fwgen_task.h"
#include "fwgen_tensor.h"

#include "pictures.h"

#define INPUT_BYTES 512u /* 8 x 8 pixels in blocks of 8 channels */
#define OUTPUT_BYTES 16u /* 10 scores in blocks of 8 */
#define DIGITS 10u
#define TIMEOUT_MS 1000u

#define STACK_WORDS 512u
#define PRIORITY 2u

struct producer {
    const char *name;
    uint32_t first;    /* picture */
    uint32_t pause_ms; /* between two pictures */
    uint32_t good;     /* inferences */
    uint32_t longest;  /* ticks from submission to the answer */
    struct fwgen_task job;
    struct fwgen_buffer in;
    struct fwgen_buffer out;
    uint8_t pixels[INPUT_BYTES] __attribute__((aligned(64)));
    uint8_t scores[OUTPUT_BYTES] __attribute__((aligned(64)));
    StaticTask_t task;
    StackType_t stack[STACK_WORDS];
};

static struct producer left = {.name = "left", .first = 0, .pause_ms = 2};
static struct producer right = {.name = "right", .first = 1, .pause_ms = 3};

/* One signal from each producer at its end. */
static struct fwgen_fence finished;

static StaticTask_t reporter_task;
static StackType_t reporter_stack[STACK_WORDS];

/* Puts a picture into the memory order that the model's input has. */
static void pack(struct producer *self, uint32_t picture)
{
    const struct fwgen_tensor *in = fwgen_model_input(&fwgen_models[0], 0);

    for (uint32_t y = 0; y < PICTURE_SIDE; y++) {
        for (uint32_t x = 0; x < PICTURE_SIDE; x++) {
            self->pixels[fwgen_tensor_offset(in, 0, y, x)] =
                (uint8_t)pictures[picture][y * PICTURE_SIDE + x];
        }
    }
}

static void show(struct producer *self, uint32_t picture,
                 enum fwgen_result result)
{
    const struct fwgen_tensor *out = fwgen_model_output(&fwgen_models[0], 0);
    int32_t best = INT8_MIN - 1;
    uint32_t digit = 0;

    fwgen_console_lock();
    fwgen_print(self->name);
    fwgen_print(": picture ");
    fwgen_print_decimal(picture);
    fwgen_print(" ");
    fwgen_print(fwgen_result_name(result));
    fwgen_print(", scores");
    for (uint32_t i = 0; i < DIGITS; i++) {
        const int8_t score =
            (int8_t)self->scores[fwgen_tensor_offset(out, i, 0, 0)];

        fwgen_print(" ");
        fwgen_print_signed(score);
        if (score > best) {
            best = score;
            digit = i;
        }
    }
    fwgen_print(", a ");
    fwgen_print_decimal(digit);
    fwgen_print("\n");
    fwgen_console_unlock();
}

static void produce(void *argument)
{
    struct producer *self = argument;
    const struct fwgen_model *model = &fwgen_models[0];

    self->in = (struct fwgen_buffer){self->pixels, INPUT_BYTES};
    self->out = (struct fwgen_buffer){self->scores, OUTPUT_BYTES};
    fwgen_task_init(&self->job, model);
    self->job.inputs = &self->in;
    self->job.outputs = &self->out;
    for (uint32_t picture = self->first; picture < PICTURES; picture += 2u) {
        const TickType_t start = xTaskGetTickCount();
        enum fwgen_result result;
        TickType_t took;

        pack(self, picture);
        result = fwgen_task_run(fwgen_accel_device(model->accelerator),
                                &self->job, TIMEOUT_MS);
        took = xTaskGetTickCount() - start;
        if (took > self->longest) {
            self->longest = took;
        }
        if (result == FWGEN_OK) {
            self->good++;
        }
        show(self, picture, result);
        vTaskDelay(pdMS_TO_TICKS(self->pause_ms));
    }
    (void)fwgen_fence_signal(&finished);
    vTaskSuspend(NULL);
}

/* Waits for both, prints what the accelerator counted, ends the emulator. */
static void report(void *argument)
{
    struct fwgen_statistics statistics;

    (void)argument;
    (void)fwgen_fence_wait(&finished, portMAX_DELAY);
    (void)fwgen_fence_wait(&finished, portMAX_DELAY);
    fwgen_accel_statistics(fwgen_accel_device(fwgen_models[0].accelerator),
                           &statistics);
    fwgen_log_value("left: good", left.good);
    fwgen_log_value("left: longest wait in ticks", left.longest);
    fwgen_log_value("right: good", right.good);
    fwgen_log_value("right: longest wait in ticks", right.longest);
    fwgen_log_value("accelerator: inferences", statistics.inferences);
    fwgen_log_value("accelerator: errors", statistics.errors);
    fwgen_exit(0);
}

void fwgen_app_start(void)
{
    configASSERT(fwgen_model_input(&fwgen_models[0], 0)->size == INPUT_BYTES);
    configASSERT(fwgen_model_output(&fwgen_models[0], 0)->size == OUTPUT_BYTES);
    (void)fwgen_fence_init(&finished, 2);
    (void)xTaskCreateStatic(produce, left.name, STACK_WORDS, &left, PRIORITY,
                            left.stack, &left.task);
    (void)xTaskCreateStatic(produce, right.name, STACK_WORDS, &right, PRIORITY,
                            right.stack, &right.task);
    (void)xTaskCreateStatic(report, "report", STACK_WORDS, NULL, 1,
                            reporter_stack, &reporter_task);
}
