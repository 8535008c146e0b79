/*
 * options.c - see options.h.
 */
#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool option_number(const char *value, uint64_t *number)
{
    char *stop;

    errno = 0;
    *number = strtoull(value, &stop, 0);
    return stop != value && *stop == '\0' && errno == 0 && value[0] != '-';
}

static bool unknown(const struct option_place *table, size_t count,
                    const char *kind, const char *key, char *error, size_t size)
{
    int used =
        snprintf(error, size, "option \"%s\" is unknown; %s= takes", key, kind);

    for (size_t i = 0; i < count && used > 0 && (size_t)used < size; i++) {
        used += snprintf(error + used, size - (size_t)used, "%s %s",
                         i == 0 ? "" : ",", table[i].key);
    }
    return false;
}

bool option_store(const struct option_place *table, size_t count,
                  const char *kind, const char *key, const char *value,
                  char *error, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const struct option_place *place = &table[i];

        if (strcmp(place->key, key) != 0) {
            continue;
        }
        if (place->given != NULL) {
            *place->given = true;
        }
        if (place->number != NULL) {
            if (!option_number(value, place->number)) {
                snprintf(error, size, "%s=%s is not a number", key, value);
                return false;
            }
            return true;
        }
        if (place->text == NULL) {
            break;
        }
        free(*place->text);
        *place->text = strdup(value);
        if (*place->text == NULL) {
            snprintf(error, size, "out of memory");
            return false;
        }
        return true;
    }
    return unknown(table, count, kind, key, error, size);
}
