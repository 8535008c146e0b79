/*
 * accel.c - devices, jobs and the tasks that run them (fwgen_accel.h).
 *
 * One task per accelerator takes jobs from the device's queue, a list in the
 * order in which they are to run. The queue is guarded by suspending the
 * scheduler, because only tasks touch it. The interrupt touches `status` alone.
 *
 * As long as all clients wait for their jobs there is nothing to choose: the
 * jobs run as they came. The first asynchronous submission, which an image
 * may lack, switches to the fair policy (fair.c).
 *
 * Who takes a job out of the queue, sets it to RUNNING and alone ends it.
 */
#include "fwgen_accel.h"

#include <string.h>

#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_driver.h"
#include "fwgen_vectors.h"
#include "queue_policy.h"

static struct fwgen_engine engines[FWGEN_ACCEL_COUNT];
static StaticTask_t tasks[FWGEN_ACCEL_COUNT];
static StackType_t stacks[FWGEN_ACCEL_COUNT][NVDLA_STACK_SIZE];

#if FWGEN_WATCHDOG
volatile uint32_t fwgen_engine_beats[FWGEN_ACCEL_COUNT];

static void beat(const struct fwgen_engine *engine)
{
    const uint32_t index = (uint32_t)(engine - engines);

    fwgen_engine_beats[index] = fwgen_engine_beats[index] + 1u;
}
#else
#define beat(engine) ((void)0)
#endif

/* ---- interrupts ---- */

static void interrupt(uint32_t index)
{
    struct fwgen_engine *engine = &engines[index];
    const uint32_t bits = engine->hardware->driver->interrupt(engine);
    BaseType_t woken = pdFALSE;

    engine->interrupts++;
    if (bits == 0u) {
        engine->spurious++;
        return;
    }
    engine->status |= bits;
    if ((~engine->status & engine->waiting) == 0u ||
        fwgen_engine_failed(engine)) {
        vTaskNotifyGiveFromISR(engine->task, &woken);
        portYIELD_FROM_ISR(woken);
    }
}

void fwgen_accel0_IRQHandler(void)
{
    interrupt(0);
}

#if FWGEN_ACCEL_COUNT > 1
void fwgen_accel1_IRQHandler(void)
{
    interrupt(1);
}
#endif

#if FWGEN_ACCEL_COUNT > 2
void fwgen_accel2_IRQHandler(void)
{
    interrupt(2);
}
#endif

#if FWGEN_ACCEL_COUNT > 3
void fwgen_accel3_IRQHandler(void)
{
    interrupt(3);
}
#endif

/* ---- the task of a device ---- */

const struct fwgen_policy *fwgen_policy;

static bool place_last(struct fwgen_engine *engine, struct fwgen_job *job)
{
    struct fwgen_job **link = &engine->first;
    uint32_t room = FWGEN_QUEUE_LENGTH;

    while (*link != NULL) {
        if (--room == 0u) {
            return false;
        }
        link = &(*link)->next;
    }
    job->next = NULL;
    *link = job;
    return true;
}

static struct fwgen_job *take_job(struct fwgen_engine *engine,
                                  TickType_t *ticks)
{
    struct fwgen_job *job;

    vTaskSuspendAll();
    job = fwgen_policy == NULL ? engine->first
                               : fwgen_policy->choose(engine, ticks);
    if (job != NULL) {
        dequeue(engine, job);
        engine->current = job;
    }
    (void)xTaskResumeAll();
    return job;
}

/* Ends a job that is in no queue. The scheduler is suspended so that nobody
 * sees the job over, and reuses its storage, before the semaphore has been
 * given for the last time. */
static void end_job(struct fwgen_job *job, enum fwgen_result result)
{
    if (job->hooks != NULL) {
        result = job->hooks->end(job, result);
    }
    job->report.result = result;
    vTaskSuspendAll();
    job->state = JOB_OVER;
    (void)xSemaphoreGive(job->done);
    (void)xTaskResumeAll();
}

