/*
 * fwgen_task.h - inferences with buffers and events of their own.
 *
 * A task (in the sense that accelerator interfaces give to the word; what
 * FreeRTOS calls a task is the client) is a job with more to say: buffers of
 * the application from which the inputs are copied before the run and into
 * which the outputs are copied after it, fences that it waits for, fences that
 * it signals. The copies are made by the device's task, when the tensors belong
 * to nobody else: several tasks may use one model without knowing of each
 * other.
 *
 * The life of a task: it is submitted; it waits until each of its wait events
 * has a signal, and takes them all at once; it waits for its turn; the inputs
 * are copied; the program runs; the outputs are copied, only if the run was
 * good; the signal events are signalled, in any case; the job is over.
 *
 * Example: a detector and a classifier on two accelerators, chained by a fence.
 *
 *     static struct fwgen_fence found;
 *     static struct fwgen_fence *const events[] = {&found};
 *     static struct fwgen_task detect;
 *     static struct fwgen_task classify;
 *
 *     fwgen_fence_init(&found, FWGEN_FENCE_BINARY);
 *     fwgen_task_init(&detect, detector);
 *     detect.inputs = &picture; (one struct fwgen_buffer per input)
 *     detect.outputs = &boxes;
 *     detect.signal_events = events;
 *     detect.signal_count = 1;
 *     fwgen_task_init(&classify, classifier);
 *     classify.inputs = &boxes;
 *     classify.outputs = &answer;
 *     classify.wait_events = events;
 *     classify.wait_count = 1;
 *     fwgen_task_submit(fwgen_accel_device(0), &detect, 100);
 *     fwgen_task_submit(fwgen_accel_device(1), &classify, 200);
 *     result = fwgen_job_wait(&classify.job, portMAX_DELAY);
 */
#ifndef FWGEN_TASK_H
#define FWGEN_TASK_H

#include "fwgen_accel.h"
#include "fwgen_fence.h"

/* A buffer of the application for one tensor. */
struct fwgen_buffer {
    void *data;    /* aligned to FWGEN_BUFFER_ALIGNMENT; NULL: the tensor's own
                      memory, nothing is copied */
    uint32_t size; /* must be the tensor's; not looked at when data is NULL */
};

/*
 * The client provides the storage and fills the members between
 * fwgen_task_init() and fwgen_task_submit(); until the job is over nothing of
 * it, nor what it points to, may be changed. Wait with
 * fwgen_job_wait(&task.job, ..), cancel with fwgen_job_cancel(&task.job), set
 * the priority with fwgen_job_set_priority(&task.job, ..).
 */
struct fwgen_task {
    struct fwgen_job job; /* private */
    /* model->input_count and model->output_count buffers in the order of the
     * model's tensors; NULL: all tensors are used where they are. */
    const struct fwgen_buffer *inputs;
    const struct fwgen_buffer *outputs;
    /* Fences, each at most once; NULL when the count is 0. */
    struct fwgen_fence *const *wait_events;
    struct fwgen_fence *const *signal_events;
    uint8_t wait_count;
    uint8_t signal_count;
    bool taken;  /* private: the wait events' signals are taken */
    bool failed; /* private: one of them came from a job that failed */
};

/* Prepares the storage of a task: no buffers, no events, priority 0. Must not
 * be called for a task that is not over. */
void fwgen_task_init(struct fwgen_task *task, const struct fwgen_model *model);

/*
 * Hands a task to a device and returns at once.
 *
 * timeout_ms  from this call to the end of the run, waiting for events
 *             included; 0: no bound but the one that each wait of the program
 *             has. With 0 a task whose events never come never ends by itself;
 *             it can be cancelled.
 *
 * Returns FWGEN_OK, FWGEN_ERROR_BUSY (the task is not over yet),
 * FWGEN_ERROR_QUEUE_FULL, and as misuse FWGEN_ERROR_BAD_LENGTH (a buffer's size
 * is not its tensor's), FWGEN_ERROR_ALIGNMENT (a buffer's address) or
 * FWGEN_ERROR_ARGUMENT (NULL, another accelerator's model, or an event that is
 * not a fence). Whatever it refuses has changed nothing.
 *
 * The result of the job is FWGEN_ERROR_DEPENDENCY, and the model has not run,
 * when an event came from a job that had failed; FWGEN_ERROR_SIGNALLED when the
 * run was good and the outputs are there, but a signal event could not take one
 * more signal. Otherwise as fwgen_accel_submit says.
 */
enum fwgen_result fwgen_task_submit(fwgen_device device,
                                    struct fwgen_task *task,
                                    uint32_t timeout_ms);

/*
 * Submits a task and waits until it is over, at most timeout_ms (0: as above).
 * Returns its result, or what fwgen_task_submit refused it with. Blocks the
 * calling task.
 */
enum fwgen_result fwgen_task_run(fwgen_device device, struct fwgen_task *task,
                                 uint32_t timeout_ms);

#endif
