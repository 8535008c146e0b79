/*
 * fault.h - between the report and the architecture's part of it. Private.
 */
#ifndef FWGEN_FAULT_PRIVATE_H
#define FWGEN_FAULT_PRIVATE_H

#include <stdint.h>

/* Interrupts off for good. Per architecture. */
void fwgen_fault_stop(void);

/* "*** FAULT kind=KIND", on a line of its own, without its end. */
void fwgen_fault_begin(const char *kind);

/* " name=0x...". */
void fwgen_fault_field(const char *name, uint32_t value);

/* " task=NAME" and the end of the line. */
void fwgen_fault_task(void);

/* The last line; then fwgen_exit(code). */
void fwgen_fault_end(uint32_t code) __attribute__((noreturn));

#endif
