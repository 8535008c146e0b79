/*
 * fwgen_accel.h - running compiled models: the interface of the application.
 *
 * One device is one accelerator of the board. A task of its own, of priority
 * NVDLA_TASK_PRIORITY, plays the programs; clients hand it jobs. Everything is
 * static: a job is an object of the client, and no function allocates. Unless
 * stated otherwise a function may be called from any task, by several tasks at
 * once, and not from an interrupt. No function but the ones that say so blocks.
 *
 * Codes that are marked "misuse" mean a mistake of the caller. In test builds
 * (FWGEN_TEST_BUILD) they end in configASSERT, so that the mistake is found;
 * in others the code is returned and nothing has been changed.
 *
 * NULL where an object is expected is misuse of every function here; one that
 * has no code to return then returns NULL, 0 or false, or does nothing. (A job
 * that is NULL is over; a device that is NULL is BROKEN.) So a name that
 * fwgen_model_find() does not know, or a device that the board has not, is
 * found at the first use.
 *
 * Example: one inference, waiting for it.
 *
 *     const struct fwgen_model *model = fwgen_model_find("lenet5");
 *     const struct fwgen_tensor *in = fwgen_model_input(model, 0);
 *     enum fwgen_result result = fwgen_tensor_write(in, picture, in->size);
 *     if (result == FWGEN_OK) {
 *         result = fwgen_accel_submit(fwgen_accel_device(model->accelerator),
 *                                     model, 100, NULL);
 *     }
 *
 * Order. Each device works through a queue of its own, one job at a time; a
 * program that runs is never interrupted for another one. Next comes the
 * waiting job with the highest priority (fwgen_job_set_priority). Jobs of one
 * priority take turns by client, where a client is the task that submitted:
 * a client's second job waits until every other client has had its turn.
 * Jobs of one client at one priority run in the order they came. A job that
 * waits for a fence (fwgen_task.h) lets others pass until the fence is
 * signalled. At most FWGEN_QUEUE_LENGTH jobs wait; a further one is refused.
 *
 * Worst-case blocking. With R the longest run of any model of the device and
 * n <= FWGEN_QUEUE_LENGTH the jobs that wait, a job that needs no fence starts
 *
 * - at the highest priority, alone there: after at most 1 R (the run that it
 *   finds);
 * - as the next job of a client that shares its priority with k others, and
 *   nothing above: after at most (1 + k) R;
 * - in any case, while nothing of a higher priority is submitted: after at most
 *   (1 + n) R.
 *
 * In a build that pipelines (docs/pipelining.md) a run may have begun behind
 * the one that runs; this adds one R.
 *
 * R is bounded: each wait of a program has a timeout of its own
 * (fwgen_accelerator.timeout_ms), so R <= operations * timeout; a run that
 * fails costs one recovery more, at most one timeout. A caller's timeout_ms
 * bounds its own call and, when its job runs, the run. On top of this comes
 * what tasks of a higher priority than NVDLA_TASK_PRIORITY take of the CPU.
 */
#ifndef FWGEN_ACCEL_H
#define FWGEN_ACCEL_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "semphr.h"

#include "fwgen_config_defaults.h"
#include "fwgen_model.h"
#include "fwgen_result.h"

/* A device; opaque. */
typedef struct fwgen_engine *fwgen_device;

/* What one run did. */
struct fwgen_report {
    enum fwgen_result result;
    uint32_t operation;  /* the one that failed, FWGEN_NO_OPERATION: none */
    uint64_t duration;   /* CPU timer ticks (fwgen_timer_hz) in the executor */
    uint32_t interrupts; /* of the accelerator during the run */
    uint32_t kernel_ticks;
};

/* Counters since start; they wrap. */
struct fwgen_statistics {
    uint32_t inferences; /* that ended with FWGEN_OK */
    uint32_t errors;
    uint32_t interrupts;
    uint32_t spurious; /* interrupts that found no status bit */
    uint32_t resets;
    uint32_t waiting;        /* jobs in the queue now */
    uint32_t last_operation; /* that failed, or FWGEN_NO_OPERATION */
    enum fwgen_result last_result;
};

