/*
 * nn_weights.c - reads a job's coefficients, decodes them, and keeps the
 * result for the next job that has the same ones.
 *
 * The blob is read from memory every time, and what was kept is used only if
 * each byte and each field that decoding depends on is the same: memory may
 * change between jobs as it likes. The cache belongs to the process, holds up
 * to CACHE_BYTES and drops what was used longest ago.
 */
#include "nn_weights.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_pool.h"
#include "coef.h"

#define CACHE_ENTRIES 256u
#define CACHE_BYTES ((size_t)192 << 20)
/* Larger ones are not kept. */
#define ENTRY_BYTES (CACHE_BYTES / 2u)

/* All that decoding and packing depend on besides the blob. */
struct key {
    const struct conv_kernels *host;
    uint64_t blob_bytes;
    uint64_t plane_bytes; /* V7 */
    uint32_t generation, cores, zdp, depthwise;
    uint32_t kernel_width, kernel_height, depth, kernels, per_core;
    uint32_t weight_zero;
};

struct entry {
    struct nn_weights weights; /* first, so that it leads back to the entry */
    struct key key;
    uint8_t *blob;
    size_t bytes; /* host memory in all */
    unsigned users;
    bool kept;
    uint64_t used_at;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *kept[CACHE_ENTRIES];
static unsigned kept_count;
static size_t kept_bytes;
static uint64_t now;

static struct key key_of(const struct nn_job *job, const struct coef_job *coef,
                         uint64_t blob_bytes)
{
    const struct nn_layer *layer = &job->layer;
    bool v7 = job->facts->generation == VIP_V7;
    struct key key;

    memset(&key, 0, sizeof key); /* padding as well */
    key.host = conv_kernels_select();
    key.blob_bytes = blob_bytes;
    key.plane_bytes = v7 ? (uint64_t)layer->out.row * layer->out.plane_rows : 0;
    key.generation = v7 ? 7u : 8u;
    key.cores = coef->cores;
    key.zdp = coef->zdp;
    key.depthwise = layer->depthwise;
    key.kernel_width = layer->kernel_width;
    key.kernel_height = layer->kernel_height;
    key.depth = layer->depth;
    key.kernels = layer->kernels;
    key.per_core = layer->kernels_per_core;
    key.weight_zero = layer->weight_zero;
    return key;
}

static void free_entry(struct entry *entry)
{
    nn_pack_free(&entry->weights);
    free(entry->blob);
    free(entry);
}

/* With the lock held. */
static void drop(unsigned index)
{
    struct entry *entry = kept[index];

    kept[index] = kept[--kept_count];
    kept_bytes -= entry->bytes;
    entry->kept = false;
    if (entry->users == 0) {
        free_entry(entry);
    }
}

static void drop_oldest(void)
{
    unsigned oldest = 0;

    for (unsigned i = 1; i < kept_count; i++) {
        if (kept[i]->used_at < kept[oldest]->used_at) {
            oldest = i;
        }
    }
    drop(oldest);
}

static struct entry *find(const struct key *key, const uint8_t *blob)
{
    struct entry *found = NULL;

