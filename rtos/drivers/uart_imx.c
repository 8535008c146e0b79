/*
 * uart_imx.c - the UART of NXP's i.MX 6, 7 and 8M.
 *
 * Facts from the i.MX reference manuals: URXD 0x00 (bit 15 valid, 13 overrun),
 * UTXD 0x40, UCR1 0x80, UCR2 0x84, UCR3 0x88, UCR4 0x8c, UFCR 0x90, USR1 0x94
 * (13 room to send), USR2 0x98 (1 overrun), UBIR 0xa4, UBMR 0xa8. The bit rate
 * is reference * (UBIR + 1) / (16 * (UBMR + 1)); UBIR is written first. With
 * UBIR 15 that is reference / (UBMR + 1).
 */
#include "fwgen_uart.h"

#include "fwgen_cpu.h"

#define UART_URXD 0x00u
#define UART_UTXD 0x40u
#define UART_UCR1 0x80u
#define UART_UCR2 0x84u
#define UART_UCR3 0x88u
#define UART_UCR4 0x8cu
#define UART_UFCR 0x90u
#define UART_USR1 0x94u
#define UART_USR2 0x98u
#define UART_UBIR 0xa4u
#define UART_UBMR 0xa8u

#define URXD_VALID (1u << 15)
#define URXD_OVERRUN (1u << 13)
#define UCR1_ENABLE (1u << 0)
#define UCR1_RX_READY (1u << 9)
#define UCR2_NO_RESET (1u << 0)
#define UCR2_RX (1u << 1)
#define UCR2_TX (1u << 2)
#define UCR2_EIGHT_BITS (1u << 5)
#define UCR2_IGNORE_RTS (1u << 14)
#define UCR3_RXD_MUX (1u << 2) /* must be set on these parts */
#define UFCR_DIVIDE_BY_1 (5u << 7)
#define UFCR_RX_LEVEL 1u
#define UFCR_TX_LEVEL (2u << 10)
#define USR1_ROOM (1u << 13)
#define USR2_OVERRUN (1u << 1)
#define UBIR_15 15u

#define PATIENCE 1000000u

static volatile uint32_t *reg(const struct fwgen_uart *uart, uint32_t offset)
{
    return fwgen_reg(uart->base, offset);
}

static void imx_start(const struct fwgen_uart *uart)
{
    const uint32_t ratio = (uart->clock_hz + uart->baud / 2u) / uart->baud;

    fwgen_reg_write(reg(uart, UART_UCR1), 0);
    fwgen_reg_write(reg(uart, UART_UCR2), 0); /* reset */
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if ((fwgen_reg_read(reg(uart, UART_UCR2)) & UCR2_NO_RESET) != 0u) {
            break; /* it ends by itself */
        }
    }
    fwgen_reg_write(reg(uart, UART_UCR3), UCR3_RXD_MUX);
    fwgen_reg_write(reg(uart, UART_UCR4), 0);
    fwgen_reg_write(reg(uart, UART_UFCR),
                    UFCR_DIVIDE_BY_1 | UFCR_RX_LEVEL | UFCR_TX_LEVEL);
    fwgen_reg_write(reg(uart, UART_UBIR), UBIR_15);
    fwgen_reg_write(reg(uart, UART_UBMR), ratio == 0u ? 0u : ratio - 1u);
    fwgen_reg_write(reg(uart, UART_UCR1), UCR1_ENABLE);
    fwgen_reg_write(reg(uart, UART_UCR2), UCR2_NO_RESET | UCR2_TX |
                                              UCR2_EIGHT_BITS |
                                              UCR2_IGNORE_RTS);
}

static void imx_put(const struct fwgen_uart *uart, uint8_t byte)
{
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if ((fwgen_reg_read(reg(uart, UART_USR1)) & USR1_ROOM) != 0u) {
            break;
        }
    }
    fwgen_reg_write(reg(uart, UART_UTXD), byte);
}

static int imx_get(const struct fwgen_uart *uart, bool *overrun)
{
    const uint32_t data = fwgen_reg_read(reg(uart, UART_URXD));

    if ((data & URXD_VALID) == 0u) {
        return -1;
    }
    if ((data & URXD_OVERRUN) != 0u) {
        *overrun = true;
    }
    return (int)(data & 0xffu);
}

static void imx_listen(const struct fwgen_uart *uart)
{
    fwgen_reg_write(reg(uart, UART_UCR2), UCR2_NO_RESET | UCR2_TX | UCR2_RX |
                                              UCR2_EIGHT_BITS |
                                              UCR2_IGNORE_RTS);
    fwgen_reg_write(reg(uart, UART_UCR1), UCR1_ENABLE | UCR1_RX_READY);
}

static void imx_acknowledge(const struct fwgen_uart *uart)
{
    /* Reading the data ends the interrupt; an overrun is kept until cleared. */
    fwgen_reg_write(reg(uart, UART_USR2), USR2_OVERRUN);
}

const struct fwgen_uart_driver fwgen_uart_imx = {
    .start = imx_start,
    .put = imx_put,
    .get = imx_get,
    .listen = imx_listen,
    .acknowledge = imx_acknowledge,
};
