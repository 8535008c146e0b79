/*
 * clock_overlay.c - see clock_overlay.h.
 */
#define _GNU_SOURCE
#include "clock_overlay.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "qemu_api.h"

/* QEMU counts clock periods in units of 2^-32 ns. */
#define PERIODS_PER_SECOND (UINT64_C(1000000000) << 32)
#define MAX_HZ UINT64_C(10000000000)

struct clock_overlay {
    char *path;
    uint64_t hz;
};

static void *clock_begin(const char *value, char *error, size_t size)
{
    struct clock_overlay *overlay = calloc(1, sizeof(*overlay));

    if (overlay != NULL) {
        overlay->path = strdup(value);
    }
    if (overlay == NULL || overlay->path == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    return overlay;
}

static bool clock_option(void *state, const char *key, const char *value,
                         char *error, size_t size)
{
    struct clock_overlay *overlay = state;
    const struct option_place table[] = {{"hz", &overlay->hz, NULL, NULL}};

    return option_store(table, 1, "machine_clock", key, value, error, size);
}

static bool clock_finish(void *state, char *error, size_t size)
{
    struct clock_overlay *overlay = state;

    if (overlay->hz == 0 || overlay->hz > MAX_HZ) {
        snprintf(error, size,
                 "machine_clock %s: hz= must be given, up to %" PRIu64,
                 overlay->path, MAX_HZ);
        return false;
    }
    return true;
}

static bool clock_realize(void *state, char *error, size_t size)
{
    struct clock_overlay *overlay = state;
    bool ambiguous = false;
    Object *object = qemu.object_resolve_path(overlay->path, &ambiguous);

    if (object == NULL || qemu.object_dynamic_cast(object, "clock") == NULL) {
        snprintf(error, size, "the machine has no clock \"%s\"", overlay->path);
        return false;
    }
    qemu.clock_set((Clock *)object, PERIODS_PER_SECOND / overlay->hz);
    qemu.clock_propagate((Clock *)object);
    return true;
}

static void clock_exit(void *state)
{
    (void)state;
}

const struct overlay_kind clock_overlay_kind = {
    .key = "machine_clock",
    .begin = clock_begin,
    .option = clock_option,
    .finish = clock_finish,
    .realize = clock_realize,
    .exit = clock_exit,
};
