/*
 * store.c - the log-structured store of fwgen_store.h.
 *
 * Header of a block, one program unit: u32 magic, u32 sequence, u32 CRC-32 of
 * both. Record, rounded up to whole program units: u32 CRC-32 of what follows,
 * u8 key length, u8 kind, u16 value length, key, value.
 *
 * Invariants:
 * - The current block is the one with the highest sequence whose header is
 *   right. It is never erased.
 * - A block's header is written after its records have been read back; so the
 *   live records are complete in the current block at all times.
 * - Only the range behind the tail is programmed, and only while it is blank.
 *   A write that fails, or that power cut short, leaves the store torn: the
 *   next write moves to another block first.
 */
#include "fwgen_store.h"

#include <string.h>

#include "bytes.h"
#include "fwgen_link.h"

#if FWGEN_NVMEM

#define MAGIC 0x53574746u /* "FGWS" */
#define HEADER 12u
#define RECORD 8u /* bytes in front of the key */

enum {
    KIND_VALUE = 1,
    KIND_DELETED = 2,
};

/* Largest record, in whole units. */
#define RECORD_MAX                                                             \
    ((RECORD + FWGEN_KEY_MAX + FWGEN_VALUE_MAX + FWGEN_PROGRAM_MAX - 1u) /     \
     FWGEN_PROGRAM_MAX * FWGEN_PROGRAM_MAX)

/* Records and headers are put together here; the lock guards it. */
static uint8_t buffer[RECORD_MAX];

static uint32_t block_size(const struct fwgen_store *store)
{
    return store->partition->device->erase_size;
}

static uint32_t block_count(const struct fwgen_store *store)
{
    return store->partition->size / block_size(store);
}

static uint32_t whole_units(const struct fwgen_store *store, uint32_t length)
{
    const uint32_t unit = store->partition->device->program_size;

    return (length + unit - 1u) / unit * unit;
}

/* What a record says of itself. */
struct record {
    uint32_t size; /* in the log */
    uint32_t value_length;
    uint8_t key_length;
    uint8_t kind;
};

/* Reads the record at `at` of a block into the buffer. False where there is
 * none, or one that is damaged. */
static bool load(const struct fwgen_store *store, uint32_t block, uint32_t at,
                 struct record *record)
{
    const uint32_t start = block * block_size(store);
    const uint32_t room = block_size(store) - at;
    uint32_t length;

    if (room < RECORD || fwgen_nvmem_read(store->partition, start + at, buffer,
                                          RECORD) != FWGEN_OK) {
        return false;
    }
    record->key_length = buffer[4];
    record->kind = buffer[5];
    record->value_length = (uint32_t)buffer[6] | (uint32_t)buffer[7] << 8;
    if (record->key_length == 0u || record->key_length > FWGEN_KEY_MAX ||
        record->value_length > FWGEN_VALUE_MAX) {
        return false;
    }
    length = RECORD + record->key_length + record->value_length;
    record->size = whole_units(store, length);
    if (record->size > room ||
        fwgen_nvmem_read(store->partition, start + at + RECORD, &buffer[RECORD],
                         length - RECORD) != FWGEN_OK) {
        return false;
    }
    return fwgen_crc32(0, &buffer[4], length - 4u) == fwgen_get32(buffer);
}

static uint32_t first_record(const struct fwgen_store *store)
{
    return whole_units(store, HEADER);
}

/* The sequence of a block, 0 when its header is wrong. */
static uint32_t sequence_of(const struct fwgen_store *store, uint32_t block)
{
    uint8_t header[HEADER];

    if (fwgen_nvmem_read(store->partition, block * block_size(store), header,
                         HEADER) != FWGEN_OK ||
        fwgen_get32(header) != MAGIC ||
        fwgen_crc32(0, header, 8) != fwgen_get32(&header[8])) {
        return 0;
    }
    return fwgen_get32(&header[4]);
}

/* Whether the block is blank from `at` to its end. */
static bool is_blank(const struct fwgen_store *store, uint32_t at)
{
    uint8_t found[32];

    while (at < block_size(store)) {
        const uint32_t rest = block_size(store) - at;
        const uint32_t part = rest < sizeof(found) ? rest : sizeof(found);

        if (fwgen_nvmem_read(store->partition,
                             store->block * block_size(store) + at, found,
                             part) != FWGEN_OK) {
            return false;
        }
        for (uint32_t i = 0; i < part; i++) {
            if (found[i] != 0xffu) {
                return false;
            }
        }
        at += part;
    }
    return true;
}

