/*
 * task.c - inferences with buffers and events (fwgen_task.h), and copies of
 * tensors.
 *
 * A task is a job with hooks; the device's task knows nothing of it. A fence
 * counts the tasks that name it from submission to end, so that it is not
 * destroyed under them.
 */
#include "fwgen_task.h"

#include <string.h>

#include "fence.h"
#include "fwgen_cpu.h"
#include "fwgen_driver.h"

/* ---- tensors ---- */

static enum fwgen_result check(const struct fwgen_tensor *tensor,
                               const void *data, uint32_t size)
{
    if (tensor == NULL || data == NULL) {
        return FWGEN_ERROR_ARGUMENT;
    }
    if (size != tensor->size) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    if (((uintptr_t)data & (FWGEN_BUFFER_ALIGNMENT - 1u)) != 0u) {
        return FWGEN_ERROR_ALIGNMENT;
    }
    return FWGEN_OK;
}

static void copy_in(const struct fwgen_tensor *tensor, const void *data)
{
    if (data != tensor->address) {
        (void)memcpy(tensor->address, data, tensor->size);
    }
    fwgen_cache_clean((uintptr_t)tensor->address, tensor->size);
}

static void copy_out(const struct fwgen_tensor *tensor, void *data)
{
    fwgen_cache_invalidate((uintptr_t)tensor->address, tensor->size);
    if (data != tensor->address) {
        (void)memcpy(data, tensor->address, tensor->size);
    }
}

enum fwgen_result fwgen_tensor_write(const struct fwgen_tensor *tensor,
                                     const void *data, uint32_t size)
{
    const enum fwgen_result result = check(tensor, data, size);

    if (result != FWGEN_OK) {
        FWGEN_MISUSE();
        return result;
    }
    copy_in(tensor, data);
    return FWGEN_OK;
}

enum fwgen_result fwgen_tensor_read(const struct fwgen_tensor *tensor,
                                    void *data, uint32_t size)
{
    const enum fwgen_result result = check(tensor, data, size);

    if (result != FWGEN_OK) {
        FWGEN_MISUSE();
        return result;
    }
    copy_out(tensor, data);
    return FWGEN_OK;
}

/* ---- the hooks ---- */

/* The job is the first member of its task. */
static struct fwgen_task *task_of(struct fwgen_job *job)
{
    return (struct fwgen_task *)(void *)job;
}

static bool is_ready(const struct fwgen_job *job, TickType_t *ticks)
{
    const struct fwgen_task *task =
        (const struct fwgen_task *)(const void *)job;
    const TickType_t elapsed = xTaskGetTickCount() - job->start;
    bool ready = true;

    if (task->taken || job->cancelled) {
        return true;
    }
    for (uint32_t i = 0; i < task->wait_count; i++) {
        ready = ready && fwgen_fence_count(task->wait_events[i]) != 0u;
    }
    if (ready || job->timeout == portMAX_DELAY) {
        return ready;
    }
    if (elapsed >= job->timeout) {
        return true; /* it is over: its time is */
    }
    if (job->timeout - elapsed < *ticks) {
        *ticks = job->timeout - elapsed;
    }
    return false;
}

static void take(struct fwgen_job *job)
{
    struct fwgen_task *task = task_of(job);

    if (task->taken) {
        return;
    }
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if (fwgen_fence_count(task->wait_events[i]) == 0u) {
            return; /* cancelled or too late: it takes nothing */
        }
    }
    for (uint32_t i = 0; i < task->wait_count; i++) {
        if (fwgen_fence_take(task->wait_events[i])) {
            task->failed = true;
        }
    }
    task->taken = true;
}

static enum fwgen_result begin(struct fwgen_job *job)
{
    struct fwgen_task *task = task_of(job);

    if (!task->taken) {
        return FWGEN_ERROR_TIMEOUT;
    }
    if (task->failed) {
        return FWGEN_ERROR_DEPENDENCY;
    }
    if (task->inputs != NULL) {
        for (uint32_t i = 0; i < job->model->input_count; i++) {
            if (task->inputs[i].data != NULL) {
                copy_in(fwgen_model_input_bank(job->model, i, job->bank),
                        task->inputs[i].data);
            }
        }
    }
    return FWGEN_OK;
}

static void count_use(struct fwgen_fence *fence, uint32_t difference)
{
    taskENTER_CRITICAL();
    fence->users += difference;
    taskEXIT_CRITICAL();
}

static enum fwgen_result end(struct fwgen_job *job, enum fwgen_result result)
{
    struct fwgen_task *task = task_of(job);
    const bool failed = result != FWGEN_OK;

