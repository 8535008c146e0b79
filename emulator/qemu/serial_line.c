/*
 * serial_line.c - see serial_line.h.
 */
#include "serial_line.h"

#include <stdio.h>

Chardev *serial_line_find(const char *name, const char *id, char *error,
                          size_t size)
{
    Chardev *line = qemu.qemu_chr_find(id);

    if (line == NULL) {
        snprintf(error, size, "%s: there is no -chardev with id=%s", name, id);
    }
    return line;
}
