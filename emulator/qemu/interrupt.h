/*
 * interrupt.h - finds input lines of the machine's interrupt controller.
 */
#ifndef FWGEN_QEMU_INTERRUPT_H
#define FWGEN_QEMU_INTERRUPT_H

#include <stddef.h>
#include <stdint.h>

#include "qemu_api.h"

/* Line `number` of the controller that `intc` names by QOM type or path.
 * Returns NULL and writes a sentence into error, with the name of the device
 * that wants it, when there is none. */
qemu_irq interrupt_line(const char *name, const char *intc, uint64_t number,
                        char *error, size_t size);

#endif
