/*
 * buffer_pool.h - buffers of an operation, kept for the next one.
 *
 * Large blocks that come from and go back to the kernel for every operation
 * cost more than what is computed in them. Any thread may call these.
 */
#ifndef FWGEN_BUFFER_POOL_H
#define FWGEN_BUFFER_POOL_H

#include <stddef.h>

/* Bytes behind a buffer that may be read: whole vectors at its end. */
#define BUFFER_SLACK 64u

/* At least `size` bytes, aligned to 64, contents undefined; NULL when no
 * memory is left. */
void *buffer_take(size_t size);
/* NULL is allowed. */
void buffer_give(void *buffer);

#endif
