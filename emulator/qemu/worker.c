/*
 * worker.c - see worker.h.
 */
#define _GNU_SOURCE
#include "worker.h"

#include <signal.h>

#include "qemu_api.h"

static void main_loop_part(void *opaque)
{
    struct worker *worker = opaque;
    bool idle;

    pthread_mutex_lock(&worker->lock);
    idle = !worker->requested && !worker->running;
    pthread_mutex_unlock(&worker->lock);
    /* Not idle: it was kicked again, and another call of this follows. */
    if (idle && worker->busy) {
        worker->busy = false;
        worker->done(worker->opaque);
    }
}

static void *thread_part(void *opaque)
{
    struct worker *worker = opaque;

    qemu.rcu_register_thread();
    pthread_mutex_lock(&worker->lock);
    for (;;) {
        while (!worker->requested) {
            pthread_cond_wait(&worker->changed, &worker->lock);
        }
        worker->requested = false;
        worker->running = true;
        pthread_mutex_unlock(&worker->lock);
        worker->work(worker->opaque);
        pthread_mutex_lock(&worker->lock);
        worker->running = false;
        if (!worker->requested) {
            pthread_cond_broadcast(&worker->changed);
            qemu.aio_bh_schedule_oneshot_full(qemu.qemu_get_aio_context(),
                                              main_loop_part, worker,
                                              "fwgen-worker");
        }
    }
    return NULL;
}

bool worker_start(struct worker *worker, void (*work)(void *),
                  void (*done)(void *), void *opaque)
{
    sigset_t all;
    sigset_t old;
    int failed;

    worker->work = work;
    worker->done = done;
    worker->opaque = opaque;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    /* QEMU takes its signals in its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&worker->thread, NULL, thread_part, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed == 0) {
        pthread_detach(worker->thread);
    }
    return failed == 0;
}

void worker_kick(struct worker *worker)
{
    worker->busy = true;
    pthread_mutex_lock(&worker->lock);
    worker->requested = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

void worker_settle(struct worker *worker)
{
    if (!worker->busy) {
        return;
    }
    /* The work may wait for the big lock itself (a DMA access that ends in a
     * device), so it must not be held here. */
    qemu.unlock();
    pthread_mutex_lock(&worker->lock);
    while (worker->requested || worker->running) {
        pthread_cond_wait(&worker->changed, &worker->lock);
    }
    pthread_mutex_unlock(&worker->lock);
    qemu.lock(__FILE__, __LINE__);
    worker->busy = false;
}
