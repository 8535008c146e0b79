/*
 * fwgen_store.h - small values by name in flash: settings, calibration
 * constants, the state of the slots.
 *
 * A store is a log that goes round in the blocks of a partition (two or more;
 * more blocks wear less). One block is current: it starts with a header and
 * continues with records; the last record of a key counts. When it is full, the
 * live records are copied to the next block, whose header is written last.
 *
 * Whatever the moment of a cut of power, a key has its old or its new value
 * afterwards, and other keys are not touched. docs/update.md has the layout
 * and the reasons.
 *
 * The functions may be called from any task that holds fwgen_nvmem_lock(), and
 * before the scheduler runs.
 */
#ifndef FWGEN_STORE_H
#define FWGEN_STORE_H

#include "fwgen_nvmem.h"

#define FWGEN_KEY_MAX 31u    /* bytes of a name, at least one */
#define FWGEN_VALUE_MAX 256u /* bytes of a value */

/* A store; the members are private. */
struct fwgen_store {
    const struct fwgen_partition *partition;
    uint32_t block;    /* that is current */
    uint32_t sequence; /* of that block; 0: no block is valid yet */
    uint32_t tail;     /* where the next record goes, from the block's start */
    bool torn;         /* something that is no record lies behind the tail */
};

/*
 * Finds the current block. A partition that was never written is an empty
 * store. Returns FWGEN_OK; FWGEN_ERROR_ARGUMENT for a partition with fewer than
 * two blocks; or FWGEN_ERROR_FLASH.
 */
enum fwgen_result fwgen_store_mount(struct fwgen_store *store,
                                    const struct fwgen_partition *partition);

/*
 * Reads the value of a key.
 *
 * value     up to `capacity` bytes of it.
 * length    its whole length.
 *
 * Returns FWGEN_OK, FWGEN_ERROR_BAD_INDEX (no such key) or FWGEN_ERROR_FLASH.
 */
enum fwgen_result fwgen_store_get(const struct fwgen_store *store,
                                  const char *key, void *value,
                                  uint32_t capacity, uint32_t *length);

/*
 * Sets the value of a key. A value that is there already is not written again.
 * Returns FWGEN_OK, FWGEN_ERROR_BAD_LENGTH (key or value too long or the key
 * empty), FWGEN_ERROR_BAD_RANGE (the store is full) or FWGEN_ERROR_FLASH.
 */
enum fwgen_result fwgen_store_set(struct fwgen_store *store, const char *key,
                                  const void *value, uint32_t length);

/* Forgets a key; FWGEN_OK also when there is none. Errors as above. */
enum fwgen_result fwgen_store_delete(struct fwgen_store *store,
                                     const char *key);

/* One key of fwgen_store_next. */
struct fwgen_store_entry {
    char key[FWGEN_KEY_MAX + 1u];
    uint32_t length; /* of the value */
};

/*
 * The next key behind *cursor, which starts at 0 and is moved. Returns false
 * when there is none.
 */
bool fwgen_store_next(const struct fwgen_store *store, uint32_t *cursor,
                      struct fwgen_store_entry *entry);

#endif
