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
    /* Sets baud rate and frame, enables transmitter and receiver, no
     * interrupts. Called before the scheduler runs and again by fault
     * reports, so it must not depend on earlier state. */
    void (*start)(const struct fwgen_uart *uart);
    /* Sends one byte, polled. Usable with interrupts off. */
    void (*put)(const struct fwgen_uart *uart, uint8_t byte);
    /* Returns the next received byte, or -1 when there is none. Called from
     * the receive interrupt. Sets *overrun when the hardware lost bytes. */
    int (*get)(const struct fwgen_uart *uart, bool *overrun);
    /* Enables the receive interrupt in the device. */
    void (*listen)(const struct fwgen_uart *uart);
    /* Acknowledges the receive interrupt in the device; get() is called until
     * it returns -1 afterwards. */
    void (*acknowledge)(const struct fwgen_uart *uart);
};

extern const struct fwgen_uart_driver fwgen_uart_cmsdk;

/* The UART of console and link; generated. */
extern const struct fwgen_uart fwgen_console_uart;

/* Starts the UART and its receive interrupt. Task context, once. */
void fwgen_uart_open(void);

/* Sends bytes, polled. Any context; callers that share the line hold the
 * console lock (fwgen_console.h). */
void fwgen_uart_write(const void *data, size_t length);

/* Takes up to `length` received bytes; blocks the calling task until there is
 * at least one or `ticks` have passed. One reader task only. Returns how many
 * bytes were stored. */
size_t fwgen_uart_read(void *data, size_t length, uint32_t ticks);

/* Bytes that were lost because the ring or the hardware was full. */
uint32_t fwgen_uart_overruns(void);

/* The receive interrupt's handler, named by the generated vector table. */
void fwgen_uart_rx_IRQHandler(void);

#endif
