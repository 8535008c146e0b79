/*
 * buffer_pool.c - a small pool of buffers for all models of the process.
 *
 * What it keeps is bounded in number and size; anything else goes back to the
 * C library at once. Sanitizer builds keep nothing, so that each buffer has
 * its exact size and a use after its end is seen.
 */
#include "buffer_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(FWGEN_NO_CLONES)
#define KEEPS false
#else
#define KEEPS true
#endif
#define KEEP_BUFFERS 12u
#define KEEP_BYTES ((size_t)16 << 20) /* of one buffer */
/* A larger buffer serves when it is no larger than this many times. */
#define KEEP_FACTOR 4u

/* In front of each buffer, as long as its alignment. */
union header {
    size_t size;
    unsigned char room[64];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static union header *kept[KEEP_BUFFERS];
static unsigned kept_count;

static union header *find(size_t size)
{
    union header *found = NULL;
    unsigned best = kept_count;

    for (unsigned i = 0; i < kept_count; i++) {
        if (kept[i]->size >= size && kept[i]->size / KEEP_FACTOR <= size &&
            (best == kept_count || kept[i]->size < kept[best]->size)) {
            best = i;
        }
    }
    if (best < kept_count) {
        found = kept[best];
        kept[best] = kept[--kept_count];
    }
    return found;
}

void *buffer_take(size_t size)
{
    union header *found = NULL;

    if (size <= KEEP_BYTES) {
        (void)pthread_mutex_lock(&lock);
        found = find(size);
        (void)pthread_mutex_unlock(&lock);
    }
    if (found == NULL && size <= SIZE_MAX / 2u) {
        /* aligned_alloc() wants a multiple of the alignment. */
        size_t whole = (size + 63u) & ~(size_t)63u;

        found = aligned_alloc(64, sizeof *found + whole + BUFFER_SLACK);
        if (found != NULL) {
            found->size = size;
        }
    }
    return found != NULL ? found + 1 : NULL;
}

void buffer_give(void *buffer)
{
    union header *header = buffer;
    union header *dropped = NULL;

    if (buffer == NULL) {
        return;
    }
    header--;
    dropped = header;
    (void)pthread_mutex_lock(&lock);
    if (KEEPS && header->size <= KEEP_BYTES) {
        dropped = NULL;
        if (kept_count == KEEP_BUFFERS) {
            /* One of the others makes room. */
            dropped = kept[0];
            kept[0] = kept[--kept_count];
        }
        kept[kept_count++] = header;
    }
    (void)pthread_mutex_unlock(&lock);
    free(dropped);
}