enum fwgen_device_state {
    FWGEN_STATE_IDLE = 0,
    FWGEN_STATE_RUNNING = 1,
    FWGEN_STATE_BROKEN = 2, /* identity wrong, or a reset did not help; the
                               next job tries to bring it back first */
};

struct fwgen_job;

/*
 * How something that is built on jobs takes part in their life (fwgen_task.h);
 * not for applications. `ready`, called with the scheduler suspended, says
 * whether the job may start and lowers *ticks if it must be asked again by
 * then; `take`, called there too, takes what it waited for. `begin` is called
 * by the device's task before the program, which is not run if it fails; `end`
 * when the job is over for whatever reason, by whoever ends it, and may change
 * the result.
 */
struct fwgen_job_hooks {
    bool (*ready)(const struct fwgen_job *job, TickType_t *ticks);
    void (*take)(struct fwgen_job *job);
    enum fwgen_result (*begin)(struct fwgen_job *job);
    enum fwgen_result (*end)(struct fwgen_job *job, enum fwgen_result result);
};

/*
 * A run that is waiting, running or over. The client provides the storage,
 * which must stay valid until the job is over; the members are private.
 */
struct fwgen_job {
    struct fwgen_job *next;
    const struct fwgen_model *model;
    struct fwgen_engine *engine;
    const struct fwgen_job_hooks *hooks; /* NULL: none */
    const void *client;                  /* the task that submitted it */
    TickType_t start;                    /* when it was submitted */
    TickType_t timeout; /* ticks from start, portMAX_DELAY: none */
    uint8_t bank;       /* of inputs and outputs */
    uint8_t serial;     /* 1: pipelining is off for this job */
    uint8_t priority;   /* what the client wants */
    uint8_t level;      /* in the queue: the priority, or claimed */
    uint8_t round;      /* among jobs of its level */
    volatile uint8_t state;
    volatile bool cancelled;
    struct fwgen_report report;
    SemaphoreHandle_t done;
    StaticSemaphore_t done_storage;
};

/*
 * Creates the tasks of all devices and resets the hardware. Called once by
 * main() before vTaskStartScheduler(). Returns FWGEN_OK; a device that does not
 * answer is BROKEN and reported by its status, the others work.
 */
enum fwgen_result fwgen_accel_start(void);

/* The device with index 0 .. fwgen_accelerator_count - 1; NULL beyond. Any
 * context. */
fwgen_device fwgen_accel_device(uint32_t index);

/* The constant data of a device: name, family, configuration, address,
 * interrupt. Any context. */
const struct fwgen_accelerator *fwgen_accel_hardware(fwgen_device device);

/* The model of that name, or NULL. Any context. */
const struct fwgen_model *fwgen_model_find(const char *name);

/* Input or output `index` of a model, or NULL beyond the last. Its members are
 * the tensor's attributes: name, shape, element type, memory order, scale, zero
 * point, address and size (struct fwgen_tensor in fwgen_model.h). Any
 * context. */
const struct fwgen_tensor *fwgen_model_input(const struct fwgen_model *model,
                                             uint32_t index);
const struct fwgen_tensor *fwgen_model_output(const struct fwgen_model *model,
                                              uint32_t index);

/*
 * The same in one of two banks, where the build pipelines (docs/pipelining.md):
 * while a run uses bank 0, the application may fill the inputs of bank 1 and
 * read its outputs. NULL for a bank or an index that does not exist. Any
 * context.
 */
const struct fwgen_tensor *
fwgen_model_input_bank(const struct fwgen_model *model, uint32_t index,
                       uint32_t bank);
const struct fwgen_tensor *
fwgen_model_output_bank(const struct fwgen_model *model, uint32_t index,
                        uint32_t bank);

