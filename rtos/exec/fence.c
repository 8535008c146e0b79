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
    BaseType_t given;

    vTaskSuspendAll();
    given = xSemaphoreGive(fence->signals);
    if (given == pdTRUE && failed) {
        fence->failed = true; /* nobody has run since */
    }
    for (uint32_t i = 0; i < FWGEN_ACCEL_COUNT; i++) {
        if (((fence->engines >> i) & 1u) != 0u) {
            (void)xTaskNotifyGive(fwgen_engine_at(i)->task);
        }
    }
    (void)xTaskResumeAll();
    return given == pdTRUE ? FWGEN_OK : FWGEN_ERROR_SIGNALLED;
}

enum fwgen_result fwgen_fence_signal(struct fwgen_fence *fence)
{
    if (!is_fence(fence)) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    return fwgen_fence_put(fence, false);
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
    const bool failed = fence->failed;

    if (!fence->latch) {
        (void)xSemaphoreTake(fence->signals, 0);
        fence->failed = false;
    }
    return failed;
}

enum fwgen_result fwgen_fence_wait(struct fwgen_fence *fence, TickType_t ticks)
{
    enum fwgen_result result = FWGEN_ERROR_TIMEOUT;

    if (!is_fence(fence)) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    taskENTER_CRITICAL();
    fence->users++;
    taskEXIT_CRITICAL();
    if (xSemaphoreTake(fence->signals, ticks) == pdTRUE) {
        vTaskSuspendAll();
        result = fence->failed ? FWGEN_ERROR_DEPENDENCY : FWGEN_OK;
        if (fence->latch) {
            /* back, for the next waiter; a job may have looked meanwhile */
            (void)fwgen_fence_put(fence, false);
        } else {
            fence->failed = false;
        }
        (void)xTaskResumeAll();
    }
    taskENTER_CRITICAL();
    fence->users--;
    taskEXIT_CRITICAL();
    return result;
}

uint32_t fwgen_fence_count(const struct fwgen_fence *fence)
{
    return is_fence(fence) ? (uint32_t)uxSemaphoreGetCount(fence->signals) : 0u;
}

enum fwgen_result fwgen_fence_reset(struct fwgen_fence *fence)
{
    if (!is_fence(fence)) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    /* As many as there are, not until there are none: interrupts may go on
     * signalling. */
    vTaskSuspendAll();
    for (uint32_t left = fwgen_fence_count(fence); left != 0u; left--) {
        (void)xSemaphoreTake(fence->signals, 0);
    }
    fence->failed = false;
    (void)xTaskResumeAll();
    return FWGEN_OK;
}

enum fwgen_result fwgen_fence_destroy(struct fwgen_fence *fence)
{
    enum fwgen_result result = FWGEN_OK;

    if (!is_fence(fence)) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    vTaskSuspendAll();
    if (fence->users != 0u) {
        result = FWGEN_ERROR_BUSY;
    } else {
        fence->signals = NULL;
    }
    (void)xTaskResumeAll();
    if (result != FWGEN_OK) {
        FWGEN_MISUSE();
    }
    return result;
}
