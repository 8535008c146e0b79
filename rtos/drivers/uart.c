/*
 * uart.c - the console UART above its driver: a receive ring, polled sending.
 *
 * The receive interrupt fills the ring; one task reads it. Waking that task for
 * each byte would cost more than the byte, so it is woken at the end of a
 * line or frame (0, CR, LF) and when the ring is half full.
 */
#include "fwgen_uart.h"

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_config_defaults.h"
#include "fwgen_cpu.h"

#define RING_MASK (FWGEN_UART_RX_BUFFER - 1u)

#if (FWGEN_UART_RX_BUFFER & (FWGEN_UART_RX_BUFFER - 1)) != 0
#error "FWGEN_UART_RX_BUFFER must be a power of two"
#endif

/* Written by the interrupt only: head, bytes, overruns; by the reader: tail.
 * Both counters run freely; their difference is the number of bytes. */
static volatile uint32_t head;
static volatile uint32_t tail;
static volatile uint32_t overruns;
static volatile uint8_t bytes[FWGEN_UART_RX_BUFFER];
static TaskHandle_t volatile reader;

void fwgen_uart_open(void)
{
    fwgen_console_uart.driver->listen(&fwgen_console_uart);
    fwgen_irq_enable(fwgen_console_uart.rx_irq,
                     fwgen_console_uart.irq_priority);
}

void fwgen_uart_write(const void *data, size_t length)
{
    const uint8_t *next = data;

    while (length-- != 0u) {
        fwgen_console_uart.driver->put(&fwgen_console_uart, *next++);
    }
}

size_t fwgen_uart_read(void *data, size_t length, uint32_t ticks)
{
    uint8_t *next = data;
    size_t count = 0;

    reader = xTaskGetCurrentTaskHandle();
    if (head == tail) {
        (void)ulTaskNotifyTake(pdTRUE, (TickType_t)ticks);
    }
    while (count < length && head != tail) {
        next[count++] = bytes[tail & RING_MASK];
        tail = tail + 1u;
    }
    return count;
}

uint32_t fwgen_uart_overruns(void)
{
    return overruns;
}

void fwgen_uart_rx_IRQHandler(void)
{
    const struct fwgen_uart *uart = &fwgen_console_uart;
    BaseType_t woken = pdFALSE;
    bool wake = false;
    bool overrun = false;
    int byte;

    uart->driver->acknowledge(uart);
    /* Bounded: a line cannot deliver faster than this loop for long. */
    while ((byte = uart->driver->get(uart, &overrun)) >= 0) {
        if (head - tail == FWGEN_UART_RX_BUFFER) {
            overruns++;
            wake = true;
            continue;
        }
        bytes[head & RING_MASK] = (uint8_t)byte;
        head = head + 1u;
        wake = wake || byte == 0 || byte == '\n' || byte == '\r' ||
               head - tail >= FWGEN_UART_RX_BUFFER / 2u;
    }
    if (overrun) {
        overruns++;
    }
    if (wake && reader != NULL) {
        vTaskNotifyGiveFromISR(reader, &woken);
        portYIELD_FROM_ISR(woken);
    }
}
