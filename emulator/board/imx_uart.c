/*
 * imx_uart.c - the UART of NXP i.MX SoCs.
 *
 * Facts: register layout, bits and reset values as in the UART chapter of the
 * i.MX reference manuals (i.MX 8M Plus, i.MX 6UL) and in the Linux driver
 * drivers/tty/serial/imx.c.
 *
 * Bytes are sent in no time: the transmit FIFO is always empty, the divider
 * registers have no effect. The ageing timer, which tells of bytes that wait
 * below the receive level, expires at once.
 *
 * Not modelled, and without effect: DMA requests, escape sequences, IrDA,
 * RS-485, automatic baud rate, modem lines, parity and framing errors.
 */
#include <stddef.h>

#include "byte_fifo.h"
#include "peripheral.h"

#define URXD 0x00u
#define UTXD 0x40u
#define UCR1 0x80u
#define UCR2 0x84u
#define UCR3 0x88u
#define UCR4 0x8cu
#define UFCR 0x90u
#define USR1 0x94u
#define USR2 0x98u
#define UESC 0x9cu
#define UTIM 0xa0u
#define UBIR 0xa4u
#define UBMR 0xa8u
#define UBRC 0xacu
#define ONEMS 0xb0u
#define UTS 0xb4u
#define UMCR 0xb8u
#define WINDOW 0xbcu

#define URXD_CHARRDY (1u << 15)
#define URXD_ERR (1u << 14)
#define URXD_OVRRUN (1u << 13)

#define UCR1_UARTEN (1u << 0)
#define UCR1_TXMPTYEN (1u << 6)
#define UCR1_RRDYEN (1u << 9)
#define UCR1_TRDYEN (1u << 13)
#define UCR2_SRST (1u << 0)
#define UCR2_RXEN (1u << 1)
#define UCR2_TXEN (1u << 2)
#define UCR2_ATEN (1u << 3)
#define UCR4_DREN (1u << 0)
#define UCR4_OREN (1u << 1)
#define UCR4_TCEN (1u << 3)

#define USR1_AGTIM (1u << 8)
#define USR1_RRDY (1u << 9)
#define USR1_TRDY (1u << 13)
#define USR1_RESET 0x2040u /* TRDY, RXDS */
#define USR2_RDR (1u << 0)
#define USR2_ORE (1u << 1)
#define USR2_RESET 0x4028u /* TXFE, TXDC, DCDIN */
#define UTS_RXFULL (1u << 3)
#define UTS_RXEMPTY (1u << 5)
#define UTS_TXEMPTY (1u << 6)
#define UTS_LOOP (1u << 12)

#define DEPTH 32u

/* Plain registers: they keep what is written. */
enum {
    R_UCR1,
    R_UCR2,
    R_UCR3,
    R_UCR4,
    R_UFCR,
    R_UESC,
    R_UTIM,
    R_UBIR,
    R_UBMR,
    R_ONEMS,
    R_UTS,
    R_UMCR,
    R_COUNT,
    R_NONE = R_COUNT
};

struct imx_uart {
    const struct peripheral_host *host;
    struct byte_fifo rx;
    uint32_t registers[R_COUNT];
    bool overrun; /* USR2.ORE */
    bool aged;    /* USR1.AGTIM */
    bool line;
};

static unsigned plain_index(uint32_t offset)
{
    switch (offset) {
    case UCR1:
        return R_UCR1;
    case UCR2:
        return R_UCR2;
    case UCR3:
        return R_UCR3;
    case UCR4:
        return R_UCR4;
    case UFCR:
        return R_UFCR;
    case UESC:
        return R_UESC;
    case UTIM:
        return R_UTIM;
    case UBIR:
        return R_UBIR;
    case UBMR:
        return R_UBMR;
    case ONEMS:
        return R_ONEMS;
    case UTS:
        return R_UTS;
    case UMCR:
        return R_UMCR;
    default:
        return R_NONE;
    }
}

static bool receiver_on(const struct imx_uart *uart)
{
    return (uart->registers[R_UCR1] & UCR1_UARTEN) != 0 &&
           (uart->registers[R_UCR2] & UCR2_RXEN) != 0;
}

static uint32_t status1(const struct imx_uart *uart)
{
    uint32_t level = uart->registers[R_UFCR] & 0x3fu;
    uint32_t value = USR1_RESET;

    if (uart->rx.count != 0 && uart->rx.count >= level) {
        value |= USR1_RRDY;
    }
    if (uart->aged) {
        value |= USR1_AGTIM;
    }
    return value;
}

static uint32_t status2(const struct imx_uart *uart)
{
    uint32_t value = USR2_RESET;

    if (uart->rx.count != 0) {
        value |= USR2_RDR;
    }
    if (uart->overrun) {
        value |= USR2_ORE;
    }
    return value;
}

static void update(struct imx_uart *uart)
{
    uint32_t control1 = uart->registers[R_UCR1];
    uint32_t control2 = uart->registers[R_UCR2];
    uint32_t control4 = uart->registers[R_UCR4];
    uint32_t first = status1(uart);
    bool level;

    /* The transmit FIFO is always empty and its last byte always sent. */
    level = (control1 & (UCR1_TRDYEN | UCR1_TXMPTYEN)) != 0 ||
            (control4 & UCR4_TCEN) != 0;
    level =
        level || ((control1 & UCR1_RRDYEN) != 0 && (first & USR1_RRDY) != 0);
    level = level || ((control2 & UCR2_ATEN) != 0 && uart->aged);
    level = level || ((control4 & UCR4_DREN) != 0 && uart->rx.count != 0);
    level = level || ((control4 & UCR4_OREN) != 0 && uart->overrun);
    level = level && (control1 & UCR1_UARTEN) != 0;
    if (level != uart->line) {
        uart->line = level;
        uart->host->irq(uart->host->opaque, level);
    }
}

