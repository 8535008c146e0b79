/*
 * scratch.c - a small pool of buffers for all models of the process.
 *
 * What it keeps is bounded in number and size; anything else goes back to the
 * C library at once. Sanitizer builds keep nothing, so that each buffer has
 * its exact size and a use after its end is seen.
 */
#include "scratch.h"

#include <pthread.h>
#include <stdlib.h>

#include "dma.h"

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

void *nvdla_scratch_take(struct nvdla_job *job, uint64_t size)
{
    union header *found = NULL;

    if (size <= KEEP_BYTES && size <= job->max_bytes) {
        (void)pthread_mutex_lock(&lock);
        found = find((size_t)size);
        (void)pthread_mutex_unlock(&lock);
    }
    if (found == NULL) {
        found = nvdla_job_allocate(
            job, size <= job->max_bytes ? size + sizeof *found : size);
        if (found == NULL) {
            return NULL;
        }
        found->size = (size_t)size;
    }
    return found + 1;
}

void nvdla_scratch_give(void *buffer)
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
