/*
 * fwgen_console.h - text output that never mixes with frames of the link.
 *
 * One mutex guards a whole line of text or a whole frame. Lines are assembled
 * without a buffer: the lock is held while the pieces are printed.
 */
#ifndef FWGEN_CONSOLE_H
#define FWGEN_CONSOLE_H

#include <stdint.h>

/* Creates the lock and starts the UART. Before the scheduler, once. */
void fwgen_console_open(void);

/* Take and give the line. Task context (a no-op before the scheduler runs);
 * blocks until the line is free. Never held across another blocking call. */
void fwgen_console_lock(void);
void fwgen_console_unlock(void);

/* Print pieces of a line; the caller holds the lock. "\n" becomes CR LF. */
void fwgen_print(const char *text);
void fwgen_print_decimal(uint32_t value);
void fwgen_print_hex(uint32_t value); /* 0x and eight digits */
void fwgen_print_signed(int32_t value);

/* Prints one whole line: the text and a line end, under the lock. Task
 * context.
 *
 * Example:
 *     fwgen_log("camera: started");
 */
void fwgen_log(const char *text);

/* Prints "text value" as one line. Task context. */
void fwgen_log_value(const char *text, uint32_t value);

#endif