enum fwgen_result fwgen_store_mount(struct fwgen_store *store,
                                    const struct fwgen_partition *partition)
{
    struct record record;

    (void)memset(store, 0, sizeof(*store));
    store->partition = partition;
    if (block_count(store) < 2u) {
        return FWGEN_ERROR_ARGUMENT;
    }
    for (uint32_t i = 0; i < block_count(store); i++) {
        const uint32_t sequence = sequence_of(store, i);

        if (sequence > store->sequence) {
            store->sequence = sequence;
            store->block = i;
        }
    }
    if (store->sequence == 0u) {
        store->torn = true; /* nothing is known of any block */
        return FWGEN_OK;
    }
    store->tail = first_record(store);
    while (load(store, store->block, store->tail, &record)) {
        store->tail += record.size;
    }
    store->torn = !is_blank(store, store->tail);
    return FWGEN_OK;
}

/* Where the last record of a key lies in the current block, 0: nowhere; and
 * what it says. Leaves it in the buffer. */
static uint32_t find(const struct fwgen_store *store, const char *key,
                     uint32_t key_length, struct record *found)
{
    uint32_t last = 0;

    if (store->sequence == 0u) {
        return 0;
    }
    for (uint32_t at = first_record(store); at < store->tail;) {
        struct record record;

        if (!load(store, store->block, at, &record)) {
            break; /* decayed since the mount */
        }
        if (record.key_length == key_length &&
            memcmp(&buffer[RECORD], key, key_length) == 0) {
            last = at;
        }
        at += record.size;
    }
    if (last == 0u || !load(store, store->block, last, found) ||
        found->kind != KIND_VALUE) {
        return 0;
    }
    return last;
}

enum fwgen_result fwgen_store_get(const struct fwgen_store *store,
                                  const char *key, void *value,
                                  uint32_t capacity, uint32_t *length)
{
    const uint32_t key_length = (uint32_t)strlen(key);
    struct record record;

    if (find(store, key, key_length, &record) == 0u) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    *length = record.value_length;
    (void)memcpy(value, &buffer[RECORD + key_length],
                 capacity < record.value_length ? capacity
                                                : record.value_length);
    return FWGEN_OK;
}

/* Programs the first `size` bytes of the buffer. */
static enum fwgen_result append(const struct fwgen_store *store, uint32_t block,
                                uint32_t at, uint32_t size)
{
    return fwgen_nvmem_write(store->partition, block * block_size(store) + at,
                             buffer, size);
}

/* Whether the record at `at`, which is in the buffer, is the last of its key.
 * Leaves another record in the buffer. */
static bool is_last(const struct fwgen_store *store, uint32_t at,
                    const struct record *record)
{
    char key[FWGEN_KEY_MAX];
    struct record found;

    (void)memcpy(key, &buffer[RECORD], record->key_length);
    return find(store, key, record->key_length, &found) == at;
}

/* Copies the live records to a block and makes it current. On failure the
 * store is as before, and the block's header must not count: it may have been
 * written rightly but for a cell that nobody reads. */
static enum fwgen_result move_to(struct fwgen_store *store, uint32_t target,
                                 uint32_t sequence)
{
    uint32_t at = first_record(store);
    enum fwgen_result result;

    result = fwgen_nvmem_erase(store->partition, target * block_size(store),
                               block_size(store));
    for (uint32_t from = first_record(store);
         result == FWGEN_OK && from < store->tail;) {
        struct record record;
        uint32_t size;

        if (!load(store, store->block, from, &record)) {
            break;
        }
        size = record.size;
        if (is_last(store, from, &record) &&
            load(store, store->block, from, &record)) {
            const uint32_t length =
                RECORD + record.key_length + record.value_length;

            (void)memset(&buffer[length], 0xff, size - length);
            result = append(store, target, at, size);
            at += size;
        }
        from += size;
    }
    if (result == FWGEN_OK) {
        const uint32_t size = whole_units(store, HEADER);

        (void)memset(buffer, 0xff, size);
        fwgen_set32(buffer, MAGIC);
        fwgen_set32(&buffer[4], sequence);
        fwgen_set32(&buffer[8], fwgen_crc32(0, buffer, 8));
        result = append(store, target, 0, size);
    }
    if (result == FWGEN_OK) {
        result = fwgen_nvmem_commit(store->partition);
    }
    if (result == FWGEN_OK) {
        store->block = target;
        store->sequence = sequence;
        store->tail = at;
        store->torn = false;
    } else {
        (void)fwgen_nvmem_erase(store->partition, target * block_size(store),
                                block_size(store));
    }
    return result;
}

