/*
 * fwgen_uart.h - one UART for the console and the serial link.
 *
 * The generator writes the table fwgen_uarts[] (src/board.c). A driver is one
 * file in rtos/drivers/ that defines a struct fwgen_uart_driver; adding one
 * touches nothing else. Reception is by interrupt into a ring, transmission
 * is polled: a frame is sent at once and the sender's task waits for the line.
 */
#ifndef FWGEN_UART_H
#define FWGEN_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fwgen_config_defaults.h"

struct fwgen_uart_driver;

/* One UART of the board; constant. */
struct fwgen_uart {
    const struct fwgen_uart_driver *driver; /* &fwgen_uart_cmsdk */
    uintptr_t base;
    uint32_t clock_hz; /* input clock of the baud rate divider */
    uint32_t baud;
    int32_t rx_irq;        /* number at the interrupt controller */
    uint32_t irq_priority; /* FreeRTOS convention: 0 is the highest */
};

/* What a driver provides. All functions get the table entry; none blocks
 * except put, which polls until the transmitter takes the byte. */
struct fwgen_uart_driver {
    /* Sets baud rate and frame, enables the transmitter. Called before the
     * scheduler runs and again by fault reports, so it must not depend on
     * earlier state. */
    void (*start)(const struct fwgen_uart *uart);
    /* Sends one byte, polled. Usable with interrupts off. */
    void (*put)(const struct fwgen_uart *uart, uint8_t byte);
    /* Returns the next received byte, or -1 when there is none. Called from
     * the receive interrupt. Sets *overrun when the hardware lost bytes. */
    int (*get)(const struct fwgen_uart *uart, bool *overrun);
    /* Enables the receiver and its interrupt in the device. */
    void (*listen)(const struct fwgen_uart *uart);
    /* Acknowledges the receive interrupt in the device; get() is called until
     * it returns -1 afterwards. */
    void (*acknowledge)(const struct fwgen_uart *uart);
};

extern const struct fwgen_uart_driver fwgen_uart_cmsdk;
extern const struct fwgen_uart_driver fwgen_uart_dw_apb;
extern const struct fwgen_uart_driver fwgen_uart_imx;
extern const struct fwgen_uart_driver fwgen_uart_meson;
extern const struct fwgen_uart_driver fwgen_uart_pl011;

/* The UART of the console; generated. It carries the link too, unless
 * FWGEN_LINK_UART says that the link has one of its own. */
extern const struct fwgen_uart fwgen_console_uart;
#if FWGEN_LINK_UART
extern const struct fwgen_uart fwgen_link_uart;
#else
#define fwgen_link_uart fwgen_console_uart
#endif

/* What a received byte came through. */
enum fwgen_uart_line {
    FWGEN_LINE_LINK = 0,
    FWGEN_LINE_CONSOLE = 1, /* only with FWGEN_LINK_UART */
    FWGEN_LINE_COUNT = 1 + FWGEN_LINK_UART
};

/* Starts the receive interrupts. Called once by the task that reads. */
void fwgen_uart_open(void);

/* Sends bytes, polled. Any context; callers that share a line hold the
 * console lock (fwgen_console.h). */
void fwgen_uart_write(const struct fwgen_uart *uart, const void *data,
                      size_t length);

/* Blocks the reading task until bytes have arrived on a line or `ticks` have
 * passed. Bytes that do not end a line or frame may wait for more. */
void fwgen_uart_wait(uint32_t ticks);

/* Takes up to `length` received bytes of a line; never blocks. Returns how
 * many. The reading task only. */
size_t fwgen_uart_read(enum fwgen_uart_line line, void *data, size_t length);

/* Bytes that were lost because a ring or the hardware was full. */
uint32_t fwgen_uart_overruns(void);

/* The receive interrupts' handlers, named by the generated vector table: of
 * the UART that carries the link, and of the console's own if it has one. */
void fwgen_uart_rx_IRQHandler(void);
void fwgen_console_rx_IRQHandler(void);

#endif