/*
 * Runs a model and waits until it is over.
 *
 * timeout_ms  bounds the whole run, waiting for other jobs included; 0: no
 *             bound but the one that each wait of the program has, which makes
 *             the call end too.
 * report      filled when not NULL.
 *
 * Returns FWGEN_OK; FWGEN_ERROR_TIMEOUT (the accelerator has been reset and
 * is ready again), FWGEN_ERROR_DEVICE (it is broken), FWGEN_ERROR_CANARY,
 * FWGEN_ERROR_PROGRAM, FWGEN_ERROR_NOT_SUPPORTED (a CPU kernel is not in the
 * image or refuses its arguments), FWGEN_ERROR_QUEUE_FULL, or
 * FWGEN_ERROR_ARGUMENT (misuse: NULL, or a model for another accelerator).
 * Blocks the calling task. About 170 bytes of its stack hold the job.
 */
enum fwgen_result fwgen_accel_submit(fwgen_device device,
                                     const struct fwgen_model *model,
                                     uint32_t timeout_ms,
                                     struct fwgen_report *report);

/* Prepares the storage of a job. A job may be submitted again when it is over;
 * it is prepared once. Must not be called for a job that is not over. */
void fwgen_job_init(struct fwgen_job *job, const struct fwgen_model *model);

/*
 * Sets the priority of a job; a larger number runs first. 0 after
 * fwgen_job_init, which is also what fwgen_accel_submit uses. It takes effect
 * with the next submission. A priority has nothing to do with the caller's
 * FreeRTOS priority, which says who gets the CPU, not who gets the accelerator.
 * Returns FWGEN_OK, FWGEN_ERROR_BUSY (the job is not over) or
 * FWGEN_ERROR_ARGUMENT (misuse).
 */
enum fwgen_result fwgen_job_set_priority(struct fwgen_job *job,
                                         uint8_t priority);

/*
 * Sets the bank of inputs and outputs that a job uses; 0 after fwgen_job_init.
 * It takes effect with the next submission. Two jobs that are submitted in
 * turn, one for each bank, keep the accelerator at work while the application
 * fills and reads the other bank: a job that follows begins before the one
 * before it has ended, so what the inputs of its bank hold when it is submitted
 * counts. Returns FWGEN_OK, FWGEN_ERROR_BUSY (the job is not over),
 * FWGEN_ERROR_NOT_SUPPORTED (the build has no second bank) or
 * FWGEN_ERROR_ARGUMENT (misuse).
 *
 * Example, with depth 2 or 4 in the build:
 *     static struct fwgen_job jobs[2];
 *     for (uint32_t i = 0; i < 2; i++) {
 *         fwgen_job_init(&jobs[i], model);
 *         fwgen_job_set_bank(&jobs[i], i);
 *     }
 *     for (uint32_t bank = 0;; bank ^= 1) {
 *         result = fwgen_job_wait(&jobs[bank], portMAX_DELAY);  (from the third
 *         use(fwgen_model_output_bank(model, 0, bank)->address); round on)
 *         fill(fwgen_model_input_bank(model, 0, bank)->address);
 *         fwgen_accel_submit_async(device, &jobs[bank], 0);
 *     }
 */
enum fwgen_result fwgen_job_set_bank(struct fwgen_job *job, uint32_t bank);

/*
 * Chooses the pipeline depth of a job: 1, or the one that was generated
 * (`fwgen build --pipeline`), which is what fwgen_job_init chooses. It takes
 * effect with the next submission.
 * Returns FWGEN_OK, FWGEN_ERROR_BUSY (the job is not over),
 * FWGEN_ERROR_NOT_SUPPORTED (the model has no program of that depth) or
 * FWGEN_ERROR_ARGUMENT (misuse).
 */
enum fwgen_result fwgen_job_set_depth(struct fwgen_job *job, uint32_t depth);

/*
 * Hands a job to a device and returns at once. timeout_ms as above, counted
 * from this call.
 * Returns FWGEN_OK, FWGEN_ERROR_BUSY (the job is not over yet),
 * FWGEN_ERROR_QUEUE_FULL (as many jobs as may wait do; try again when one is
 * over) or FWGEN_ERROR_ARGUMENT (misuse: NULL, or a model for another
 * accelerator).
 *
 * Example:
 *     static struct fwgen_job job;
 *     fwgen_job_init(&job, model);
 *     fwgen_accel_submit_async(device, &job, 100);
 *     prepare_next_picture();
 *     result = fwgen_job_wait(&job, portMAX_DELAY);
 */