/* Moves to the next block that can be written. Each attempt has a sequence of
 * its own, so that one that failed never counts more than one that did not. */
static enum fwgen_result move(struct fwgen_store *store)
{
    enum fwgen_result result = FWGEN_ERROR_FLASH;
    uint32_t target = store->block;

    for (uint32_t i = 1; i < block_count(store) && result != FWGEN_OK; i++) {
        target = target + 1u == block_count(store) ? 0u : target + 1u;
        result = move_to(store, target, store->sequence + i);
    }
    if (result != FWGEN_OK && store->sequence == 0u) {
        result = move_to(store, store->block, block_count(store));
    }
    return result;
}

/* Puts a record together in the buffer; returns its size in the log. */
static uint32_t make(const struct fwgen_store *store, const char *key,
                     uint32_t kind, const void *value, uint32_t length)
{
    const uint32_t key_length = (uint32_t)strlen(key);
    const uint32_t used = RECORD + key_length + length;
    const uint32_t size = whole_units(store, used);

    (void)memset(buffer, 0xff, size);
    buffer[4] = (uint8_t)key_length;
    buffer[5] = (uint8_t)kind;
    buffer[6] = (uint8_t)length;
    buffer[7] = (uint8_t)(length >> 8);
    (void)memcpy(&buffer[RECORD], key, key_length);
    (void)memcpy(&buffer[RECORD + key_length], value, length);
    fwgen_set32(buffer, fwgen_crc32(0, &buffer[4], used - 4u));
    return size;
}

/* Appends a record, in another block if need be. A block that fails is left:
 * each further one is tried once. */
static enum fwgen_result log_record(struct fwgen_store *store, const char *key,
                                    uint32_t kind, const void *value,
                                    uint32_t length)
{
    enum fwgen_result result = FWGEN_ERROR_FLASH;
    uint32_t size;

    for (uint32_t i = 0; i <= block_count(store); i++) {
        size = make(store, key, kind, value, length);
        if (store->torn || size > block_size(store) - store->tail) {
            result = move(store);
            if (result != FWGEN_OK) {
                return result;
            }
            size = make(store, key, kind, value, length);
            if (size > block_size(store) - store->tail) {
                return FWGEN_ERROR_BAD_RANGE; /* live records fill a block */
            }
        }
        result = append(store, store->block, store->tail, size);
        if (result == FWGEN_OK) {
            store->tail += size;
            return fwgen_nvmem_commit(store->partition);
        }
        store->torn = true;
    }
    return result;
}

enum fwgen_result fwgen_store_set(struct fwgen_store *store, const char *key,
                                  const void *value, uint32_t length)
{
    const uint32_t key_length = (uint32_t)strlen(key);
    struct record record;

    if (store->partition == NULL) {
        return FWGEN_ERROR_FLASH; /* the device did not start */
    }
    if (key_length == 0u || key_length > FWGEN_KEY_MAX ||
        length > FWGEN_VALUE_MAX) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    if (find(store, key, key_length, &record) != 0u &&
        record.value_length == length &&
        memcmp(&buffer[RECORD + key_length], value, length) == 0) {
        return FWGEN_OK;
    }
    return log_record(store, key, KIND_VALUE, value, length);
}

enum fwgen_result fwgen_store_delete(struct fwgen_store *store, const char *key)
{
    const uint32_t key_length = (uint32_t)strlen(key);
    struct record record;

    if (key_length == 0u || key_length > FWGEN_KEY_MAX) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    if (find(store, key, key_length, &record) == 0u) {
        return FWGEN_OK;
    }
    return log_record(store, key, KIND_DELETED, "", 0);
}

bool fwgen_store_next(const struct fwgen_store *store, uint32_t *cursor,
                      struct fwgen_store_entry *entry)
{
    uint32_t at = *cursor != 0u ? *cursor : first_record(store);
    struct record record;

    while (store->sequence != 0u && at < store->tail &&
           load(store, store->block, at, &record)) {
        const uint32_t here = at;

        at += record.size;
        if (is_last(store, here, &record) &&
            load(store, store->block, here, &record)) {
            (void)memcpy(entry->key, &buffer[RECORD], record.key_length);
            entry->key[record.key_length] = '\0';
            entry->length = record.value_length;
            *cursor = at;
            return true;
        }
    }
    *cursor = at;
    return false;
}

#endif
