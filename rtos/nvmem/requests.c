/*
 * requests.c - the requests 0x10 to 0x1d of the serial link: slots, updates,
 * partitions, settings (docs/link.md).
 */
#include "fwgen_requests.h"

#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "bytes.h"
#include "fwgen_update.h"

#if FWGEN_NVMEM

/* Largest part of a package in one request: a multiple of every program unit.
 */
#define CHUNK 512u

/* Bits of the SLOTS answer. */
#define FLAGS                                                                  \
    (FWGEN_SIGNED_UPDATE * 1u + FWGEN_ANTI_ROLLBACK * 2u +                     \
     (board->run_base == 0u ? 4u : 0u))

static enum fwgen_result answer_slots(const uint8_t *payload, uint32_t length,
                                      struct fwgen_writer *out)
{
    static uint8_t header[FWGEN_PACKAGE_HEADER];
    const struct fwgen_slots_board *board = fwgen_slots_layout();
    const struct fwgen_slots_state *state = fwgen_slots_state();

    (void)payload;
    (void)length;
    fwgen_put8(out, state->running);
    fwgen_put8(out, state->confirmed);
    fwgen_put8(out, state->trial);
    fwgen_put8(out, state->boots);
    fwgen_put8(out, FWGEN_TRIAL_BOOTS);
    fwgen_put8(out, FWGEN_SLOT_COUNT);
    fwgen_put8(out, FLAGS);
    fwgen_put8(out, state->fault);
    fwgen_put32(out, state->oldest);
    fwgen_put_bytes(out, board->layout_hash, sizeof(board->layout_hash));
    fwgen_put32(out, board->slots[0]->size);
    for (uint32_t slot = 0; slot < FWGEN_SLOT_COUNT; slot++) {
        struct fwgen_package package;
        const enum fwgen_package_fault fault =
            fwgen_slots_look(slot, header, &package);

        fwgen_put8(out, (uint32_t)fault);
        if (fault == FWGEN_PACKAGE_GOOD) {
            fwgen_put32(out, package.length);
            fwgen_put32(out, package.version);
            fwgen_put_bytes(out, package.digest, 8);
            fwgen_put_string(out, package.name);
        }
    }
    return FWGEN_OK;
}

static enum fwgen_result answer_begin(const uint8_t *payload, uint32_t length,
                                      struct fwgen_writer *out)
{
    struct fwgen_update update;
    enum fwgen_package_fault fault;
    const enum fwgen_result result =
        fwgen_update_begin(payload, &update, &fault);

    (void)length;
    if (result == FWGEN_OK) {
        fwgen_put8(out, update.slot);
        fwgen_put8(out, 0);
        fwgen_put16(out, CHUNK);
        fwgen_put32(out, update.next);
        fwgen_put32(out, FWGEN_UART_RX_BUFFER);
    } else if (result == FWGEN_ERROR_REFUSED) {
        fwgen_put8(out, (uint32_t)fault);
    }
    return result;
}

static enum fwgen_result answer_data(const uint8_t *payload, uint32_t length,
                                     struct fwgen_writer *out)
{
    uint32_t next = 0;
    const enum fwgen_result result = fwgen_update_data(
        fwgen_get32(payload), &payload[4], length - 4u, &next);

    if (result == FWGEN_OK) {
        fwgen_put32(out, next);
    }
    return result;
}

static enum fwgen_result answer_finish(const uint8_t *payload, uint32_t length,
                                       struct fwgen_writer *out)
{
    enum fwgen_package_fault fault;
    const enum fwgen_result result = fwgen_update_finish(&fault);

    (void)payload;
    (void)length;
    if (result == FWGEN_ERROR_REFUSED) {
        fwgen_put8(out, (uint32_t)fault);
    }
    return result;
}

static enum fwgen_result answer_abort(const uint8_t *payload, uint32_t length,
                                      struct fwgen_writer *out)
{
    (void)payload;
    (void)length;
    (void)out;
    return fwgen_update_forget();
}

