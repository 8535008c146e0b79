/*
 * serial_line.h - a serial line of the emulator (-chardev) that a UART of the
 * module takes.
 */
#ifndef FWGEN_QEMU_SERIAL_LINE_H
#define FWGEN_QEMU_SERIAL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "qemu_api.h"

/* The -chardev with that id, or NULL with a sentence in error. */
Chardev *serial_line_find(const char *name, const char *id, char *error,
                          size_t size);

#endif
