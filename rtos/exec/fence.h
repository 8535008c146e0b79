/*
 * fence.h - what tasks of the accelerator need of fences. Not for applications.
 */
#ifndef FENCE_H
#define FENCE_H

#include "fwgen_fence.h"

/* Signals; `failed` marks the signal. */
enum fwgen_result fwgen_fence_put(struct fwgen_fence *fence, bool failed);

/* Takes a signal that is there; true when it was marked. The scheduler is
 * suspended. */
bool fwgen_fence_take(struct fwgen_fence *fence);

#endif
