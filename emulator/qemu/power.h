/*
 * power.h - what must be switched on before an accelerator answers.
 */
#ifndef FWGEN_QEMU_POWER_H
#define FWGEN_QEMU_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POWER_MAX_NEEDS 16u

struct power_needs {
    struct power_need {
        uint64_t address; /* of a word in a controller (peripheral_state()) */
        uint64_t mask;
        uint64_t value;
    } needs[POWER_MAX_NEEDS];
    unsigned count;
};

/* Adds "ADDRESS:MASK:VALUE". False with a sentence in error when the text is
 * wrong. */
bool power_add(struct power_needs *power, const char *text, char *error,
               size_t size);

/* Whether all words are so; otherwise missing says which one is not. */
bool power_is_on(const struct power_needs *power, char *missing, size_t size);

#endif
