/*
 * board.h - a device for tests on the host: a flash of any geometry that counts
 * its operations and can lose power at each of them, and a board around it.
 */
#ifndef SIM_BOARD_H
#define SIM_BOARD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "fwgen_update.h"

/* What a cut leaves of the operation that it interrupts. */
enum tear {
    TEAR_NOTHING, /* it did not begin */
    TEAR_PREFIX,  /* the first half of the bytes is done */
    TEAR_BITS,    /* a random half of the bits is done */
    TEAR_GARBAGE, /* erase: bits went to 0 first, as some parts do; program:
                     all but one bit */
    TEAR_COUNT,
};

struct sim_flash {
    uint8_t *cells;
    uint32_t size;
    uint64_t operations; /* since sim_power_on() */
    uint64_t cut_at;     /* operation that power fails at, counted from 1 */
    enum tear tear;
    uint32_t stuck_at; /* a cell with a bit that stays 0 */
    uint8_t stuck_mask;
    bool dead; /* does not answer at start, and fails what follows */
    uint32_t random;
    jmp_buf power; /* where a cut goes */
};

extern struct sim_flash sim_flash;
extern struct fwgen_slots_board sim_board;

/* Makes the board: two slots of slot_size, a state and a settings partition of
 * `blocks` blocks each. False: impossible geometry. */
bool sim_make(uint32_t erase_size, uint32_t program_size, uint32_t slot_size,
              uint32_t blocks);

/* Starts counting anew, with power that fails at an operation (0: never). */
void sim_power_on(uint64_t cut_at, enum tear tear);

uint32_t sim_random(void);

#endif
