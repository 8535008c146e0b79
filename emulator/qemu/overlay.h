/*
 * overlay.h - what module options can put on a machine.
 *
 * The module's arguments are a flat list of KEY=VALUE. A kind's own name as the
 * key begins a new overlay of that kind ("accel=nvdla"), the keys after it are
 * its options. A kind lives in one file and is listed in module.c; RAM, aliases
 * and further devices are to be added the same way.
 */
#ifndef FWGEN_QEMU_OVERLAY_H
#define FWGEN_QEMU_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>

struct overlay_kind {
    const char *key; /* begins an overlay */
    /* All return false (or NULL) and write a sentence into error. */
    void *(*begin)(const char *value, char *error, size_t size);
    bool (*option)(void *overlay, const char *key, const char *value,
                   char *error, size_t size);
    /* Options are complete: check them, before the machine exists. */
    bool (*finish)(void *overlay, char *error, size_t size);
    /* The machine is built and not yet reset: map, connect, register. */
    bool (*realize)(void *overlay, char *error, size_t size);
    /* The process ends: write last records. No memory is released. */
    void (*exit)(void *overlay);
};

#endif
