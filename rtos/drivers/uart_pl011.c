/*
 * uart_pl011.c - Arm PrimeCell UART (PL011).
 *
 * Facts from its technical reference manual (DDI 0183): DR 0x00 (bit 11
 * overrun), FR 0x18 (bit 4 receive FIFO empty, 5 transmit FIFO full), IBRD
 * 0x24, FBRD 0x28 (the divisor in 64ths, clock / (16 * baud)), LCR_H 0x2c,
 * CR 0x30, IFLS 0x34, IMSC 0x38, ICR 0x44. The receive timeout interrupt comes
 * 32 bit times after the last byte below the FIFO's level.
 */
#include "fwgen_uart.h"

#include "fwgen_cpu.h"

#define UART_DR 0x00u
#define UART_FR 0x18u
#define UART_IBRD 0x24u
#define UART_FBRD 0x28u
#define UART_LCR_H 0x2cu
#define UART_CR 0x30u
#define UART_IFLS 0x34u
#define UART_IMSC 0x38u
#define UART_ICR 0x44u

#define DR_OVERRUN (1u << 11)
#define FR_RX_EMPTY (1u << 4)
#define FR_TX_FULL (1u << 5)
#define LCR_H_8N1_FIFO 0x70u
#define CR_UART (1u << 0)
#define CR_TX (1u << 8)
#define CR_RX (1u << 9)
#define IFLS_EIGHTHS 0u /* interrupt when a FIFO is an eighth full */
#define INT_RX (1u << 4)
#define INT_RX_TIMEOUT (1u << 6)
#define INT_OVERRUN (1u << 10)
#define INT_ALL 0x7ffu

#define PATIENCE 1000000u

static volatile uint32_t *reg(const struct fwgen_uart *uart, uint32_t offset)
{
    return fwgen_reg(uart->base, offset);
}

static void pl011_start(const struct fwgen_uart *uart)
{
    /* In 64ths: clock * 64 / (16 * baud), rounded. */
    const uint32_t divisor =
        (uint32_t)(((uint64_t)uart->clock_hz * 4u + uart->baud / 2u) /
                   uart->baud);

    fwgen_reg_write(reg(uart, UART_CR), 0);
    fwgen_reg_write(reg(uart, UART_IMSC), 0);
    fwgen_reg_write(reg(uart, UART_ICR), INT_ALL);
    fwgen_reg_write(reg(uart, UART_IBRD), divisor / 64u);
    fwgen_reg_write(reg(uart, UART_FBRD), divisor % 64u);
    fwgen_reg_write(reg(uart, UART_LCR_H), LCR_H_8N1_FIFO); /* after these */
    fwgen_reg_write(reg(uart, UART_IFLS), IFLS_EIGHTHS);
    fwgen_reg_write(reg(uart, UART_CR), CR_UART | CR_TX);
}

static void pl011_put(const struct fwgen_uart *uart, uint8_t byte)
{
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if ((fwgen_reg_read(reg(uart, UART_FR)) & FR_TX_FULL) == 0u) {
            break;
        }
    }
    fwgen_reg_write(reg(uart, UART_DR), byte);
}

static int pl011_get(const struct fwgen_uart *uart, bool *overrun)
{
    uint32_t data;

    if ((fwgen_reg_read(reg(uart, UART_FR)) & FR_RX_EMPTY) != 0u) {
        return -1;
    }
    data = fwgen_reg_read(reg(uart, UART_DR));
    if ((data & DR_OVERRUN) != 0u) {
        *overrun = true;
    }
    return (int)(data & 0xffu);
}

static void pl011_listen(const struct fwgen_uart *uart)
{
    fwgen_reg_write(reg(uart, UART_IMSC), INT_RX | INT_RX_TIMEOUT);
    fwgen_reg_write(reg(uart, UART_CR), CR_UART | CR_TX | CR_RX);
}

static void pl011_acknowledge(const struct fwgen_uart *uart)
{
    fwgen_reg_write(reg(uart, UART_ICR), INT_RX | INT_RX_TIMEOUT | INT_OVERRUN);
}

const struct fwgen_uart_driver fwgen_uart_pl011 = {
    .start = pl011_start,
    .put = pl011_put,
    .get = pl011_get,
    .listen = pl011_listen,
    .acknowledge = pl011_acknowledge,
};
