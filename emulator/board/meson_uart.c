/*
 * meson_uart.c - the UART of Amlogic Meson SoCs (AO and EE domains).
 *
 * Facts: register layout and bits as in the Linux driver
 * drivers/tty/serial/meson_uart.c and in Amlogic's public data sheets (S905X3,
 * A311D: UART_WFIFO to UART_REG5).
 *
 * Bytes are sent in no time, so the transmit FIFO is always empty and the baud
 * rate (REG5) has no effect. The interrupt is edge-triggered on silicon: every
 * received byte that finds the FIFO at its level, and every byte sent, gives
 * an edge. Here the line also stays up while the condition holds, so that a
 * handler that drains the FIFO works with either trigger.
 *
 * Not modelled: parity and framing errors, inversion, hardware flow control
 * (two-wire mode is what firmware uses), the timing measurement of MISC.
 */
#include <stddef.h>
#include <stdio.h>

#include "byte_fifo.h"
#include "peripheral.h"

#define WFIFO 0x00u
#define RFIFO 0x04u
#define CONTROL 0x08u
#define STATUS 0x0cu
#define MISC 0x10u
#define REG5 0x14u
#define WINDOW 0x18u

#define CONTROL_TX_ENABLE (1u << 12)
#define CONTROL_RX_ENABLE (1u << 13)
#define CONTROL_TX_RESET (1u << 22)
#define CONTROL_RX_RESET (1u << 23)
#define CONTROL_CLEAR_ERROR (1u << 24)
#define CONTROL_RX_INTERRUPT (1u << 27)
#define CONTROL_TX_INTERRUPT (1u << 28)

#define STATUS_TX_FIFO_WRITE_ERROR (1u << 18)
#define STATUS_RX_OVERFLOW (1u << 24)
#define STATUS_RX_EMPTY (1u << 20)
#define STATUS_RX_FULL (1u << 19)
#define STATUS_TX_EMPTY (1u << 22)

#define DEFAULT_DEPTH 64u

struct meson_uart {
    uint64_t depth; /* option "fifo" */
    const struct peripheral_host *host;
    struct byte_fifo rx;
    uint32_t control;
    uint32_t misc;
    uint32_t reg5;
    uint32_t errors; /* bits of STATUS */
    bool line;
};

static const struct peripheral_option options[] = {
    {"fifo", offsetof(struct meson_uart, depth)},
    {NULL, 0},
};

static bool receive_condition(const struct meson_uart *uart)
{
    unsigned level = uart->misc & 0xffu;

    return (uart->control & CONTROL_RX_INTERRUPT) != 0 && uart->rx.count != 0 &&
           uart->rx.count >= level;
}

static bool transmit_condition(const struct meson_uart *uart)
{
    /* The FIFO holds 0 bytes, which is below any level but 0. */
    return (uart->control & CONTROL_TX_INTERRUPT) != 0 &&
           (uart->control & CONTROL_TX_ENABLE) != 0 &&
           ((uart->misc >> 8) & 0xffu) != 0;
}

static void set_line(struct meson_uart *uart, bool level)
{
    if (uart->line != level) {
        uart->line = level;
        uart->host->irq(uart->host->opaque, level);
    }
}

/* edge: something happened that silicon answers with a new pulse. */
static void update(struct meson_uart *uart, bool edge)
{
    bool level = receive_condition(uart) || transmit_condition(uart);

    if (level && edge) {
        set_line(uart, false);
    }
    set_line(uart, level);
}

static bool init(void *state, const struct peripheral_host *host, char *error,
                 size_t size)
{
    struct meson_uart *uart = state;

    uart->host = host;
    if (uart->depth == 0) {
        uart->depth = DEFAULT_DEPTH;
    }
    if (uart->depth > BYTE_FIFO_BYTES) {
        snprintf(error, size, "fifo=%llu is impossible, the largest has %u",
                 (unsigned long long)uart->depth, BYTE_FIFO_BYTES);
        return false;
    }
    return true;
}

static void reset(void *state, enum reset_cause cause)
{
    struct meson_uart *uart = state;

    (void)cause;
    byte_fifo_clear(&uart->rx);
    uart->control = 0;
    uart->misc = 0;
    uart->reg5 = 0;
    uart->errors = 0;
    set_line(uart, false);
}