enum fwgen_result fwgen_accel_submit_async(fwgen_device device,
                                           struct fwgen_job *job,
                                           uint32_t timeout_ms);

/*
 * Submits a job and waits until it is over, at most timeout_ms (0: as
 * fwgen_accel_submit). Returns its result, or what fwgen_accel_submit_async
 * refused it with. Blocks the calling task.
 */
enum fwgen_result fwgen_job_run(fwgen_device device, struct fwgen_job *job,
                                uint32_t timeout_ms);

/*
 * Waits until a job is over. Returns its result, or FWGEN_ERROR_BUSY when it is
 * not over after `ticks` (the job goes on and may be waited for again); 0
 * ticks only look. FWGEN_ERROR_ARGUMENT (misuse) for a job that was never
 * submitted. Several tasks may wait for a job, and more than once; one that
 * submits it again does so when the others have their answer.
 */
enum fwgen_result fwgen_job_wait(struct fwgen_job *job, TickType_t ticks);

/* True when the job is over or was never submitted. Any context. */
bool fwgen_job_is_over(const struct fwgen_job *job);

/* The report of a job that is over. */
const struct fwgen_report *fwgen_job_report(const struct fwgen_job *job);

/*
 * Asks for the end of a job: one that waits does not start, one that runs
 * ends at its next wait, after which the accelerator is brought back to rest.
 * The job is over, with FWGEN_ERROR_CANCELLED, when fwgen_job_wait() says so.
 */
void fwgen_job_cancel(struct fwgen_job *job);

/* State of a device. Any context. */
enum fwgen_device_state fwgen_accel_state(fwgen_device device);

/* Fills *statistics with the counters of a device. */
void fwgen_accel_statistics(fwgen_device device,
                            struct fwgen_statistics *statistics);

/*
 * Ticks of the CPU timer that operation `first`, first + 1, ... took in the
 * last run of `model`. Copies up to `count` values and returns how many.
 * 0 when the build has FWGEN_PROFILE 0 or the last run was another model's.
 * An operation's time ends where the next operation's commands begin.
 */
uint32_t fwgen_accel_profile(fwgen_device device,
                             const struct fwgen_model *model, uint32_t first,
                             uint32_t *ticks, uint32_t count);

/* The input or output of that name, or NULL. Any context. */
const struct fwgen_tensor *
fwgen_model_find_input(const struct fwgen_model *model, const char *name);
const struct fwgen_tensor *
fwgen_model_find_output(const struct fwgen_model *model, const char *name);

/* What buffers of the application are aligned to when the runtime copies them:
 * fwgen_tensor_write, fwgen_tensor_read, fwgen_task.h. */
#define FWGEN_BUFFER_ALIGNMENT 4u

/*
 * Copies a whole tensor from a buffer of the application, or to it, and keeps
 * the data cache coherent with the accelerator on CPUs that have one. The
 * bytes are in the tensor's own memory order. Must not run while a job of the
 * model does; no cache maintenance is needed for the application's buffer.
 *
 * size   must be tensor->size: a size that differs is a mistake of somebody.
 * data   aligned to FWGEN_BUFFER_ALIGNMENT; the tensor's own address is allowed
 *        and copies nothing.
 *
 * Returns FWGEN_OK, FWGEN_ERROR_BAD_LENGTH, FWGEN_ERROR_ALIGNMENT or
 * FWGEN_ERROR_ARGUMENT (all misuse; nothing was copied).
 */
enum fwgen_result fwgen_tensor_write(const struct fwgen_tensor *tensor,
                                     const void *data, uint32_t size);
enum fwgen_result fwgen_tensor_read(const struct fwgen_tensor *tensor,
                                    void *data, uint32_t size);

#endif
