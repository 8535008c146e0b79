/*
 * fwgen_fence.h - events that tasks, interrupts and jobs signal and wait for.
 *
 * A fence is a static object. It counts signals: each signal lets one waiter
 * through, which takes it. A fence holds at most `limit` signals that nobody
 * has taken yet; a further one is refused with a code, so that a producer that
 * runs ahead is noticed. A limit of 1 makes a binary event. A latch
 * (FWGEN_FENCE_LATCH) is different: one signal opens it for all waiters, until
 * fwgen_fence_reset().
 *
 * A job of the accelerator that fails signals its events all the same, so that
 * nobody waits for ever, but marks them: who takes the signal gets
 * FWGEN_ERROR_DEPENDENCY, and a job that was to run on it does not run. Signals
 * of one fence cannot be told apart, so a mark goes with those too that wait to
 * be taken before it: more may be called failed than are, never fewer.
 *
 * Example: an interrupt tells of a picture, a task waits for it.
 *
 *     static struct fwgen_fence picture;
 *
 *     (void)fwgen_fence_init(&picture, FWGEN_FENCE_BINARY);
 *
 *     void camera_IRQHandler(void)
 *     {
 *         BaseType_t woken = pdFALSE;
 *
 *         if (fwgen_fence_signal_from_isr(&picture, &woken) != FWGEN_OK) {
 *             missed++;
 *         }
 *         portYIELD_FROM_ISR(woken);
 *     }
 *
 *     result = fwgen_fence_wait(&picture, pdMS_TO_TICKS(100));
 */
#ifndef FWGEN_FENCE_H
#define FWGEN_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "semphr.h"

#include "fwgen_result.h"

/* Limits with a meaning of their own; any other one up to 255 counts. */
#define FWGEN_FENCE_LATCH 0u
#define FWGEN_FENCE_BINARY 1u

/* The members are private. All zero: not a fence, or a destroyed one. */
struct fwgen_fence {
    SemaphoreHandle_t signals; /* NULL: not initialised */
    uint32_t users;            /* tasks that wait, jobs that name it */
    uint8_t engines;           /* bit n: a job of accelerator n waits for it */
    bool latch;
    uint8_t failed; /* how many of the signals that are taken next are marked;
                       an open latch: 1 if its signal is */
    StaticSemaphore_t storage;
};

/*
 * Makes a fence of the storage, without a signal. Must not be called for a
 * fence that is in use. Also before the scheduler runs. limit: signals it can
 * hold, 1 to 255; FWGEN_FENCE_LATCH makes a latch. Returns FWGEN_OK or
 * FWGEN_ERROR_ARGUMENT (misuse).
 */
enum fwgen_result fwgen_fence_init(struct fwgen_fence *fence, uint32_t limit);

/*
 * Signals a fence: lets one waiter through, now or later. Never blocks.
 * Returns FWGEN_OK, FWGEN_ERROR_SIGNALLED (it holds `limit` signals already, or
 * the latch is open; nothing has changed) or FWGEN_ERROR_ARGUMENT (misuse:
 * NULL, or not a fence).
 */
enum fwgen_result fwgen_fence_signal(struct fwgen_fence *fence);

/*
 * As fwgen_fence_signal, from an interrupt whose priority may call the kernel
 * (configMAX_SYSCALL_INTERRUPT_PRIORITY). *woken is set to pdTRUE when a task
 * has become ready that is more urgent than the interrupted one; pass it to
 * portYIELD_FROM_ISR().
 */
enum fwgen_result fwgen_fence_signal_from_isr(struct fwgen_fence *fence,
                                              BaseType_t *woken);

/*
 * Waits for a signal and takes it; a latch stays open.
 * ticks: longest wait; 0 only looks, portMAX_DELAY waits without end.
 * Returns FWGEN_OK, FWGEN_ERROR_TIMEOUT (no signal in time),
 * FWGEN_ERROR_DEPENDENCY (it came from a job that failed) or
 * FWGEN_ERROR_ARGUMENT (misuse). Blocks the calling task. Several tasks may
 * wait, and jobs too: who runs first takes the signal, by FreeRTOS priority,
 * where a job counts with that of the accelerator's task
 * (NVDLA_TASK_PRIORITY).
 */
enum fwgen_result fwgen_fence_wait(struct fwgen_fence *fence, TickType_t ticks);

/* Signals that nobody has taken yet; 0 or 1 for a latch. 0 for what is not a
 * fence. */
uint32_t fwgen_fence_count(const struct fwgen_fence *fence);

/* Takes all signals; closes a latch. Returns FWGEN_OK or FWGEN_ERROR_ARGUMENT
 * (misuse). */
enum fwgen_result fwgen_fence_reset(struct fwgen_fence *fence);

/*
 * Ends the use of a fence; the storage is free then.
 * Returns FWGEN_OK, FWGEN_ERROR_BUSY (misuse: a task waits for it, or a job
 * that is not over names it; the fence goes on as before) or
 * FWGEN_ERROR_ARGUMENT (misuse).
 */
enum fwgen_result fwgen_fence_destroy(struct fwgen_fence *fence);

#endif
