/*
 * faults.c - reads fault texts and decides when a fault strikes (faults.h).
 */
#include "faults.h"

#include <stdio.h>
#include <string.h>

#define FAULT_ALWAYS UINT64_MAX
#define FAULT_RANDOM (UINT64_MAX - 1u)

static const struct {
    const char *name;
    enum fault_kind kind;
    bool argument;
} kinds[] = {
    {"irq-lost", FAULT_IRQ_LOST, false},
    {"irq-late", FAULT_IRQ_LATE, true},
    {"irq-twice", FAULT_IRQ_TWICE, false},
    {"irq-spurious", FAULT_IRQ_SPURIOUS, false},
    {"stuck-busy", FAULT_STUCK_BUSY, false},
    {"dma-error", FAULT_DMA_ERROR, false},
    {"bit-flip", FAULT_BIT_FLIP, true},
};

/* Decimal digits up to ':' or the end; false on anything else. */
static bool parse_number(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t result = 0;

    if (*at < '0' || *at > '9') {
        return false;
    }
    while (*at >= '0' && *at <= '9') {
        if (result > (uint64_t)1 << 48) {
            return false;
        }
        result = result * 10u + (uint64_t)(*at - '0');
        at++;
    }
    *text = at;
    *value = result;
    return *at == ':' || *at == '\0';
}

/* "p=A/B", then perhaps ":seed=S". */
static bool parse_chance(const char **text, struct accel_fault *fault)
{
    const char *at = *text + 2;
    const char *slash = strchr(at, '/');

    fault->index = FAULT_RANDOM;
    fault->chance = 0;
    while (*at >= '0' && *at <= '9' && fault->chance < 1000000u) {
        fault->chance = fault->chance * 10u + (uint64_t)(*at++ - '0');
    }
    if (slash == NULL || at != slash || at == *text + 2) {
        return false;
    }
    at = slash + 1;
    if (!parse_number(&at, &fault->outof) || fault->outof == 0u ||
        fault->chance > fault->outof) {
        return false;
    }
    if (strncmp(at, ":seed=", 6) == 0) {
        at += 6;
        if (!parse_number(&at, &fault->seed)) {
            return false;
        }
    }
    *text = at;
    return true;
}

/* A number that looks random, of a seed and an index (the finaliser of
 * MurmurHash3, public domain, with its published constants). */
static uint64_t scatter(uint64_t seed, uint64_t index)
{
    uint64_t value = seed * 0x9e3779b97f4a7c15u + index;

    value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdu;
    value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
    return value ^ (value >> 33);
}

static bool matches(const struct accel_fault *fault, uint64_t index)
{
    if (fault->index == FAULT_RANDOM) {
        return scatter(fault->seed, index) % fault->outof < fault->chance;
    }
    return fault->index == index || fault->index == FAULT_ALWAYS;
}

static enum fault_kind complain(char *error, size_t error_size,
                                const char *text, const char *spec)
{
    if (error != NULL && error_size > 0) {
        (void)snprintf(error, error_size, "fault '%.60s': %s", spec, text);
    }
    return FAULT_NONE;
}

enum fault_kind accel_fault_arm(struct accel_fault_list *list, const char *spec,
                                char *error, size_t error_size)
{
    struct accel_fault fault = {FAULT_NONE, 0, 0, 0, 0, 0};
    size_t length = strcspn(spec, ":");
    const char *at = spec + length;
    bool wants_argument = false;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i].name) == length &&
            strncmp(kinds[i].name, spec, length) == 0) {
            fault.kind = kinds[i].kind;
            wants_argument = kinds[i].argument;
        }
    }
    if (fault.kind == FAULT_NONE) {
        return complain(error, error_size,
                        "unknown kind; there are irq-lost, irq-late, "
                        "irq-twice, irq-spurious, stuck-busy, dma-error and "
                        "bit-flip",
                        spec);
    }
    if (*at == ':') {
        at++;
        if (*at == '*') {
            fault.index = FAULT_ALWAYS;
            at++;
        } else if (at[0] == 'p' && at[1] == '=') {
            if (!parse_chance(&at, &fault)) {
                return complain(error, error_size,
                                "a probability is p=A/B or p=A/B:seed=S", spec);
            }
        } else if (!parse_number(&at, &fault.index)) {
            return complain(error, error_size,
                            "the second part is a number of completed "
                            "operations, * or p=A/B",
                            spec);
        }
    }
    if (wants_argument) {
        if (*at != ':') {
            return complain(error, error_size,
                            "this kind wants a third part (cycles or bit)",
                            spec);
        }
        at++;
        if (!parse_number(&at, &fault.argument)) {
            return complain(error, error_size, "the third part is a number",
                            spec);
        }
    }
    if (*at != '\0') {
        return complain(error, error_size, "text after the last part", spec);
    }
    for (unsigned i = 0; i < FAULT_COUNT; i++) {
        if (list->faults[i].kind == FAULT_NONE) {
            list->faults[i] = fault;
            return fault.kind;
        }
    }
    return complain(error, error_size, "too many faults are armed", spec);
}

bool accel_fault_strikes(struct accel_fault_list *list, enum fault_kind kind,
                         uint64_t index, uint64_t *argument)
{
    for (unsigned i = 0; i < FAULT_COUNT; i++) {
        struct accel_fault *fault = &list->faults[i];

        if (fault->kind == kind && matches(fault, index)) {
            if (argument != NULL) {
                *argument = fault->argument;
            }
            if (fault->index < FAULT_RANDOM) {
                fault->kind = FAULT_NONE;
            }
            return true;
        }
    }
    return false;
}