    if (!failed && task->outputs != NULL) {
        for (uint32_t i = 0; i < job->model->output_count; i++) {
            if (task->outputs[i].data != NULL) {
                copy_out(fwgen_model_output_bank(job->model, i, job->bank),
                         task->outputs[i].data);
            }
        }
    }
    for (uint32_t i = 0; i < task->wait_count; i++) {
        count_use(task->wait_events[i], 0u - 1u);
    }
    for (uint32_t i = 0; i < task->signal_count; i++) {
        if (fwgen_fence_put(task->signal_events[i], failed) != FWGEN_OK &&
            !failed) {
            result = FWGEN_ERROR_SIGNALLED;
        }
        count_use(task->signal_events[i], 0u - 1u);
    }
    return result;
}

static const struct fwgen_job_hooks task_hooks = {
    .ready = is_ready,
    .take = take,
    .begin = begin,
    .end = end,
};

/* ---- submission ---- */

void fwgen_task_init(struct fwgen_task *task, const struct fwgen_model *model)
{
    if (task == NULL) {
        FWGEN_MISUSE();
        return;
    }
    (void)memset(task, 0, sizeof(*task));
    fwgen_job_init(&task->job, model);
    task->job.hooks = &task_hooks;
}

static enum fwgen_result check_buffers(const struct fwgen_buffer *buffers,
                                       const struct fwgen_tensor *tensors,
                                       uint32_t count)
{
    enum fwgen_result result = FWGEN_OK;

    if (buffers == NULL) {
        return FWGEN_OK;
    }
    for (uint32_t i = 0; i < count && result == FWGEN_OK; i++) {
        if (buffers[i].data != NULL) {
            result = check(&tensors[i], buffers[i].data, buffers[i].size);
        }
    }
    return result;
}

/* True when all are fences and none comes twice. */
static bool are_fences(struct fwgen_fence *const *fences, uint32_t count)
{
    if (count != 0u && fences == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (fences[i] == NULL || fences[i]->signals == NULL) {
            return false;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (fences[j] == fences[i]) {
                return false;
            }
        }
    }
    return true;
}

static enum fwgen_result check_task(const struct fwgen_task *task)
{
    const struct fwgen_model *model;
    enum fwgen_result result;

    if (task == NULL || task->job.hooks != &task_hooks ||
        task->job.model == NULL ||
        !are_fences(task->wait_events, task->wait_count) ||
        !are_fences(task->signal_events, task->signal_count)) {
        return FWGEN_ERROR_ARGUMENT;
    }
    model = task->job.model;
    result = check_buffers(task->inputs, model->inputs, model->input_count);
    if (result != FWGEN_OK) {
        return result;
    }
    return check_buffers(task->outputs, model->outputs, model->output_count);
}

/* Counts, or counts no longer, the task as a user of its fences. */
static void use_fences(const struct fwgen_task *task, uint32_t difference)
{
    for (uint32_t i = 0; i < task->wait_count; i++) {
        struct fwgen_fence *fence = task->wait_events[i];

        count_use(fence, difference);
        taskENTER_CRITICAL();
        fence->engines =
            (uint8_t)(fence->engines | (1u << task->job.model->accelerator));
        taskEXIT_CRITICAL();
    }
    for (uint32_t i = 0; i < task->signal_count; i++) {
        count_use(task->signal_events[i], difference);
    }
}

enum fwgen_result fwgen_task_submit(fwgen_device device,
                                    struct fwgen_task *task,
                                    uint32_t timeout_ms)
{
    enum fwgen_result result;
    bool misuse;

    /* Nothing of the task may be touched while it is on its way, and its fences
     * must stay fences until they are counted. */
    vTaskSuspendAll();
    result = check_task(task);
    misuse = result != FWGEN_OK;
    if (misuse) {
        /* nothing has changed */
    } else if (!fwgen_job_is_over(&task->job)) {
        result = FWGEN_ERROR_BUSY;
    } else {
        task->taken = false;
        task->failed = false;
        use_fences(task, 1u);
        result = fwgen_accel_submit_async(device, &task->job, timeout_ms);
        if (result != FWGEN_OK) {
            use_fences(task, 0u - 1u);
        }
    }
    (void)xTaskResumeAll();
    if (misuse) {
        FWGEN_MISUSE();
    }
    return result;
}

enum fwgen_result fwgen_task_run(fwgen_device device, struct fwgen_task *task,
                                 uint32_t timeout_ms)
{
    const enum fwgen_result result =
        fwgen_task_submit(device, task, timeout_ms);

    return result == FWGEN_OK ? fwgen_job_finish(&task->job) : result;
}