static bool expired(const struct fwgen_job *job)
{
    return job->timeout != portMAX_DELAY &&
           xTaskGetTickCount() - job->start >= job->timeout;
}

static enum fwgen_result recover(struct fwgen_engine *engine)
{
    const enum fwgen_result result = engine->hardware->driver->recover(engine);

    engine->broken = result != FWGEN_OK;
    return result;
}

#if FWGEN_PIPELINE > 1
/* Sets what the executor must know of a job; true when the run before has
 * played its first commands. */
static bool arrange(struct fwgen_engine *engine, const struct fwgen_job *job)
{
    const bool ahead = engine->ahead;

    engine->ahead = false;
    engine->pipelined = job->serial == 0u && job->model->pipelined != NULL;
    engine->conditions =
        1u << (job->bank != 0u ? FWGEN_IF_BANK_B : FWGEN_IF_BANK_A);
    if (!ahead) {
        engine->conditions |= 1u << FWGEN_IF_COLD;
    }
    return ahead;
}

static void forget_ahead(struct fwgen_engine *engine)
{
    engine->ahead = false;
}

uint32_t fwgen_engine_next(struct fwgen_engine *engine)
{
    struct fwgen_job *job = fwgen_engine_claim(engine, engine->current);

    if (job == NULL || job->cancelled ||
        (job->hooks != NULL && job->hooks->begin(job) != FWGEN_OK)) {
        return 0; /* it says so again when it is its turn */
    }
    engine->ahead = true;
    return (1u << FWGEN_IF_NEXT) | (1u << FWGEN_IF_AHEAD) |
           (1u << (job->bank != 0u ? FWGEN_IF_NEXT_BANK_B
                                   : FWGEN_IF_NEXT_BANK_A));
}
#else
static bool arrange(struct fwgen_engine *engine, const struct fwgen_job *job)
{
    (void)engine;
    (void)job;
    return false;
}

static void forget_ahead(struct fwgen_engine *engine)
{
    (void)engine;
}
#endif

static enum fwgen_result run_job(struct fwgen_engine *engine,
                                 struct fwgen_job *job)
{
    const struct fwgen_model *model = job->model;
    struct fwgen_report *report = &job->report;
    const uint32_t interrupts = engine->interrupts;
    const bool ahead = arrange(engine, job);
    enum fwgen_result result;

    if (job->cancelled || expired(job)) {
        if (ahead) {
            (void)recover(engine); /* from what was played for this job */
        }
        return job->cancelled ? FWGEN_ERROR_CANCELLED : FWGEN_ERROR_TIMEOUT;
    }
    if (engine->broken) {
        engine->resets++;
        if (recover(engine) != FWGEN_OK) {
            return FWGEN_ERROR_DEVICE;
        }
    }
    if (!ahead && job->hooks != NULL) {
        result = job->hooks->begin(job);
        if (result != FWGEN_OK) {
            return result;
        }
    }
    if (!ahead) {
        engine->hardware->driver->prepare(engine, model);
    }
    report->kernel_ticks = xTaskGetTickCount();
    report->duration = fwgen_timer_read();
    result = fwgen_execute(engine, model, job->start, job->timeout);
    report->duration = fwgen_timer_read() - report->duration;
    report->kernel_ticks = xTaskGetTickCount() - report->kernel_ticks;
    report->interrupts = engine->interrupts - interrupts;
    if (result != FWGEN_OK) {
        report->operation = engine->operation;
        engine->resets++;
        forget_ahead(engine);
        if (recover(engine) != FWGEN_OK) {
            result = FWGEN_ERROR_DEVICE;
        }
    }
    return result;
}

