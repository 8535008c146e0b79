/*
 * uart_cmsdk.c - the APB UART of Arm's Cortex-M System Design Kit.
 *
 * Facts from its technical reference manual: DATA 0x00, STATE 0x04 (bit 0
 * transmitter full, bit 1 receiver full, bits 2 and 3 overruns, write one to
 * clear), CTRL 0x08 (bit 0 transmitter, 1 receiver, 3 receive interrupt),
 * INTSTATUS/INTCLEAR 0x0c (bit 1 receive), BAUDDIV 0x10 (clock / baud, at least
 * 16). One byte of buffer each way; always 8N1.
 */
#include "fwgen_uart.h"

#include "fwgen_cpu.h"

#define UART_DATA 0x00u
#define UART_STATE 0x04u
#define UART_CTRL 0x08u
#define UART_INTCLEAR 0x0cu
#define UART_BAUDDIV 0x10u

#define STATE_TX_FULL (1u << 0)
#define STATE_RX_FULL (1u << 1)
#define STATE_RX_OVERRUN (1u << 3)
#define CTRL_TX (1u << 0)
#define CTRL_RX (1u << 1)
#define CTRL_RX_INTERRUPT (1u << 3)
#define INT_RX (1u << 1)

#define BAUDDIV_MIN 16u

static void cmsdk_start(const struct fwgen_uart *uart)
{
    uint32_t divider = (uart->clock_hz + uart->baud / 2u) / uart->baud;

    if (divider < BAUDDIV_MIN) {
        divider = BAUDDIV_MIN;
    }
    fwgen_reg_write(fwgen_reg(uart->base, UART_CTRL), 0);
    fwgen_reg_write(fwgen_reg(uart->base, UART_BAUDDIV), divider);
    /* Not yet the receiver: a byte that comes without its interrupt enabled
     * would fill the buffer for ever. */
    fwgen_reg_write(fwgen_reg(uart->base, UART_CTRL), CTRL_TX);
}

static void cmsdk_put(const struct fwgen_uart *uart, uint8_t byte)
{
    while ((fwgen_reg_read(fwgen_reg(uart->base, UART_STATE)) &
            STATE_TX_FULL) != 0u) {
        /* the line takes a byte in ten bit times */
    }
    fwgen_reg_write(fwgen_reg(uart->base, UART_DATA), byte);
}

static int cmsdk_get(const struct fwgen_uart *uart, bool *overrun)
{
    const uint32_t state = fwgen_reg_read(fwgen_reg(uart->base, UART_STATE));

    if ((state & STATE_RX_OVERRUN) != 0u) {
        fwgen_reg_write(fwgen_reg(uart->base, UART_STATE), STATE_RX_OVERRUN);
        *overrun = true;
    }
    if ((state & STATE_RX_FULL) == 0u) {
        return -1;
    }
    return (int)(fwgen_reg_read(fwgen_reg(uart->base, UART_DATA)) & 0xffu);
}

static void cmsdk_listen(const struct fwgen_uart *uart)
{
    fwgen_reg_write(fwgen_reg(uart->base, UART_CTRL),
                    CTRL_TX | CTRL_RX | CTRL_RX_INTERRUPT);
}

static void cmsdk_acknowledge(const struct fwgen_uart *uart)
{
    fwgen_reg_write(fwgen_reg(uart->base, UART_INTCLEAR), INT_RX);
}

const struct fwgen_uart_driver fwgen_uart_cmsdk = {
    .start = cmsdk_start,
    .put = cmsdk_put,
    .get = cmsdk_get,
    .listen = cmsdk_listen,
    .acknowledge = cmsdk_acknowledge,
};
