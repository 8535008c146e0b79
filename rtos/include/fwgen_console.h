/*
 * fwgen_console.h - text output that never mixes with frames of the link.
 *
 * One mutex guards a whole line of text or a whole frame. Lines are assembled
 * without a buffer: the lock is held while the pieces are printed.
 */
#ifndef FWGEN_CONSOLE_H
#define FWGEN_CONSOLE_H

#include <stdint.h>

#include "fwgen_config_defaults.h"

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

/* Prints one whole line, whatever the level: the text and a line end, under
 * the lock. Does nothing before fwgen_console_open(). Task context.
 *
 * Example:
 *     fwgen_log("camera: started");
 */
void fwgen_log(const char *text);

/* Prints "text value" as one line. Task context. */
void fwgen_log_value(const char *text, uint32_t value);

/*
 * How much the log tells. Lines above the level are dropped before they reach
 * the UART. With FWGEN_SHELL the level is a variable that the command
 * `log LEVEL` sets; without, it is FWGEN_LOG_LEVEL for good and dropped lines
 * are not in the image where the level of a line is a constant.
 */
#define FWGEN_LOG_NONE 0u
#define FWGEN_LOG_ERROR 1u
#define FWGEN_LOG_INFO 2u
#define FWGEN_LOG_DEBUG 3u

#if FWGEN_SHELL
extern volatile uint8_t fwgen_log_level;
#else
#define fwgen_log_level FWGEN_LOG_LEVEL
#endif

/*
 * Logs a line if the level of the log is at least `level`. Task context;
 * blocks until the line is free.
 *
 * Example:
 *     fwgen_log_at(FWGEN_LOG_DEBUG, "camera: exposure changed");
 */
static inline void fwgen_log_at(uint32_t level, const char *text)
{
    if (level <= fwgen_log_level) {
        fwgen_log(text);
    }
}

#endif
