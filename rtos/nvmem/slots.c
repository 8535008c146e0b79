/*
 * slots.c - which package runs (fwgen_slots.h; docs/update.md, "Slots").
 *
 * One value of the state store holds everything that decides, so that each
 * change of it is one write that either happens or does not.
 *
 * Invariants:
 * - The confirmed slot and the running slot are never erased or programmed.
 * - A slot goes on trial only after its whole package has passed the checks.
 * - A trial is counted in flash before its package is used.
 * - A package becomes confirmed only while it runs.
 */
#include "fwgen_update.h"

#include <string.h>

#include "bytes.h"

#if FWGEN_NVMEM

#define FORMAT 1u
#define KEY "slots"

/* The value of the state store. */
enum {
    AT_FORMAT = 0,
    AT_CONFIRMED = 1,
    AT_TRIAL = 2,
    AT_BOOTS = 3,
    AT_FAULT = 4, /* three bytes of zero behind it */
    AT_OLDEST = 8,
    VALUE_SIZE = 12,
};

static const struct fwgen_slots_board *layout;
static struct fwgen_store store;
static struct fwgen_store settings;
static bool has_settings;
static struct fwgen_slots_state state;
static struct fwgen_bound_model bound;

const struct fwgen_slots_board *fwgen_slots_layout(void)
{
    return layout;
}

struct fwgen_store *fwgen_slots_store(void)
{
    return &store;
}

struct fwgen_store *fwgen_settings(void)
{
    return has_settings ? &settings : NULL;
}

const struct fwgen_slots_state *fwgen_slots_state(void)
{
    return &state;
}

const struct fwgen_bound_model *fwgen_slots_model(void)
{
    return state.running == FWGEN_NO_SLOT ? NULL : &bound;
}

static bool is_slot(uint8_t slot)
{
    return slot < FWGEN_SLOT_COUNT;
}

/* Reads the state; false when the store has none. */
static bool load(void)
{
    uint8_t value[VALUE_SIZE];
    uint32_t length;

    if (fwgen_store_get(&store, KEY, value, sizeof(value), &length) !=
            FWGEN_OK ||
        length != VALUE_SIZE || value[AT_FORMAT] != FORMAT) {
        return false;
    }
    state.confirmed = value[AT_CONFIRMED];
    state.trial = value[AT_TRIAL];
    state.boots = value[AT_BOOTS];
    state.fault = value[AT_FAULT];
    state.oldest = fwgen_get32(&value[AT_OLDEST]);
    return true;
}

/* Writes the state that `next` says and takes it over when it is written. */
static enum fwgen_result save(const struct fwgen_slots_state *next)
{
    uint8_t value[VALUE_SIZE];
    enum fwgen_result result;

    (void)memset(value, 0, sizeof(value));
    value[AT_FORMAT] = FORMAT;
    value[AT_CONFIRMED] = next->confirmed;
    value[AT_TRIAL] = next->trial;
    value[AT_BOOTS] = next->boots;
    value[AT_FAULT] = next->fault;
    fwgen_set32(&value[AT_OLDEST], next->oldest);
    result = fwgen_store_set(&store, KEY, value, sizeof(value));
    if (result == FWGEN_OK) {
        state = *next;
    }
    return result;
}

enum fwgen_package_fault fwgen_slots_look(uint32_t slot,
                                          uint8_t header[FWGEN_PACKAGE_HEADER],
                                          struct fwgen_package *package)
{
    if (fwgen_nvmem_read(layout->slots[slot], 0, header,
                         FWGEN_PACKAGE_HEADER) != FWGEN_OK) {
        return FWGEN_PACKAGE_READ;
    }
    return fwgen_package_header(header, layout, slot, 0, package);
}

/* Checks the package of a slot and takes it. */
static enum fwgen_package_fault take(uint32_t slot, bool deep)
{
    static uint8_t header[FWGEN_PACKAGE_HEADER];
    struct fwgen_package package;
    enum fwgen_package_fault fault = fwgen_slots_look(slot, header, &package);

    if (fault == FWGEN_PACKAGE_GOOD) {
        fault = fwgen_package_payload(&package, layout, slot, deep);
    }
    if (fault == FWGEN_PACKAGE_GOOD) {
        fault = fwgen_package_bind(&package, layout, slot, &bound);
    }
    if (fault == FWGEN_PACKAGE_GOOD) {
        state.running = (uint8_t)slot;
    }
    return fault;
}

/* Starts the slot on trial, unless it was tried often enough. */
static void start_trial(void)
{
    struct fwgen_slots_state next = state;
    enum fwgen_package_fault fault = FWGEN_PACKAGE_BOOTS;

    if (state.boots < FWGEN_TRIAL_BOOTS) {
        next.boots++;
        if (save(&next) != FWGEN_OK) {
            return; /* uncounted it must not run */
        }
        fault = take(state.trial, true);
        if (fault == FWGEN_PACKAGE_GOOD) {
            return;
        }
    }
    next = state;
    next.trial = FWGEN_NO_SLOT;
    next.boots = 0;
    next.fault = (uint8_t)fault;
    (void)save(&next);
}