    (void)pthread_mutex_lock(&lock);
    for (unsigned i = 0; found == NULL && i < kept_count; i++) {
        if (memcmp(&kept[i]->key, key, sizeof *key) == 0 &&
            memcmp(kept[i]->blob, blob, (size_t)key->blob_bytes) == 0) {
            found = kept[i];
            found->users++;
            found->used_at = ++now;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return found;
}

static void keep(struct entry *entry)
{
    if (entry->bytes > ENTRY_BYTES) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    while (kept_count == CACHE_ENTRIES ||
           (kept_count > 0 && entry->bytes > CACHE_BYTES - kept_bytes)) {
        drop_oldest();
    }
    kept[kept_count++] = entry;
    kept_bytes += entry->bytes;
    entry->kept = true;
    entry->used_at = ++now;
    (void)pthread_mutex_unlock(&lock);
}

void nn_weights_give(const struct nn_weights *weights)
{
    struct entry *entry = (struct entry *)(uintptr_t)weights;
    bool last;

    if (weights == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    last = --entry->users == 0 && !entry->kept;
    (void)pthread_mutex_unlock(&lock);
    if (last) {
        free_entry(entry);
    }
}

/* Header first: it says how long the blob is. NULL after an error. */
static uint8_t *read_blob(struct nn_job *job, const struct coef_job *coef,
                          uint64_t *size)
{
    const struct vip_memory *memory = job->memory;
    bool v8 = job->facts->generation == VIP_V8;
    size_t header_size =
        v8 ? coef_v8_header(coef->cores) : coef_v7_header(coef->cores);
    uint8_t header[COEF_MAX_HEADER];
    uint8_t *blob;

    if (!memory->read(memory->opaque, job->layer.coefficients, header,
                      header_size) ||
        !(v8 ? coef_v8_size : coef_v7_size)(coef, header, size)) {
        return NULL;
    }
    blob = nn_take(job, *size);
    if (blob == NULL) {
        return NULL;
    }
    memcpy(blob, header, header_size);
    if (*size > header_size &&
        !memory->read(memory->opaque, job->layer.coefficients + header_size,
                      blob + header_size, (size_t)*size - header_size)) {
        buffer_give(blob);
        return NULL;
    }
    job->cost.bytes_read += *size;
    return blob;
}

static bool decode(const struct nn_job *job, const struct coef_job *coef,
                   const uint8_t *blob, struct nn_weights *weights)
{
    const struct nn_layer *layer = &job->layer;
    bool v8 = job->facts->generation == VIP_V8;
    struct coef_kernels kernels = {NULL, NULL, NULL};
    bool ok;

    kernels.weights = nn_take(job, nn_kernel_size(layer) * layer->kernels);
    kernels.start = nn_take(job, layer->kernels * sizeof *kernels.start);
    if (!v8) {
        /* Not from the pool: it stays. */
        kernels.planes = calloc(layer->kernels, sizeof *kernels.planes);
        weights->planes = kernels.planes;
    }
    ok = kernels.weights != NULL && kernels.start != NULL;
    if (ok && !v8 && kernels.planes == NULL) {
        ok = vip_job_error(job->memory, "NN: no memory left on the host");
    }
    ok = ok && (v8 ? coef_v8_decode : coef_v7_decode)(coef, blob, &kernels);
    if (ok && !nn_pack(job, &kernels, weights)) {
        ok = vip_job_error(job->memory, "NN: no memory left on the host");
    }
    buffer_give(kernels.weights);
    buffer_give(kernels.start);
    return ok;
}

static struct entry *make_entry(const struct nn_job *job,
                                const struct coef_job *coef,
                                const struct key *key, const uint8_t *blob)
{
    struct entry *entry = calloc(1, sizeof *entry);

    if (entry != NULL) {
        /* A copy of its exact size: buffers of the pool may be larger. */
        entry->blob = malloc((size_t)key->blob_bytes);
    }
    if (entry == NULL || entry->blob == NULL) {
        free(entry);
        (void)vip_job_error(job->memory, "NN: no memory left on the host");
        return NULL;
    }
    memcpy(entry->blob, blob, (size_t)key->blob_bytes);
    entry->key = *key;
    entry->users = 1;
    if (!decode(job, coef, blob, &entry->weights)) {
        free_entry(entry);
        return NULL;
    }
    entry->bytes = sizeof *entry + (size_t)key->blob_bytes +
                   nn_pack_bytes(job, &entry->weights);
    keep(entry);
    return entry;
}

const struct nn_weights *nn_weights_get(struct nn_job *job)
{
    const struct coef_job coef = {
        .memory = job->memory,
        .layer = &job->layer,
        .cores = job->facts->nn_cores,
        .zdp = (job->facts->nn_config >> 2 & 1u) == 0,
    };
    uint64_t size = 0;
    struct entry *entry;
    struct key key;
    uint8_t *blob;

    if (coef.cores == 0 || coef.cores > COEF_MAX_CORES) {
        (void)vip_job_error(job->memory, "NN: %u cores are not modelled",
                            coef.cores);
        return NULL;
    }
    blob = read_blob(job, &coef, &size);
    if (blob == NULL) {
        return NULL;
    }
    key = key_of(job, &coef, size);
    entry = find(&key, blob);
    if (entry == NULL) {
        entry = make_entry(job, &coef, &key, blob);
    }
    buffer_give(blob);
    return entry != NULL ? &entry->weights : NULL;
}
