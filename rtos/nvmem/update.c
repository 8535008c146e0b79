/*
 * update.c - a package goes into the free slot (fwgen_slots.h; docs/update.md,
 * "The update").
 *
 * The payload is written in order, block by block: how far it has come is noted
 * in the state store before a block is erased. The header is written last, when
 * the payload has been read back and checked; until then the slot holds no
 * package. Then the slot goes on trial.
 */
#include "fwgen_update.h"

#include <string.h>

#include "bytes.h"
#include "fwgen_sha256.h"

#if FWGEN_NVMEM

#define KEY "transfer"

/* The note of a transfer in the state store. */
enum {
    NOTE_SLOT = 0, /* three bytes of zero behind it */
    NOTE_DONE = 4, /* bytes before this offset are in the slot */
    NOTE_DIGEST = 8,
    NOTE_SIZE = 16,
};

static struct {
    bool open;
    bool over; /* on trial already; a repeated FINISH says so */
    uint8_t slot;
    uint32_t next;
    uint32_t length;
    uint8_t digest[8]; /* of the header */
    uint8_t header[FWGEN_PACKAGE_HEADER];
} transfer;

void fwgen_update_abort(void)
{
    transfer.open = false;
    transfer.over = false;
}

enum fwgen_result fwgen_update_forget(void)
{
    fwgen_update_abort();
    return fwgen_store_delete(fwgen_slots_store(), KEY);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static const struct fwgen_partition *target(void)
{
    return fwgen_slots_layout()->slots[transfer.slot];
}

/* Notes that everything before transfer.next is in the slot. */
static enum fwgen_result note(void)
{
    uint8_t value[NOTE_SIZE];

    (void)memset(value, 0, sizeof(value));
    value[NOTE_SLOT] = transfer.slot;
    fwgen_set32(&value[NOTE_DONE], transfer.next);
    (void)memcpy(&value[NOTE_DIGEST], transfer.digest, sizeof(transfer.digest));
    return fwgen_store_set(fwgen_slots_store(), KEY, value, sizeof(value));
}

/* Where an interrupted transfer of the same package goes on. */
static uint32_t noted(void)
{
    uint8_t value[NOTE_SIZE];
    uint32_t length;
    uint32_t done;

    if (fwgen_store_get(fwgen_slots_store(), KEY, value, sizeof(value),
                        &length) != FWGEN_OK ||
        length != NOTE_SIZE || value[NOTE_SLOT] != transfer.slot ||
        memcmp(&value[NOTE_DIGEST], transfer.digest, sizeof(transfer.digest)) !=
            0) {
        return FWGEN_PACKAGE_HEADER;
    }
    done = fwgen_get32(&value[NOTE_DONE]);
    return done >= FWGEN_PACKAGE_HEADER && done <= transfer.length
               ? done
               : FWGEN_PACKAGE_HEADER;
}

/* Whether the slot's header is the one of the transfer; when `blank`, whether
 * there is none. */
static bool is_written(bool blank)
{
    uint8_t found[64];
    uint8_t erased[sizeof(found)];

    (void)memset(erased, 0xff, sizeof(erased));
    for (uint32_t at = 0; at < FWGEN_PACKAGE_HEADER; at += sizeof(found)) {
        if (fwgen_nvmem_read(target(), at, found, sizeof(found)) != FWGEN_OK ||
            memcmp(found, blank ? erased : &transfer.header[at],
                   sizeof(found)) != 0) {
            return false;
        }
    }
    return true;
}

/* Where the transfer begins: at the end, when all is there; where it was
 * interrupted; or, when power was cut while the header was written, at the
 * start, for no unit is programmed twice. */
static uint32_t resumed(void)
{
    if (is_written(false)) {
        return transfer.length;
    }
    return is_written(true) ? noted() : FWGEN_PACKAGE_HEADER;
}

enum fwgen_result fwgen_update_begin(const uint8_t header[FWGEN_PACKAGE_HEADER],
                                     struct fwgen_update *update,
                                     enum fwgen_package_fault *fault)
{
    const struct fwgen_slots_board *board = fwgen_slots_layout();
    const uint32_t slot = fwgen_slots_free();
    struct fwgen_package package;
    struct fwgen_sha256 sha;
    uint8_t digest[FWGEN_SHA256_SIZE];
    enum fwgen_result result = FWGEN_OK;

