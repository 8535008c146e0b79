/*
 * faults.h - faults on demand: what families share.
 *
 * A fault is armed by "KIND[:N[:ARG]]": it strikes the operation during which
 * N have completed (default 0), or every one for "*". A fault with a number
 * strikes once. "p=A/B" instead of N strikes each operation with that
 * probability, and "p=A/B:seed=S" other ones; which ones depends on S and the
 * operation's number alone. What a kind does, and what counts as an operation,
 * is the family's to say.
 */
#ifndef FWGEN_ACCEL_FAULTS_H
#define FWGEN_ACCEL_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_IRQ_LOST,
    FAULT_IRQ_LATE,
    FAULT_IRQ_TWICE,
    FAULT_IRQ_SPURIOUS,
    FAULT_STUCK_BUSY,
    FAULT_DMA_ERROR,
    FAULT_BIT_FLIP,
};

#define FAULT_COUNT 8u

struct accel_fault {
    enum fault_kind kind;
    uint64_t index; /* of the operation, or one of two special values */
    uint64_t argument;
    uint64_t chance, outof; /* strikes chance of outof operations */
    uint64_t seed;
};

struct accel_fault_list {
    struct accel_fault faults[FAULT_COUNT];
};

/* Adds a fault; FAULT_NONE and a sentence in error when the text is wrong or
 * too many faults are armed. */
enum fault_kind accel_fault_arm(struct accel_fault_list *list, const char *spec,
                                char *error, size_t error_size);
/* Whether an armed fault of that kind strikes operation index, with its
 * argument; a fault with an index is disarmed by this. argument may be NULL. */
bool accel_fault_strikes(struct accel_fault_list *list, enum fault_kind kind,
                         uint64_t index, uint64_t *argument);

#endif