static bool init(void *state, const struct peripheral_host *host, char *error,
                 size_t size)
{
    struct imx_uart *uart = state;

    (void)error;
    (void)size;
    uart->host = host;
    return true;
}

static void reset(void *state, enum reset_cause cause)
{
    struct imx_uart *uart = state;

    (void)cause;
    byte_fifo_clear(&uart->rx);
    for (unsigned i = 0; i < R_COUNT; i++) {
        uart->registers[i] = 0;
    }
    uart->registers[R_UCR2] = UCR2_SRST;
    uart->registers[R_UCR3] = 0x700u;
    uart->registers[R_UCR4] = 0x8000u;
    uart->registers[R_UFCR] = 0x801u;
    uart->registers[R_UESC] = 0x2bu;
    uart->overrun = false;
    uart->aged = false;
    update(uart);
}

static uint32_t take(struct imx_uart *uart)
{
    uint8_t byte = 0;
    uint32_t value;

    if (!byte_fifo_take(&uart->rx, &byte)) {
        return 0;
    }
    value = URXD_CHARRDY | byte;
    if (uart->overrun && uart->rx.count == 0) {
        /* The character that found the FIFO full came after this one. */
        value |= URXD_ERR | URXD_OVRRUN;
    }
    if (uart->rx.count == 0) {
        uart->aged = false;
    }
    uart->host->receive_ready(uart->host->opaque);
    update(uart);
    return value;
}

static uint32_t test_register(const struct imx_uart *uart)
{
    uint32_t value = uart->registers[R_UTS] & UTS_LOOP;

    value |= UTS_TXEMPTY;
    if (uart->rx.count == 0) {
        value |= UTS_RXEMPTY;
    } else if (uart->rx.count >= DEPTH) {
        value |= UTS_RXFULL;
    }
    return value;
}

static uint32_t read_register(void *state, uint32_t offset)
{
    struct imx_uart *uart = state;
    unsigned index = plain_index(offset);

    switch (offset) {
    case URXD:
        return take(uart);
    case USR1:
        return status1(uart);
    case USR2:
        return status2(uart);
    case UTS:
        return test_register(uart);
    case UBRC:
        return 4;
    default:
        break;
    }
    if (index != R_NONE) {
        return uart->registers[index];
    }
    peripheral_complain(uart->host, &imx_uart_kind, "read", offset,
                        offset == UTXD ? "it is write-only"
                                       : "it does not exist");
    return 0;
}

static void send(struct imx_uart *uart, uint8_t byte)
{
    if ((uart->registers[R_UCR1] & UCR1_UARTEN) == 0 ||
        (uart->registers[R_UCR2] & UCR2_TXEN) == 0) {
        peripheral_complain(uart->host, &imx_uart_kind, "write", UTXD,
                            "the transmitter is off, the byte is lost");
    } else if ((uart->registers[R_UTS] & UTS_LOOP) != 0) {
        imx_uart_kind.receive(uart, byte);
    } else {
        uart->host->transmit(uart->host->opaque, byte);
    }
}

static void write_register(void *state, uint32_t offset, uint32_t value)
{
    struct imx_uart *uart = state;
    unsigned index = plain_index(offset);

    switch (offset) {
    case UTXD:
        send(uart, (uint8_t)value);
        break;
    case UCR2:
        if ((value & UCR2_SRST) == 0) {
            /* Software reset: FIFOs, status and transfers, not the setup; the
             * bit reads 1 again when it is over, which is at once. */
            byte_fifo_clear(&uart->rx);
            uart->overrun = false;
            uart->aged = false;
        }
        uart->registers[R_UCR2] = value | UCR2_SRST;
        break;
    case USR1:
        if ((value & USR1_AGTIM) != 0) {
            uart->aged = false;
        }
        break;
    case USR2:
        if ((value & USR2_ORE) != 0) {
            uart->overrun = false;
        }
        break;
    default:
        if (index == R_NONE) {
            peripheral_complain(uart->host, &imx_uart_kind, "write", offset,
                                offset == URXD || offset == UBRC
                                    ? "it is read-only"
                                    : "it does not exist");
            return;
        }
        uart->registers[index] = value;
        break;
    }
    update(uart);
    if (receiver_on(uart)) {
        uart->host->receive_ready(uart->host->opaque);
    }
}

static unsigned receive_room(const void *state)
{
    const struct imx_uart *uart = state;

    return receiver_on(uart) ? DEPTH - uart->rx.count : 0;
}

static void receive(void *state, uint8_t byte)
{
    struct imx_uart *uart = state;

    if (!byte_fifo_put(&uart->rx, DEPTH, byte)) {
        uart->overrun = true;
    }
    uart->aged = (uart->registers[R_UCR2] & UCR2_ATEN) != 0;
    update(uart);
}

static const char *register_name(uint32_t offset)
{
    static const char *const names[] = {
        "UART_UCR1", "UART_UCR2", "UART_UCR3",  "UART_UCR4", "UART_UFCR",
        "UART_USR1", "UART_USR2", "UART_UESC",  "UART_UTIM", "UART_UBIR",
        "UART_UBMR", "UART_UBRC", "UART_ONEMS", "UART_UTS",  "UART_UMCR"};

    if (offset == URXD) {
        return "UART_URXD";
    }
    if (offset == UTXD) {
        return "UART_UTXD";
    }
    return offset >= UCR1 && offset < WINDOW ? names[(offset - UCR1) / 4]
                                             : NULL;
}

const struct peripheral_kind imx_uart_kind = {
    .name = "imx_uart",
    .window = WINDOW,
    .state_size = sizeof(struct imx_uart),
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