static enum fwgen_result answer_confirm(const uint8_t *payload, uint32_t length,
                                        struct fwgen_writer *out)
{
    (void)payload;
    (void)length;
    (void)out;
    return fwgen_slots_confirm();
}

static enum fwgen_result answer_partitions(const uint8_t *payload,
                                           uint32_t length,
                                           struct fwgen_writer *out)
{
    (void)payload;
    (void)length;
    fwgen_put32(out, fwgen_partitions[0].device->erase_size);
    fwgen_put32(out, fwgen_partitions[0].device->program_size);
    fwgen_put16(out, fwgen_partition_count);
    for (uint32_t i = 0; i < fwgen_partition_count; i++) {
        fwgen_put32(out, fwgen_partitions[i].offset);
        fwgen_put32(out, fwgen_partitions[i].size);
        fwgen_put8(out, fwgen_partitions[i].kind);
        fwgen_put_string(out, fwgen_partitions[i].name);
    }
    return FWGEN_OK;
}

/* Takes `length` bytes of a request as a name; false if they are none. */
static bool take_name(char name[FWGEN_KEY_MAX + 1u], const uint8_t *bytes,
                      uint32_t length)
{
    if (length == 0u || length > FWGEN_KEY_MAX ||
        memchr(bytes, 0, length) != NULL) {
        return false;
    }
    (void)memcpy(name, bytes, length);
    name[length] = '\0';
    return true;
}

static enum fwgen_result answer_get(const uint8_t *payload, uint32_t length,
                                    struct fwgen_writer *out)
{
    char key[FWGEN_KEY_MAX + 1u];
    enum fwgen_result result;
    uint32_t size = 0;

    if (!take_name(key, payload, length)) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    result = fwgen_store_get(fwgen_settings(), key, out->data, FWGEN_VALUE_MAX,
                             &size);
    if (result == FWGEN_OK) {
        out->length = size;
    }
    return result;
}

static enum fwgen_result answer_set(const uint8_t *payload, uint32_t length,
                                    struct fwgen_writer *out)
{
    char key[FWGEN_KEY_MAX + 1u];
    const uint32_t key_length = payload[0];

    (void)out;
    if (key_length > length - 1u || !take_name(key, &payload[1], key_length)) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    return fwgen_store_set(fwgen_settings(), key, &payload[1u + key_length],
                           length - 1u - key_length);
}

static enum fwgen_result answer_delete(const uint8_t *payload, uint32_t length,
                                       struct fwgen_writer *out)
{
    char key[FWGEN_KEY_MAX + 1u];

    (void)out;
    if (!take_name(key, payload, length)) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    return fwgen_store_delete(fwgen_settings(), key);
}

/* Keys behind a cursor, as many as fit; the next cursor is 0 at the end. */
static enum fwgen_result answer_keys(const uint8_t *payload, uint32_t length,
                                     struct fwgen_writer *out)
{
    uint32_t cursor = fwgen_get32(payload);
    struct fwgen_store_entry entry;
    bool more = true;

    (void)length;
    fwgen_put32(out, 0); /* the cursor, below */
    while (more && out->capacity - out->length >= FWGEN_KEY_MAX + 3u) {
        more = fwgen_store_next(fwgen_settings(), &cursor, &entry);
        if (more) {
            fwgen_put16(out, entry.length);
            fwgen_put_string(out, entry.key);
        }
    }
    fwgen_set32(out->data, more ? cursor : 0u);
    return FWGEN_OK;
}

/* One block of a partition, so that no request takes long. The state of the
 * slots is the runtime's; slots that are in use stay. */
static enum fwgen_result answer_erase(const uint8_t *payload, uint32_t length,
                                      struct fwgen_writer *out)
{
    char name[FWGEN_KEY_MAX + 1u];
    const uint32_t offset = fwgen_get32(payload);
    const struct fwgen_slots_board *board = fwgen_slots_layout();
    const struct fwgen_partition *partition;
    enum fwgen_result result = FWGEN_OK;
    uint32_t block;

