/*
 * uart.c - UARTs above their driver: a receive ring, polled sending.
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

/* Written by the interrupt only: head, bytes; by the reader: tail. Both
 * counters run freely; their difference is the number of bytes. */
struct ring {
    volatile uint32_t head;
    volatile uint32_t tail;
    volatile bool held; /* full: the interrupt is off until the reader came */
    volatile uint8_t bytes[FWGEN_UART_RX_BUFFER];
};

static struct ring rings[FWGEN_LINE_COUNT];
static volatile uint32_t overruns;
static TaskHandle_t volatile reader;

static void listen(const struct fwgen_uart *uart)
{
    /* In this order: enabling the interrupt clears what is pending, and a byte
     * may come with the very instruction that starts the receiver. */
    fwgen_irq_enable(uart->rx_irq, uart->irq_priority);
    uart->driver->listen(uart);
}

void fwgen_uart_open(void)
{
    reader = xTaskGetCurrentTaskHandle();
    listen(&fwgen_link_uart);
#if FWGEN_LINK_UART
    listen(&fwgen_console_uart);
#endif
}

void fwgen_uart_write(const struct fwgen_uart *uart, const void *data,
                      size_t length)
{
    const uint8_t *next = data;

    while (length-- != 0u) {
        uart->driver->put(uart, *next++);
    }
}

void fwgen_uart_wait(uint32_t ticks)
{
    (void)ulTaskNotifyTake(pdTRUE, (TickType_t)ticks);
}

static const struct fwgen_uart *uart_of(enum fwgen_uart_line line)
{
#if FWGEN_LINK_UART
    if (line == FWGEN_LINE_CONSOLE) {
        return &fwgen_console_uart;
    }
#else
    (void)line;
#endif
    return &fwgen_link_uart;
}

/*
 * Moves what the UART holds into the ring; true when the reader should look at
 * it. A full ring leaves the byte where it is and turns the interrupt off: a
 * UART that can hold its sender back (an emulated one) then loses nothing, and
 * one that cannot tells of its overrun. Called in the interrupt, or with it
 * masked.
 */
static bool collect(const struct fwgen_uart *uart, struct ring *ring)
{
    uint32_t room = FWGEN_UART_RX_BUFFER - (ring->head - ring->tail);
    bool wake = false;
    bool overrun = false;

    /* First, so that a byte that comes after the last look interrupts again. */
    uart->driver->acknowledge(uart);
    while (room != 0u) {
        const int byte = uart->driver->get(uart, &overrun);

        if (byte < 0) {
            break;
        }
        ring->bytes[ring->head & RING_MASK] = (uint8_t)byte;
        ring->head = ring->head + 1u;
        room--;
        wake = wake || byte == 0 || byte == '\n' || byte == '\r' ||
               room <= FWGEN_UART_RX_BUFFER / 2u;
    }
    if (room == 0u) {
        fwgen_irq_disable(uart->rx_irq);
        ring->held = true;
        wake = true;
    }
    if (overrun) {
        overruns = overruns + 1u;
    }
    return wake;
}

size_t fwgen_uart_read(enum fwgen_uart_line line, void *data, size_t length)
{
    const struct fwgen_uart *uart = uart_of(line);
    struct ring *ring = &rings[line];
    uint8_t *next = data;
    size_t count = 0;

    while (count < length && ring->head != ring->tail) {
        next[count++] = ring->bytes[ring->tail & RING_MASK];
        ring->tail = ring->tail + 1u;
    }
    if (ring->held && ring->head - ring->tail < FWGEN_UART_RX_BUFFER) {
        taskENTER_CRITICAL();
        ring->held = false;
        fwgen_irq_enable(uart->rx_irq, uart->irq_priority);
        (void)collect(uart, ring);
        taskEXIT_CRITICAL();
    }
    return count;
}

uint32_t fwgen_uart_overruns(void)
{
    return overruns;
}

static void receive(const struct fwgen_uart *uart, struct ring *ring)
{
    const bool wake = collect(uart, ring);
    BaseType_t woken = pdFALSE;

    if (wake && reader != NULL) {
        vTaskNotifyGiveFromISR(reader, &woken);
        portYIELD_FROM_ISR(woken);
    }
}

void fwgen_uart_rx_IRQHandler(void)
{
    receive(&fwgen_link_uart, &rings[FWGEN_LINE_LINK]);
}

#if FWGEN_LINK_UART
void fwgen_console_rx_IRQHandler(void)
{
    receive(&fwgen_console_uart, &rings[FWGEN_LINE_CONSOLE]);
}
#endif