static void engine_task(void *argument)
{
    struct fwgen_engine *engine = argument;

#if FWGEN_POWER_STEPS
    if (!fwgen_board_accel_power_on((uint32_t)(engine - engines))) {
        fwgen_log("accelerator cannot be switched on");
    }
#endif
    if (recover(engine) != FWGEN_OK) {
        fwgen_log("accelerator does not answer");
    }
    if (!FWGEN_CPU_FAMILY || engine->hardware->irq >= 0) {
        fwgen_irq_enable(engine->hardware->irq, engine->hardware->irq_priority);
    }
    for (;;) {
        TickType_t ticks = portMAX_DELAY;
        struct fwgen_job *job = take_job(engine, &ticks);
        enum fwgen_result result;

        beat(engine);
        if (job == NULL) {
            (void)ulTaskNotifyTake(pdTRUE, ticks);
            continue;
        }
        result = run_job(engine, job);
        if (result == FWGEN_OK) {
            engine->inferences++;
        } else {
            engine->errors++;
            engine->last_operation = job->report.operation;
        }
        engine->last_result = (uint8_t)result;
        engine->current = NULL;
        end_job(job, result);
    }
}

enum fwgen_result fwgen_accel_start(void)
{
    for (uint32_t i = 0; i < FWGEN_ACCEL_COUNT; i++) {
        struct fwgen_engine *engine = &engines[i];

        engine->hardware = &fwgen_accelerators[i];
        engine->wait_ticks = fwgen_ms_to_ticks(engine->hardware->timeout_ms);
        engine->last_operation = FWGEN_NO_OPERATION;
        engine->task = xTaskCreateStatic(
            engine_task, engine->hardware->name, NVDLA_STACK_SIZE, engine,
            NVDLA_TASK_PRIORITY, stacks[i], &tasks[i]);
    }
    return FWGEN_OK;
}

/* ---- devices ---- */

struct fwgen_engine *fwgen_engine_at(uint32_t index)
{
    return index < FWGEN_ACCEL_COUNT ? &engines[index] : NULL;
}

fwgen_device fwgen_accel_device(uint32_t index)
{
    return fwgen_engine_at(index);
}

