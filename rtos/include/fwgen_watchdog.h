/*
 * fwgen_watchdog.h - the watchdog, who feeds it, and why the board was reset.
 *
 * Only in builds with FWGEN_WATCHDOG. A supervisor, the task of the highest
 * priority, feeds the hardware as long as everything is well:
 *
 * - the task of each accelerator answers it;
 * - no accelerator that worked has become broken: its hardware hangs, and what
 *   its driver can do does not bring it back;
 * - each task that is watched has checked in within its own limit.
 *
 * Otherwise it notes the reason in memory that survives a reset, says it on the
 * console, and feeds no more. After a fault report (fwgen_fault.h) nobody
 * feeds either. If the supervisor itself does not run, because interrupts or
 * the scheduler are off, nothing is noted; where the SoC tells that its
 * watchdog fired (the profile's cause_register), this is known too.
 *
 * Example: a task that must come by every 100 ms.
 *
 *     static struct fwgen_watch watch;
 *
 *     fwgen_watchdog_watch(&watch, "camera", 300);
 *     for (;;) {
 *         take_picture();
 *         fwgen_watchdog_check_in(&watch);
 *     }
 */
#ifndef FWGEN_WATCHDOG_H
#define FWGEN_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"

#include "fwgen_config_defaults.h"

/* Why the board was reset. */
enum fwgen_restart {
    FWGEN_RESTART_OTHER = 0,  /* power, button, software: not the watchdog */
    FWGEN_RESTART_ENGINE = 1, /* an accelerator could not be brought back */
    FWGEN_RESTART_TASK = 2,   /* a task did not check in, or did not run */
    FWGEN_RESTART_FAULT = 3,  /* after a fault report */
    FWGEN_RESTART_SUPERVISOR = 4, /* the supervisor did not run */
};

#define FWGEN_RESTART_NAME 16u

struct fwgen_restart_reason {
    enum fwgen_restart kind;
    uint32_t detail; /* ENGINE: the operation; TASK: ticks since the last
                        sign of life; FAULT: the program counter, if known */
    char name[FWGEN_RESTART_NAME]; /* accelerator, task, kind of fault */
    uint32_t cause;                /* the SoC's word; 0 where there is none */
};

/* A task that is watched; the caller's storage, never freed. */
struct fwgen_watch {
    const char *name;
    TickType_t limit;
    volatile TickType_t last;
    struct fwgen_watch *next;
};

/* One kind of hardware. */
struct fwgen_watchdog_driver {
    void (*start)(uintptr_t base, uint32_t load);
    void (*feed)(uintptr_t base, uint32_t load);
};

extern const struct fwgen_watchdog_driver fwgen_watchdog_dw;
extern const struct fwgen_watchdog_driver fwgen_watchdog_cmsdk;

/* The board's; generated. */
struct fwgen_watchdog {
    const struct fwgen_watchdog_driver *driver;
    uintptr_t base;
    uint32_t load;       /* what the driver writes for the period */
    uint32_t timeout_ms; /* the hardware's, at least */
    uintptr_t cause_register;
    uint32_t cause_mask; /* bits that mean this watchdog */
};
extern const struct fwgen_watchdog fwgen_watchdog;

/* Finds out why the board was reset, starts the hardware and creates the
 * supervisor. Before the scheduler, once; fwgen's main() does it. */
void fwgen_watchdog_start(void);

/* Watches a task that must check in at least every `limit_ms`; from now on, and
 * for good. `name` stays the caller's, its first 15 characters are kept. Task
 * context or before the scheduler; once for each storage. */
void fwgen_watchdog_watch(struct fwgen_watch *watch, const char *name,
                          uint32_t limit_ms);

/* A sign of life. Task context; does not block. */
void fwgen_watchdog_check_in(struct fwgen_watch *watch);

/* Why the board was reset the last time. Valid after fwgen_watchdog_start().
 * Any context. */
const struct fwgen_restart_reason *fwgen_restart_reason(void);

/* Prints that as one line; the caller holds the console. */
void fwgen_restart_print(void);

/* Keeps a reason over the reset that is to follow. Any context. */
void fwgen_restart_note(enum fwgen_restart kind, uint32_t detail,
                        const char *name);

#endif
