/*
 * fwgen_update.h - how a package gets into the free slot, and what the parts of
 * the slots know of each other. The link calls it; so may an application with a
 * transport of its own. As fwgen_slots.h: for tasks that hold the lock.
 */
#ifndef FWGEN_UPDATE_H
#define FWGEN_UPDATE_H

#include "fwgen_slots.h"

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

/* The first step of an update: the slot that may be written, which is not on
 * trial any more. FWGEN_NO_SLOT: none. */
uint32_t fwgen_slots_free(void);
enum fwgen_result fwgen_slots_withdraw(uint32_t slot);
enum fwgen_result fwgen_slots_try(uint32_t slot);
const struct fwgen_slots_board *fwgen_slots_layout(void);
struct fwgen_store *fwgen_slots_store(void);

#endif