    if (!take_name(name, &payload[4], length - 4u)) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    partition = fwgen_partition_find(name);
    if (partition == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    if (partition->kind == FWGEN_PARTITION_STATE) {
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    for (uint32_t slot = 0; slot < FWGEN_SLOT_COUNT; slot++) {
        if (partition == board->slots[slot]) {
            result = fwgen_slots_give(slot);
        }
    }
    block = partition->device->erase_size;
    if (result == FWGEN_OK) {
        result = fwgen_nvmem_erase(partition, offset, block);
    }
    if (result == FWGEN_OK && partition->kind == FWGEN_PARTITION_SETTINGS) {
        result = fwgen_store_mount(fwgen_settings(), partition);
    }
    if (result == FWGEN_OK) {
        fwgen_put32(out, offset + block);
    }
    return result;
}

static enum fwgen_result answer_reset(const uint8_t *payload, uint32_t length,
                                      struct fwgen_writer *out)
{
    (void)payload;
    (void)length;
    (void)out;
    return FWGEN_OK; /* link.c resets when the answer is on its way */
}

struct request {
    uint8_t type;
    bool settings; /* needs a store of settings */
    uint16_t shortest;
    uint16_t longest;
    enum fwgen_result (*answer)(const uint8_t *payload, uint32_t length,
                                struct fwgen_writer *out);
};

static const struct request slot_requests[] = {
    {FWGEN_LINK_SLOTS, false, 0, 0, answer_slots},
    {FWGEN_LINK_UPDATE_BEGIN, false, FWGEN_PACKAGE_HEADER, FWGEN_PACKAGE_HEADER,
     answer_begin},
    {FWGEN_LINK_UPDATE_DATA, false, 5, 4u + CHUNK, answer_data},
    {FWGEN_LINK_UPDATE_FINISH, false, 0, 0, answer_finish},
    {FWGEN_LINK_UPDATE_ABORT, false, 0, 0, answer_abort},
    {FWGEN_LINK_CONFIRM, false, 0, 0, answer_confirm},
    {FWGEN_LINK_RESET, false, 0, 0, answer_reset},
    {FWGEN_LINK_PARTITIONS, false, 0, 0, answer_partitions},
    {FWGEN_LINK_PARTITION_ERASE, false, 5, 4u + FWGEN_KEY_MAX, answer_erase},
    {FWGEN_LINK_SETTING_GET, true, 1, FWGEN_KEY_MAX, answer_get},
    {FWGEN_LINK_SETTING_SET, true, 2, 1u + FWGEN_KEY_MAX + FWGEN_VALUE_MAX,
     answer_set},
    {FWGEN_LINK_SETTING_DELETE, true, 1, FWGEN_KEY_MAX, answer_delete},
    {FWGEN_LINK_SETTING_KEYS, true, 4, 4, answer_keys},
};

enum fwgen_result fwgen_nvmem_answer(uint8_t type, const uint8_t *payload,
                                     uint32_t length, struct fwgen_writer *out)
{
    const uint32_t count = sizeof(slot_requests) / sizeof(slot_requests[0]);
    enum fwgen_result result = FWGEN_ERROR_BAD_TYPE;

    fwgen_nvmem_lock();
    for (uint32_t i = 0; i < count; i++) {
        const struct request *request = &slot_requests[i];

        if (request->type != type) {
            continue;
        }
        if (length < request->shortest || length > request->longest) {
            result = FWGEN_ERROR_BAD_LENGTH;
        } else if (request->settings && fwgen_settings() == NULL) {
            result = FWGEN_ERROR_NOT_SUPPORTED;
        } else {
            result = request->answer(payload, length, out);
        }
    }
    fwgen_nvmem_unlock();
    return result;
}

#endif
