/*
 * worker.h - runs a function in a thread of its own and reports back in the
 * main loop.
 *
 * Used where virtual time follows the wall clock: the guest runs on while an
 * accelerator computes. All functions are called with QEMU's big lock held; the
 * work function runs without it, the done function with it.
 */
#ifndef FWGEN_QEMU_WORKER_H
#define FWGEN_QEMU_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct worker {
    void (*work)(void *opaque);
    void (*done)(void *opaque);
    void *opaque;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool requested; /* guarded by lock */
    bool running;   /* guarded by lock */
    bool busy;      /* guarded by the big lock */
};

/* Returns false when no thread can be made. */
bool worker_start(struct worker *worker, void (*work)(void *),
                  void (*done)(void *), void *opaque);
/* Requests a run; a request during a run leads to another run after it. */
void worker_kick(struct worker *worker);
/* Waits until the thread sleeps. Gives up the big lock meanwhile. A done call
 * for the work waited for may still follow. */
void worker_settle(struct worker *worker);

#endif
