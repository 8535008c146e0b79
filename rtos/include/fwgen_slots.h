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

#endif
