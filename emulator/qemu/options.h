/*
 * options.h - KEY=VALUE options of an overlay, as a table.
 */
#ifndef FWGEN_QEMU_OPTIONS_H
#define FWGEN_QEMU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One key and where its value goes: number or text. Both NULL: only named. */
struct option_place {
    const char *key;
    uint64_t *number;
    char **text;
    bool *given; /* set when the option is there; or NULL */
};

/* Decimal, 0x hexadecimal or 0 octal; nothing else, no sign. */
bool option_number(const char *value, uint64_t *number);

/* Stores value where the table says. kind names the overlay's kind in the
 * message about an unknown key. */
bool option_store(const struct option_place *table, size_t count,
                  const char *kind, const char *key, const char *value,
                  char *error, size_t size);

#endif
