/*
 * fair.c - asynchronous jobs: which one is next (fwgen_accel.h, "Order").
 *
 * By priority, then by round, then as they came. Rounds share a device between
 * clients: a client's job is one round behind the job that it submitted before.
 * Nothing of this is in an image whose clients all wait for their jobs with
 * fwgen_accel_submit().
 */
#include "fwgen_accel.h"

#include "queue_policy.h"

#if FWGEN_QUEUE_LENGTH < 1 || FWGEN_QUEUE_LENGTH > 64
#error "FWGEN_QUEUE_LENGTH must be 1 to 64: rounds are compared in 8 bits"
#endif

static bool place_fairly(struct fwgen_engine *engine, struct fwgen_job *job)
{
    struct fwgen_job **link = &engine->first;
    struct fwgen_job *other;
    uint32_t room = FWGEN_QUEUE_LENGTH;
    uint32_t round = 0;
    bool first = true;

    job->level = job->priority;
    job->client = xTaskGetCurrentTaskHandle();
    /* the round that runs now at this priority, or the one behind the client's
     * last job */
    for (other = engine->first; other != NULL; other = other->next) {
        if (--room == 0u) {
            return false;
        }
        if (other->level == job->level) {
            if (first) {
                first = false;
                round = other->round;
            }
            if (other->client == job->client) {
                round = other->round + 1u;
            }
        }
    }
    while (
        (other = *link) != NULL &&
        (other->state == JOB_RUNNING || /* begun ahead: it is next */
         other->level > job->level ||
         (other->level == job->level && (int8_t)(round - other->round) >= 0))) {
        link = &other->next;
    }
    job->round = (uint8_t)round;
    job->next = other;
    *link = job;
    return true;
}

/*
 * Whether a job may begin while `before` runs: it plays the same program, and
 * what the runtime copies for one of them is not what the other one uses.
 */
static bool may_follow(const struct fwgen_job *before,
                       const struct fwgen_job *job)
{
    return job->model == before->model && job->serial == before->serial &&
           (job->bank != before->bank ||
            (job->hooks == NULL && before->hooks == NULL));
}

/* The first job that may start, if it may follow `before` (NULL: in any case).
 * *ticks gets smaller when a job before it must be looked at again in that
 * time. */
static struct fwgen_job *first_ready(struct fwgen_engine *engine,
                                     TickType_t *ticks,
                                     const struct fwgen_job *before)
{
    struct fwgen_job *job = engine->first;

    while (job != NULL && job->hooks != NULL &&
           !job->hooks->ready(job, ticks)) {
        job = job->next;
    }
    if (job == NULL || (before != NULL && !may_follow(before, job))) {
        return NULL;
    }
    if (job->hooks != NULL) {
        job->hooks->take(job);
    }
    /* Jobs that are passed because they wait for a fence come along into the
     * round that begins: rounds never differ by more than the queue's length.
     */
    for (struct fwgen_job *other = engine->first; other != job;
         other = other->next) {
        if (other->level == job->level) {
            other->round = job->round;
        }
    }
    return job;
}

static struct fwgen_job *choose_ready(struct fwgen_engine *engine,
                                      TickType_t *ticks)
{
    return first_ready(engine, ticks, NULL);
}

static const struct fwgen_policy fair_policy = {place_fairly, choose_ready};

struct fwgen_job *fwgen_engine_claim(struct fwgen_engine *engine,
                                     const struct fwgen_job *before)
{
    TickType_t ticks = portMAX_DELAY;
    struct fwgen_job *job;

    vTaskSuspendAll();
    job = first_ready(engine, &ticks, before);
    if (job != NULL) {
        /* To the head of the queue, where nobody can take it away. */
        dequeue(engine, job);
        job->level = UINT8_MAX;
        job->next = engine->first;
        engine->first = job;
    }
    (void)xTaskResumeAll();
    return job;
}

enum fwgen_result fwgen_accel_submit_async(fwgen_device device,
                                           struct fwgen_job *job,
                                           uint32_t timeout_ms)
{
    fwgen_policy = &fair_policy;
    return fwgen_submit(device, job, timeout_ms);
}

enum fwgen_result fwgen_job_run(fwgen_device device, struct fwgen_job *job,
                                uint32_t timeout_ms)
{
    const enum fwgen_result result =
        fwgen_accel_submit_async(device, job, timeout_ms);

    return result == FWGEN_OK ? fwgen_job_finish(job) : result;
}

enum fwgen_result fwgen_job_set_priority(struct fwgen_job *job,
                                         uint8_t priority)
{
    enum fwgen_result result = FWGEN_OK;

    if (job == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    vTaskSuspendAll();
    if (job->state != JOB_OVER) {
        result = FWGEN_ERROR_BUSY;
    } else {
        job->priority = priority;
    }
    (void)xTaskResumeAll();
    return result;
}

enum fwgen_result fwgen_job_set_bank(struct fwgen_job *job, uint32_t bank)
{
    if (job == NULL || job->model == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    if (bank != 0u && bank >= job->model->banks) {
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    if (job->state != JOB_OVER) {
        return FWGEN_ERROR_BUSY;
    }
    job->bank = (uint8_t)bank;
    return FWGEN_OK;
}

enum fwgen_result fwgen_job_set_depth(struct fwgen_job *job, uint32_t depth)
{
    if (job == NULL || job->model == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    if (depth != 1u && depth != job->model->pipeline_depth) {
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    if (job->state != JOB_OVER) {
        return FWGEN_ERROR_BUSY;
    }
    job->serial = depth == 1u ? 1u : 0u;
    return FWGEN_OK;
}