    *fault = FWGEN_PACKAGE_GOOD;
    if (fwgen_slots_store()->partition == NULL) {
        return FWGEN_ERROR_FLASH; /* nothing can be noted */
    }
    if (slot == FWGEN_NO_SLOT) {
        return FWGEN_ERROR_BUSY;
    }
    *fault = fwgen_package_header(header, board, slot,
                                  fwgen_slots_state()->oldest, &package);
    if (*fault != FWGEN_PACKAGE_GOOD) {
        return FWGEN_ERROR_REFUSED;
    }
    if (!transfer.open || transfer.slot != slot ||
        memcmp(header, transfer.header, FWGEN_PACKAGE_HEADER) != 0) {
        fwgen_update_abort();
        (void)memcpy(transfer.header, header, FWGEN_PACKAGE_HEADER);
        fwgen_sha256_start(&sha);
        fwgen_sha256_take(&sha, header, FWGEN_PACKAGE_HEADER);
        fwgen_sha256_end(&sha, digest);
        (void)memcpy(transfer.digest, digest, sizeof(transfer.digest));
        transfer.slot = (uint8_t)slot;
        transfer.length = package.length;
        result = fwgen_slots_withdraw(slot);
        transfer.next = resumed();
        transfer.open = result == FWGEN_OK;
    }
    update->slot = slot;
    update->next = transfer.next;
    update->unit = board->slots[slot]->device->program_size;
    return result;
}

/* Erases the block that begins at transfer.next, or in whose first bytes the
 * header will be. */
static enum fwgen_result next_block(void)
{
    const uint32_t block = target()->device->erase_size;
    const uint32_t start = transfer.next / block * block;
    const bool is_first = transfer.next == FWGEN_PACKAGE_HEADER;
    enum fwgen_result result;

    if (transfer.next != start && !is_first) {
        return FWGEN_OK;
    }
    result = note();
    if (result == FWGEN_OK && is_first) {
        /* a header larger than a block */
        result = fwgen_nvmem_erase(target(), 0, start);
    }
    if (result == FWGEN_OK) {
        result = fwgen_nvmem_erase(target(), start, block);
    }
    return result;
}

/* Programs up to a whole unit, the rest of which stays blank. */
static enum fwgen_result write_last(const uint8_t *data, uint32_t length)
{
    static uint8_t unit[FWGEN_PROGRAM_MAX];
    const uint32_t size = target()->device->program_size;

    (void)memset(unit, 0xff, size);
    (void)memcpy(unit, data, length);
    return fwgen_nvmem_write(target(), transfer.next, unit, size);
}

static enum fwgen_result write(const uint8_t *data, uint32_t length)
{
    const uint32_t unit = target()->device->program_size;
    const uint32_t whole = length / unit * unit;
    enum fwgen_result result = next_block();

    if (result == FWGEN_OK && whole != 0u) {
        result = fwgen_nvmem_write(target(), transfer.next, data, whole);
        if (result == FWGEN_OK) {
            transfer.next += whole;
        }
    }
    if (result == FWGEN_OK && whole != length) {
        result = write_last(&data[whole], length - whole);
        if (result == FWGEN_OK) {
            transfer.next += length - whole;
        }
    }
    return result;
}

enum fwgen_result fwgen_update_data(uint32_t offset, const uint8_t *data,
                                    uint32_t length, uint32_t *next)
{
    const uint32_t block =
        transfer.open ? target()->device->erase_size : FWGEN_PACKAGE_HEADER;
    enum fwgen_result result = FWGEN_OK;

    if (!transfer.open) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    *next = transfer.next;
    if (offset != transfer.next) {
        return FWGEN_OK;
    }
    if (length > transfer.length - offset ||
        (length % target()->device->program_size != 0u &&
         length != transfer.length - offset)) {
        return FWGEN_ERROR_BAD_RANGE;
    }
    while (result == FWGEN_OK && length != 0u) {
        const uint32_t part = smaller(length, block - transfer.next % block);

        result = write(data, part);
        data += part;
        length -= part;
    }
    if (result != FWGEN_OK) {
        /* What failed is written anew from its block's start on. */
        transfer.open = false;
        return result;
    }
    *next = transfer.next;
    return FWGEN_OK;
}

enum fwgen_result fwgen_update_finish(enum fwgen_package_fault *fault)
{
    const struct fwgen_slots_board *board = fwgen_slots_layout();
    struct fwgen_package package;
    enum fwgen_result result = FWGEN_OK;

    *fault = FWGEN_PACKAGE_GOOD;
    if (!transfer.open) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    if (transfer.over) {
        return FWGEN_OK;
    }
    if (transfer.next != transfer.length) {
        return FWGEN_ERROR_BAD_RANGE;
    }
    *fault = fwgen_package_header(transfer.header, board, transfer.slot,
                                  fwgen_slots_state()->oldest, &package);
    if (*fault == FWGEN_PACKAGE_GOOD) {
        *fault = fwgen_package_payload(&package, board, transfer.slot, true);
    }
    if (*fault != FWGEN_PACKAGE_GOOD) {
        /* Going on would give the same bytes: the next attempt starts anew. */
        (void)fwgen_update_forget();
        if (is_written(false)) {
            (void)fwgen_nvmem_erase(target(), 0, target()->device->erase_size);
        }
        return FWGEN_ERROR_REFUSED;
    }
    result = fwgen_nvmem_commit(target());
    if (result == FWGEN_OK && !is_written(false)) {
        result = fwgen_nvmem_write(target(), 0, transfer.header,
                                   FWGEN_PACKAGE_HEADER);
        if (result == FWGEN_OK) {
            result = fwgen_nvmem_commit(target());
        }
    }
    if (result == FWGEN_OK) {
        result = fwgen_slots_try(transfer.slot);
    }
    if (result == FWGEN_OK) {
        transfer.over = true;
        (void)fwgen_store_delete(fwgen_slots_store(), KEY);
    } else {
        transfer.open = false;
    }
    return result;
}

#endif