static uint32_t take(struct meson_uart *uart)
{
    uint8_t byte = 0;

    if (byte_fifo_take(&uart->rx, &byte)) {
        uart->host->receive_ready(uart->host->opaque);
    }
    update(uart, false);
    return byte;
}

static uint32_t status(const struct meson_uart *uart)
{
    uint32_t value = uart->errors | STATUS_TX_EMPTY | uart->rx.count;

    if (uart->rx.count == 0) {
        value |= STATUS_RX_EMPTY;
    } else if (uart->rx.count >= uart->depth) {
        value |= STATUS_RX_FULL;
    }
    return value;
}

static uint32_t read_register(void *state, uint32_t offset)
{
    struct meson_uart *uart = state;

    switch (offset) {
    case RFIFO:
        return take(uart);
    case CONTROL:
        return uart->control;
    case STATUS:
        return status(uart);
    case MISC:
        return uart->misc;
    case REG5:
        return uart->reg5;
    default:
        peripheral_complain(uart->host, &meson_uart_kind, "read", offset,
                            "it is write-only");
        return 0;
    }
}

static void write_control(struct meson_uart *uart, uint32_t value)
{
    uint32_t old = uart->control;

    uart->control = value;
    if ((value & CONTROL_RX_RESET) != 0) {
        byte_fifo_clear(&uart->rx);
    }
    if ((value & CONTROL_CLEAR_ERROR) != 0) {
        uart->errors = 0;
    }
    if ((value & CONTROL_RX_ENABLE) != 0 && (value & CONTROL_RX_RESET) == 0) {
        uart->host->receive_ready(uart->host->opaque);
    }
    update(uart, (value & ~old & CONTROL_TX_INTERRUPT) != 0);
}

static void write_register(void *state, uint32_t offset, uint32_t value)
{
    struct meson_uart *uart = state;

    switch (offset) {
    case WFIFO:
        if ((uart->control & CONTROL_TX_ENABLE) == 0 ||
            (uart->control & CONTROL_TX_RESET) != 0) {
            peripheral_complain(uart->host, &meson_uart_kind, "write", offset,
                                "the transmitter is off, the byte is lost");
            uart->errors |= STATUS_TX_FIFO_WRITE_ERROR;
            break;
        }
        uart->host->transmit(uart->host->opaque, (uint8_t)value);
        update(uart, transmit_condition(uart));
        break;
    case CONTROL:
        write_control(uart, value);
        break;
    case MISC:
        uart->misc = value;
        update(uart, false);
        break;
    case REG5:
        uart->reg5 = value;
        break;
    default:
        peripheral_complain(uart->host, &meson_uart_kind, "write", offset,
                            "it is read-only");
        break;
    }
}

static unsigned receive_room(const void *state)
{
    const struct meson_uart *uart = state;

    if ((uart->control & CONTROL_RX_ENABLE) == 0 ||
        (uart->control & CONTROL_RX_RESET) != 0) {
        return 0;
    }
    return (unsigned)uart->depth - uart->rx.count;
}

static void receive(void *state, uint8_t byte)
{
    struct meson_uart *uart = state;

    if (!byte_fifo_put(&uart->rx, (unsigned)uart->depth, byte)) {
        uart->errors |= STATUS_RX_OVERFLOW;
    }
    update(uart, receive_condition(uart));
}

static const char *register_name(uint32_t offset)
{
    static const char *const names[] = {"UART_WFIFO",   "UART_RFIFO",
                                        "UART_CONTROL", "UART_STATUS",
                                        "UART_MISC",    "UART_REG5"};

    return offset < WINDOW ? names[offset / 4] : NULL;
}

const struct peripheral_kind meson_uart_kind = {
    .name = "meson_uart",
    .window = WINDOW,
    .state_size = sizeof(struct meson_uart),
    .options = options,
    .has_serial = true,
    .needs_irq = true,
    .init = init,
    .reset = reset,
    .read = read_register,
    .write = write_register,
    .receive_room = receive_room,
    .receive = receive,
    .register_name = register_name,
};
