/*
 * fwgen_accel.h - running compiled models: the interface of the application.
 *
 * One device is one accelerator of the board. A task of its own plays the
 * programs; clients hand it jobs. Everything is static: a job is an object of
 * the client, and no function allocates. Unless stated otherwise a function
 * may be called from any task, by several tasks at once, and not from an
 * interrupt. No function but the ones that say so blocks.
 *
 * Example: one inference, waiting for it.
 *
 *     const struct fwgen_model *model = fwgen_model_find("lenet5");
 *     const struct fwgen_tensor *in = fwgen_model_input(model, 0);
 *     memcpy(in->address, picture, in->size);
 *     enum fwgen_result result =
 *         fwgen_accel_submit(fwgen_accel_device(0), model, 0, NULL);
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
    uint32_t last_operation; /* that failed, or FWGEN_NO_OPERATION */
    enum fwgen_result last_result;
};

enum fwgen_device_state {
    FWGEN_STATE_IDLE = 0,
    FWGEN_STATE_RUNNING = 1,
    FWGEN_STATE_BROKEN = 2, /* identity wrong, or a reset did not help; the
                               next job tries to bring it back first */
};

/*
 * A run that is waiting, running or over. The client provides the storage,
 * which must stay valid until the job is over; the members are private.
 */
struct fwgen_job {
    struct fwgen_job *next;
    const struct fwgen_model *model;
    struct fwgen_engine *engine;
    TickType_t start;   /* when it was submitted */
    TickType_t timeout; /* ticks from start, portMAX_DELAY: none */
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

/* The constant data of a device. */
const struct fwgen_accelerator *fwgen_accel_hardware(fwgen_device device);

/* The model of that name, or NULL. Any context. */
const struct fwgen_model *fwgen_model_find(const char *name);

/* Input or output `index` of a model, or NULL beyond the last. Any context. */
const struct fwgen_tensor *fwgen_model_input(const struct fwgen_model *model,
                                             uint32_t index);
const struct fwgen_tensor *fwgen_model_output(const struct fwgen_model *model,
                                              uint32_t index);

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
 * image or refuses its arguments), FWGEN_ERROR_ARGUMENT (NULL, or a model for
 * another accelerator).
 * Blocks the calling task. About 150 bytes of its stack hold the job.
 */
enum fwgen_result fwgen_accel_submit(fwgen_device device,
                                     const struct fwgen_model *model,
                                     uint32_t timeout_ms,
                                     struct fwgen_report *report);

/* Prepares the storage of a job. A job may be submitted again when it is over;
 * it is prepared once. Must not be called for a job that is not over. */
void fwgen_job_init(struct fwgen_job *job, const struct fwgen_model *model);

/*
 * Hands a job to a device and returns at once. Jobs run in the order they
 * came. timeout_ms as above, counted from this call.
 * Returns FWGEN_OK, FWGEN_ERROR_BUSY (the job is not over yet) or
 * FWGEN_ERROR_ARGUMENT.
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
 * Waits until a job is over. Returns its result, or FWGEN_ERROR_BUSY when it is
 * not over after `ticks` (the job goes on and may be waited for again).
 * One task waits for a job, once for each submission.
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

/* State and counters of a device. Any context. */
enum fwgen_device_state fwgen_accel_state(fwgen_device device);
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

#endif
