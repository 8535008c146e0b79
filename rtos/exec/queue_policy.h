/*
 * queue_policy.h - the queue of a device, between accel.c and fair.c. Not for
 * applications.
 */
#ifndef QUEUE_POLICY_H
#define QUEUE_POLICY_H

#include "fwgen_accel.h"
#include "fwgen_driver.h"

enum job_state {
    JOB_OVER = 0,
    JOB_WAITING = 1,
    JOB_RUNNING = 2,
};

/* How jobs are put into a queue and chosen from it; the scheduler is
 * suspended. `place` is false when the queue is full. */
struct fwgen_policy {
    bool (*place)(struct fwgen_engine *engine, struct fwgen_job *job);
    struct fwgen_job *(*choose)(struct fwgen_engine *engine, TickType_t *ticks);
};

/* What the first asynchronous submission switches to; NULL: as they came. */
extern const struct fwgen_policy *fwgen_policy;

/* Takes a job that waits out of the queue; the scheduler is suspended. */
static inline void dequeue(struct fwgen_engine *engine, struct fwgen_job *job)
{
    struct fwgen_job **link = &engine->first;

    while (*link != job) {
        link = &(*link)->next;
    }
    *link = job->next;
    job->state = JOB_RUNNING;
}

/* Puts a job that is over into a device's queue; codes as
 * fwgen_accel_submit_async. */
enum fwgen_result fwgen_submit(fwgen_device device, struct fwgen_job *job,
                               uint32_t timeout_ms);

#endif
