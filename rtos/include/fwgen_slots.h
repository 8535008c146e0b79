/*
 * fwgen_slots.h - which model runs: the two slots, trials, and the update of a
 * slot over the link. docs/update.md has the state machine and its invariants.
 *
 * At start one of three runs in the place of model 0: the package of the
 * confirmed slot; the package of a slot on trial; or the model in the image,
 * when no slot holds a package that passes its checks.
 *
 * The functions may be called from any task that holds fwgen_nvmem_lock().
 */
#ifndef FWGEN_SLOTS_H
#define FWGEN_SLOTS_H

#include "fwgen_package.h"
#include "fwgen_store.h"

#define FWGEN_NO_SLOT 0xffu

/* What is known of the slots. */
struct fwgen_slots_state {
    uint8_t running;   /* 0, 1, or FWGEN_NO_SLOT: the model in the image */
    uint8_t confirmed; /* the slot that passed its trial, or FWGEN_NO_SLOT */
    uint8_t trial;     /* the slot on trial, or FWGEN_NO_SLOT */
    uint8_t boots;     /* starts of the trial so far */
    uint8_t fault;     /* why the last trial was given up; GOOD: none was */
    uint32_t oldest;   /* smallest version that is accepted */
};

/*
 * Looks for a package to run, and counts the boot of a trial. Called once by
 * fwgen_nvmem_start(). Errors of the flash leave the model in the image.
 */
enum fwgen_result fwgen_slots_start(const struct fwgen_slots_board *board);

/* The state; never NULL. */
const struct fwgen_slots_state *fwgen_slots_state(void);

/* The model of the running package, or NULL: the one in the image runs. */
const struct fwgen_bound_model *fwgen_slots_model(void);

/* What a slot holds; fills *package if it is GOOD, whose digest and name
 * point into `header`. Reads the header only. */
enum fwgen_package_fault fwgen_slots_look(uint32_t slot,
                                          uint8_t header[FWGEN_PACKAGE_HEADER],
                                          struct fwgen_package *package);

/*
 * The trial is over and good: from now on its slot starts. FWGEN_OK also where
 * the confirmed slot runs; FWGEN_ERROR_NOT_SUPPORTED where the model in the
 * image does; or FWGEN_ERROR_FLASH.
 */
enum fwgen_result fwgen_slots_confirm(void);

/* The trial is over and failed: the next start takes what ran before. Returns
 * as above. */
enum fwgen_result fwgen_slots_reject(enum fwgen_package_fault fault);

/* The store of the settings; NULL when the board has no such partition. */
struct fwgen_store *fwgen_settings(void);

/* ---- updates (nvmem/update.c) ---- */

/* Where an update stands. */
struct fwgen_update {
    uint32_t slot;
    uint32_t next; /* offset of the byte that is expected */
    uint32_t unit; /* offsets and lengths are multiples, but the last length */
};

/*
 * Starts an update with the header of a package, or goes on with one: a package
 * that was interrupted continues where the flash has it, also after a reset.
 * Nothing is written when the header is refused (*fault says why,
 * FWGEN_ERROR_REFUSED). FWGEN_ERROR_BUSY: the only slot that is free runs a
 * trial; confirm it, or reset the device, first.
 */
enum fwgen_result fwgen_update_begin(const uint8_t header[FWGEN_PACKAGE_HEADER],
                                     struct fwgen_update *update,
                                     enum fwgen_package_fault *fault);

/*
 * Takes bytes of the payload at an offset of the package. Bytes at another
 * offset than the expected one are ignored, so that repeated and lost requests
 * do no harm: *next says what is expected now. Returns FWGEN_OK,
 * FWGEN_ERROR_BAD_INDEX (no update was started), FWGEN_ERROR_BAD_RANGE (beyond
 * the package, or no whole units) or FWGEN_ERROR_FLASH.
 */
enum fwgen_result fwgen_update_data(uint32_t offset, const uint8_t *data,
                                    uint32_t length, uint32_t *next);

/*
 * Checks the whole package, and makes it the one that the next start tries.
 * Returns FWGEN_OK, also when it is repeated; FWGEN_ERROR_BAD_INDEX;
 * FWGEN_ERROR_BAD_RANGE (bytes are missing); FWGEN_ERROR_REFUSED with the
 * reason; FWGEN_ERROR_FLASH.
 */
enum fwgen_result fwgen_update_finish(enum fwgen_package_fault *fault);

/* Ends an update; the same package may go on where it stood. */
void fwgen_update_abort(void);

/* Ends an update; every package begins anew. */
enum fwgen_result fwgen_update_forget(void);

/* Takes a slot out of use, so that it may be erased; FWGEN_ERROR_BUSY for one
 * that runs or is confirmed. */
enum fwgen_result fwgen_slots_give(uint32_t slot);

/* ---- for update.c ---- */

/* The first step of an update: the slot that may be written, which is not on
 * trial any more. FWGEN_NO_SLOT: none. */
uint32_t fwgen_slots_free(void);
enum fwgen_result fwgen_slots_withdraw(uint32_t slot);
enum fwgen_result fwgen_slots_try(uint32_t slot);
const struct fwgen_slots_board *fwgen_slots_layout(void);
struct fwgen_store *fwgen_slots_store(void);

#endif
