/*
 * fwgen_start.h - what an application that brings its own main() calls for
 * settings and model slots; the default main() does it by itself. In builds
 * with FWGEN_NVMEM only.
 */
#ifndef FWGEN_START_H
#define FWGEN_START_H

/*
 * Opens the non-volatile memory and puts the active slot's model in the place
 * of model 0. Once, in main(), before fwgen_accel_start().
 */
void fwgen_nvmem_start(void);

/*
 * Tries a model that is on trial with the self-test of its package: right, it
 * is confirmed; wrong, it is given up and the device is reset. Returns at once
 * when there is no trial or no self-test. A task calls it before anybody else
 * uses the accelerators; it blocks for one inference.
 */
void fwgen_slots_self_test(void);

/* Resets the device; where the board gives no way to (Cortex-A without PSCI) it
 * ends in fwgen_board_halt(). Does not return. Any context. */
void fwgen_reset(void) __attribute__((noreturn));

#endif