const struct fwgen_accelerator *fwgen_accel_hardware(fwgen_device device)
{
    if (device == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return device->hardware;
}

bool fwgen_engine_cancelled(const struct fwgen_engine *engine)
{
    beat(engine);
    return engine->current->cancelled;
}

enum fwgen_device_state fwgen_accel_state(fwgen_device device)
{
    if (device == NULL) {
        FWGEN_MISUSE();
        return FWGEN_STATE_BROKEN;
    }
    if (device->current != NULL) {
        return FWGEN_STATE_RUNNING;
    }
    return device->broken ? FWGEN_STATE_BROKEN : FWGEN_STATE_IDLE;
}

void fwgen_accel_statistics(fwgen_device device,
                            struct fwgen_statistics *statistics)
{
    if (device == NULL || statistics == NULL) {
        FWGEN_MISUSE();
        return;
    }
    statistics->inferences = device->inferences;
    statistics->errors = device->errors;
    statistics->interrupts = device->interrupts;
    statistics->spurious = device->spurious;
    statistics->resets = device->resets;
    statistics->waiting = 0;
    vTaskSuspendAll();
    for (const struct fwgen_job *job = device->first; job != NULL;
         job = job->next) {
        statistics->waiting++;
    }
    (void)xTaskResumeAll();
    statistics->last_operation = device->last_operation;
    statistics->last_result = (enum fwgen_result)device->last_result;
}

uint32_t fwgen_accel_profile(fwgen_device device,
                             const struct fwgen_model *model, uint32_t first,
                             uint32_t *ticks, uint32_t count)
{
#if FWGEN_PROFILE
    uint32_t copied = 0;

    if (device == NULL || ticks == NULL) {
        FWGEN_MISUSE();
        return copied;
    }
    while (device->profile_model == model && copied < count &&
           first + copied < model->operation_count &&
           first + copied < FWGEN_MAX_OPERATIONS) {
        ticks[copied] = device->profile[first + copied];
        copied++;
    }
    return copied;
#else
    (void)device;
    (void)model;
    (void)first;
    (void)ticks;
    (void)count;
    return 0;
#endif
}

/* ---- jobs ---- */

void fwgen_job_init(struct fwgen_job *job, const struct fwgen_model *model)
{
    if (job == NULL) {
        FWGEN_MISUSE();
        return;
    }
    (void)memset(job, 0, sizeof(*job));
    job->model = model;
    job->done = xSemaphoreCreateBinaryStatic(&job->done_storage);
}

enum fwgen_result fwgen_submit(fwgen_device device, struct fwgen_job *job,
                               uint32_t timeout_ms)
{
    enum fwgen_result result = FWGEN_OK;

    if (device == NULL || job == NULL || job->model == NULL ||
        fwgen_engine_at(job->model->accelerator) != device) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    vTaskSuspendAll();
    if (job->state != JOB_OVER) {
        result = FWGEN_ERROR_BUSY;
    } else if (!(fwgen_policy == NULL ? place_last
                                      : fwgen_policy->place)(device, job)) {
        result = FWGEN_ERROR_QUEUE_FULL;
    } else {
        (void)xSemaphoreTake(job->done, 0); /* of the last time */
        job->engine = device;
        job->cancelled = false;
        job->state = JOB_WAITING;
        job->start = xTaskGetTickCount();
        job->timeout =
            timeout_ms == 0u ? portMAX_DELAY : fwgen_ms_to_ticks(timeout_ms);
        (void)memset(&job->report, 0, sizeof(job->report));
        job->report.operation = FWGEN_NO_OPERATION;
    }
    (void)xTaskResumeAll();
    if (result == FWGEN_OK) {
        (void)xTaskNotifyGive(device->task);
    }
    return result;
}

/* Ends a job that has not started. */
static bool withdraw(struct fwgen_job *job, enum fwgen_result result)
{
    bool found;

    vTaskSuspendAll();
    found = job->state == JOB_WAITING;
    if (found) {
        dequeue(job->engine, job);
    }
    (void)xTaskResumeAll();
    if (found) {
        end_job(job, result);
    }
    return found;
}

enum fwgen_result fwgen_job_wait(struct fwgen_job *job, TickType_t ticks)
{
    if (job == NULL || job->engine == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    /* It is only looked at, so that everybody who waits sees it. */
    if (xQueuePeek(job->done, NULL, ticks) != pdTRUE) {
        return FWGEN_ERROR_BUSY;
    }
    return job->report.result;
}

bool fwgen_job_is_over(const struct fwgen_job *job)
{
    if (job == NULL) {
        FWGEN_MISUSE();
        return true;
    }
    return job->state == JOB_OVER;
}

const struct fwgen_report *fwgen_job_report(const struct fwgen_job *job)
{
    if (job == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return &job->report;
}

void fwgen_job_cancel(struct fwgen_job *job)
{
    if (job == NULL || job->engine == NULL) {
        FWGEN_MISUSE();
        return;
    }
    job->cancelled = true;
    if (!withdraw(job, FWGEN_ERROR_CANCELLED) && job->state == JOB_RUNNING) {
        (void)xTaskNotifyGive(job->engine->task);
    }
}

/* Waits for a job that was submitted, until its own deadline. */
static inline __attribute__((always_inline)) enum fwgen_result
finish(struct fwgen_job *job)
{
    if (fwgen_job_wait(job, job->timeout) == FWGEN_ERROR_BUSY) {
        /* The time is over. A job that runs ends by itself soon, for the
         * executor has the same deadline. */
        (void)withdraw(job, FWGEN_ERROR_TIMEOUT);
        (void)fwgen_job_wait(job, portMAX_DELAY);
    }
    return job->report.result;
}

enum fwgen_result fwgen_job_finish(struct fwgen_job *job)
{
    return finish(job);
}

enum fwgen_result fwgen_accel_submit(fwgen_device device,
                                     const struct fwgen_model *model,
                                     uint32_t timeout_ms,
                                     struct fwgen_report *report)
{
    struct fwgen_job job;
    enum fwgen_result result;

    fwgen_job_init(&job, model);
    job.report.operation = FWGEN_NO_OPERATION;
    result = fwgen_submit(device, &job, timeout_ms);
    if (result == FWGEN_OK) {
        result = finish(&job);
    }
    job.report.result = result;
    if (report != NULL) {
        *report = job.report;
    }
    return result;
}
