/*
 * fwgen_fault.h - what happens after a mistake that cannot be survived.
 *
 * A report goes to the console UART, polled, whatever state the system is in:
 *
 *     *** FAULT kind=hardfault pc=0x... lr=0x... cfsr=0x... hfsr=0x... ...
 *     *** r0=0x... r1=0x... r2=0x... r3=0x... r12=0x... xpsr=0x...
 *     *** END
 *
 * or, on Cortex-A,
 *
 *     *** FAULT kind=dataabort pc=0x... lr=0x... dfsr=0x... dfar=0x... ...
 *     *** r0=0x... ... r12=0x... sp=0x...
 *     *** cpsr=0x... mode=sys
 *     *** END
 *
 * Lines start with "***" and end with CR LF; a line is never longer than 160
 * characters. kind is hardfault, memmanage, busfault, usagefault, nmi,
 * interrupt (one without handler), stack, assert or canary; on Cortex-A
 * dataabort (with dfsr= and dfar=), prefetchabort (ifsr=, ifar=), undefined,
 * fiq or unexpected in the place of the first five. sp and lr are those of the
 * mode that was interrupted, which mode= names. Every report
 * names the task (task=NAME, "-" before the scheduler). mmfar= and bfar= are
 * given when they are valid; assert adds file=NAME line=N; stack has
 * only the task.
 *
 * Then, with FWGEN_SEMIHOSTING, the emulator ends with the code below; without,
 * fwgen_board_halt() is called, or the CPU resets itself (FWGEN_FAULT_RESET).
 * A Cortex-A whose board has PSCI switches off, or resets, by it.
 */
#ifndef FWGEN_FAULT_H
#define FWGEN_FAULT_H

#include <stdint.h>

enum fwgen_exit_code {
    FWGEN_EXIT_FAULT = 70,
    FWGEN_EXIT_STACK = 71,
    FWGEN_EXIT_ASSERT = 72,
    FWGEN_EXIT_CANARY = 73,
};

/* Target of configASSERT. Does not return. Any context. */
void fwgen_assert_failed(const char *file, unsigned long line);

/* A guard word between two buffers was overwritten; `operation` had just
 * ended. Reports kind=canary with word=ADDRESS operation=N. Test builds with
 * semihosting end here; others return, and the run ends with an error code.
 * Task context. */
void fwgen_canary_failed(const uint32_t *word, uint32_t operation);

/* Ends the program: semihosting exit with `code`, else fwgen_board_halt().
 * Does not return. Any context. */
void fwgen_exit(uint32_t code) __attribute__((noreturn));

/* Board hook: what to do when there is nothing left to do. The default is an
 * endless loop with interrupts off; a board may define its own. */
void fwgen_board_halt(void);

#endif
