/*
 * fence.c - events (fwgen_fence.h): a counting semaphore of the kernel, and the
 * accelerators whose jobs wait for it.
 *
 * A semaphore is a queue of items without bytes; it is created as such, so that
 * the kernel need not be configured for counting semaphores.
 */
#include "fence.h"

#include <string.h>

#include "fwgen_driver.h"

static bool is_fence(const struct fwgen_fence *fence)
{
    return fence != NULL && fence->signals != NULL;
}

enum fwgen_result fwgen_fence_init(struct fwgen_fence *fence, uint32_t limit)
{
    if (fence == NULL || limit > 255u) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    (void)memset(fence, 0, sizeof(*fence));
    fence->latch = limit == FWGEN_FENCE_LATCH;
    fence->signals =
        xQueueCreateStatic(fence->latch ? 1u : limit, 0, NULL, &fence->storage);
    return FWGEN_OK;
}

enum fwgen_result fwgen_fence_put(struct fwgen_fence *fence, bool failed)
{
    enum fwgen_result result = FWGEN_ERROR_ARGUMENT;

    vTaskSuspendAll();
    /* Whoever destroys a fence does it as a task: it stays one from here on. */
    if (is_fence(fence)) {
        result = FWGEN_ERROR_SIGNALLED;
        taskENTER_CRITICAL(); /* an interrupt's signal is not this one */
        if (xSemaphoreGive(fence->signals) == pdTRUE) {
            result = FWGEN_OK;
            if (failed) {
                fence->failed = (uint8_t)uxSemaphoreGetCount(fence->signals);
            }
        }
        taskEXIT_CRITICAL();
        for (uint32_t i = 0; i < FWGEN_ACCEL_COUNT; i++) {
            if (((fence->engines >> i) & 1u) != 0u) {
                (void)xTaskNotifyGive(fwgen_engine_at(i)->task);
            }
        }
    }
    (void)xTaskResumeAll();
    return result;
}

enum fwgen_result fwgen_fence_signal(struct fwgen_fence *fence)
{
    const enum fwgen_result result = fwgen_fence_put(fence, false);

    if (result == FWGEN_ERROR_ARGUMENT) {
        FWGEN_MISUSE();
    }
    return result;
}

enum fwgen_result fwgen_fence_signal_from_isr(struct fwgen_fence *fence,
                                              BaseType_t *woken)
{
    if (!is_fence(fence) || woken == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    if (xSemaphoreGiveFromISR(fence->signals, woken) != pdTRUE) {
        return FWGEN_ERROR_SIGNALLED;
    }
    for (uint32_t i = 0; i < FWGEN_ACCEL_COUNT; i++) {
        if (((fence->engines >> i) & 1u) != 0u) {
            vTaskNotifyGiveFromISR(fwgen_engine_at(i)->task, woken);
        }
    }
    return FWGEN_OK;
}

bool fwgen_fence_take(struct fwgen_fence *fence)
{
    const bool failed = fence->failed != 0u;

    if (!fence->latch) {
        (void)xSemaphoreTake(fence->signals, 0);
        if (failed) {
            fence->failed--;
        }
    }
    return failed;
}

/* Counts, or counts no longer, a task that waits; false for what is no fence.
 */
static bool use(struct fwgen_fence *fence, uint32_t difference)
{
    bool usable;

    taskENTER_CRITICAL();
    usable = is_fence(fence);
    if (usable) {
        fence->users += difference;
    }
    taskEXIT_CRITICAL();
    return usable;
}

enum fwgen_result fwgen_fence_wait(struct fwgen_fence *fence, TickType_t ticks)
{
    const TickType_t start = xTaskGetTickCount();
    enum fwgen_result result = FWGEN_ERROR_BUSY;

    if (!use(fence, 1u)) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    /* A signal is looked at first, and taken together with its mark: a latch is
     * never closed by those who pass, and a mark goes with its signal. Each
     * further round means that somebody else took the signal that was seen. */
    do {
        const TickType_t elapsed = xTaskGetTickCount() - start;
        TickType_t left = ticks;

        if (ticks != portMAX_DELAY) {
            left = elapsed < ticks ? ticks - elapsed : 0u;
        }
        if (xQueuePeek(fence->signals, NULL, left) != pdTRUE) {
            result = FWGEN_ERROR_TIMEOUT;
        } else {
            vTaskSuspendAll();
            if (fwgen_fence_count(fence) != 0u) {
                result =
                    fwgen_fence_take(fence) ? FWGEN_ERROR_DEPENDENCY : FWGEN_OK;
            }
            (void)xTaskResumeAll();
        }
    } while (result == FWGEN_ERROR_BUSY);
    (void)use(fence, 0u - 1u);
    return result;
}

uint32_t fwgen_fence_count(const struct fwgen_fence *fence)
{
    return is_fence(fence) ? (uint32_t)uxSemaphoreGetCount(fence->signals) : 0u;
}

enum fwgen_result fwgen_fence_reset(struct fwgen_fence *fence)
{
    enum fwgen_result result = FWGEN_ERROR_ARGUMENT;

    vTaskSuspendAll();
    if (is_fence(fence)) {
        result = FWGEN_OK;
        /* As many as there are, not until there are none: interrupts may go on
         * signalling. */
        for (uint32_t left = fwgen_fence_count(fence); left != 0u; left--) {
            (void)xSemaphoreTake(fence->signals, 0);
        }
        fence->failed = 0;
    }
    (void)xTaskResumeAll();
    if (result != FWGEN_OK) {
        FWGEN_MISUSE();
    }
    return result;
}

enum fwgen_result fwgen_fence_destroy(struct fwgen_fence *fence)
{
    enum fwgen_result result = FWGEN_ERROR_ARGUMENT;

    vTaskSuspendAll();
    if (is_fence(fence)) {
        result = FWGEN_ERROR_BUSY;
        if (fence->users == 0u) {
            fence->signals = NULL;
            result = FWGEN_OK;
        }
    }
    (void)xTaskResumeAll();
    if (result != FWGEN_OK) {
        FWGEN_MISUSE();
    }
    return result;
}