/* Without a confirmed slot that is good: whatever slot is, as a trial. After a
 * trial that failed there is nothing left to try: the image's model runs. */
static void start_any(void)
{
    if (state.fault != FWGEN_PACKAGE_GOOD) {
        return;
    }
    for (uint32_t slot = 0; slot < FWGEN_SLOT_COUNT; slot++) {
        if (slot != state.confirmed && take(slot, true) == FWGEN_PACKAGE_GOOD) {
            struct fwgen_slots_state next = state;

            next.trial = (uint8_t)slot;
            next.boots = 1;
            (void)save(&next);
            return;
        }
    }
}

enum fwgen_result fwgen_slots_start(const struct fwgen_slots_board *board)
{
    const struct fwgen_nvmem *device = board->state->device;
    enum fwgen_result result;
    bool known;

    layout = board;
    (void)memset(&state, 0, sizeof(state));
    state.running = FWGEN_NO_SLOT;
    state.confirmed = FWGEN_NO_SLOT;
    state.trial = FWGEN_NO_SLOT;
    has_settings = false;
    (void)memset(&store, 0, sizeof(store));
    fwgen_update_abort();
    result = device->driver->start(device);
    if (result == FWGEN_OK && board->settings != NULL) {
        result = fwgen_store_mount(&settings, board->settings);
        has_settings = result == FWGEN_OK;
    }
    if (result == FWGEN_OK) {
        result = fwgen_store_mount(&store, board->state);
    }
    if (result != FWGEN_OK) {
        return result;
    }
    known = load();
    if (is_slot(state.trial)) {
        start_trial();
    }
    if (state.running == FWGEN_NO_SLOT && is_slot(state.confirmed)) {
        if (take(state.confirmed, FWGEN_SIGNED_UPDATE != 0) !=
            FWGEN_PACKAGE_GOOD) {
            start_any();
        }
    }
    if (!known) {
        start_any();
    }
    if (state.running != FWGEN_NO_SLOT) {
        fwgen_models[0] = bound.model;
    }
    return FWGEN_OK;
}

enum fwgen_result fwgen_slots_confirm(void)
{
    struct fwgen_slots_state next = state;

    if (state.running == FWGEN_NO_SLOT) {
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    if (state.running != state.trial) {
        return FWGEN_OK;
    }
    next.confirmed = state.running;
    next.trial = FWGEN_NO_SLOT;
    next.boots = 0;
    next.fault = FWGEN_PACKAGE_GOOD;
#if FWGEN_ANTI_ROLLBACK
    {
        static uint8_t header[FWGEN_PACKAGE_HEADER];
        struct fwgen_package package;

        if (fwgen_slots_look(state.running, header, &package) ==
                FWGEN_PACKAGE_GOOD &&
            package.version > next.oldest) {
            next.oldest = package.version;
        }
    }
#endif
    return save(&next);
}

enum fwgen_result fwgen_slots_reject(enum fwgen_package_fault fault)
{
    struct fwgen_slots_state next = state;

    if (state.running == FWGEN_NO_SLOT || state.running != state.trial) {
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    next.trial = FWGEN_NO_SLOT;
    next.boots = 0;
    next.fault = (uint8_t)fault;
    return save(&next);
}

uint32_t fwgen_slots_free(void)
{
    for (uint32_t slot = 0; slot < FWGEN_SLOT_COUNT; slot++) {
        if (slot != state.confirmed && slot != state.running) {
            return slot;
        }
    }
    return FWGEN_NO_SLOT;
}

enum fwgen_result fwgen_slots_withdraw(uint32_t slot)
{
    struct fwgen_slots_state next = state;

    if (state.trial != slot) {
        return FWGEN_OK;
    }
    next.trial = FWGEN_NO_SLOT;
    next.boots = 0;
    return save(&next);
}

enum fwgen_result fwgen_slots_try(uint32_t slot)
{
    struct fwgen_slots_state next = state;

    next.trial = (uint8_t)slot;
    next.boots = 0;
    next.fault = FWGEN_PACKAGE_GOOD;
    return save(&next);
}

enum fwgen_result fwgen_slots_give(uint32_t slot)
{
    enum fwgen_result result;

    if (slot >= FWGEN_SLOT_COUNT || slot == state.confirmed ||
        slot == state.running) {
        return FWGEN_ERROR_BUSY;
    }
    result = fwgen_update_forget();
    return result != FWGEN_OK ? result : fwgen_slots_withdraw(slot);
}

#endif
