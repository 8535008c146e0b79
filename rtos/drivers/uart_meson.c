/*
 * uart_meson.c - the UART of Amlogic's Meson family (AO and EE domains).
 *
 * Facts from the S905D3 and A311D data sheets and the Linux binding
 * amlogic,meson-gx-uart: WFIFO 0x00, RFIFO 0x04, CONTROL 0x08, STATUS 0x0c (bit
 * 20 receive FIFO empty, 21 transmit FIFO full, 24 overflow), MISC 0x10 (levels
 * of the interrupts), REG5 0x14 (bit 23 use this rate, 24 count the crystal).
 * The rate counter takes a third of the 24 MHz crystal, or a quarter of another
 * clock.
 */
#include "fwgen_uart.h"

#include "fwgen_cpu.h"

#define UART_WFIFO 0x00u
#define UART_RFIFO 0x04u
#define UART_CONTROL 0x08u
#define UART_STATUS 0x0cu
#define UART_MISC 0x10u
#define UART_REG5 0x14u

#define CONTROL_TX (1u << 12)
#define CONTROL_RX (1u << 13)
#define CONTROL_TWO_WIRE (1u << 15)
#define CONTROL_TX_RESET (1u << 22)
#define CONTROL_RX_RESET (1u << 23)
#define CONTROL_CLEAR_ERRORS (1u << 24)
#define CONTROL_RX_INTERRUPT (1u << 27)
#define CONTROL_8N1_TX (CONTROL_TWO_WIRE | CONTROL_TX)
#define STATUS_RX_EMPTY (1u << 20)
#define STATUS_TX_FULL (1u << 21)
#define STATUS_OVERFLOW (1u << 24)
#define MISC_LEVELS ((32u << 8) | 1u) /* receive: at one byte */
#define REG5_USE (1u << 23)
#define REG5_CRYSTAL (1u << 24)

#define CRYSTAL_HZ 24000000u
#define PATIENCE 1000000u

static volatile uint32_t *reg(const struct fwgen_uart *uart, uint32_t offset)
{
    return fwgen_reg(uart->base, offset);
}

static void meson_start(const struct fwgen_uart *uart)
{
    const uint32_t is_crystal = uart->clock_hz == CRYSTAL_HZ ? 1u : 0u;
    const uint32_t clock = uart->clock_hz / (is_crystal != 0u ? 3u : 4u);
    const uint32_t ratio = (clock + uart->baud / 2u) / uart->baud;
    const uint32_t resets =
        CONTROL_TX_RESET | CONTROL_RX_RESET | CONTROL_CLEAR_ERRORS;

    fwgen_reg_write(reg(uart, UART_CONTROL), CONTROL_8N1_TX | resets);
    fwgen_reg_write(reg(uart, UART_CONTROL), CONTROL_8N1_TX);
    fwgen_reg_write(reg(uart, UART_MISC), MISC_LEVELS);
    fwgen_reg_write(reg(uart, UART_REG5),
                    REG5_USE | (is_crystal != 0u ? REG5_CRYSTAL : 0u) |
                        (ratio == 0u ? 0u : ratio - 1u));
}

static void meson_put(const struct fwgen_uart *uart, uint8_t byte)
{
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if ((fwgen_reg_read(reg(uart, UART_STATUS)) & STATUS_TX_FULL) == 0u) {
            break;
        }
    }
    fwgen_reg_write(reg(uart, UART_WFIFO), byte);
}

static uint32_t listening(void)
{
    return CONTROL_8N1_TX | CONTROL_RX | CONTROL_RX_INTERRUPT;
}

static int meson_get(const struct fwgen_uart *uart, bool *overrun)
{
    const uint32_t status = fwgen_reg_read(reg(uart, UART_STATUS));

    if ((status & STATUS_OVERFLOW) != 0u) {
        fwgen_reg_write(reg(uart, UART_CONTROL),
                        listening() | CONTROL_CLEAR_ERRORS);
        fwgen_reg_write(reg(uart, UART_CONTROL), listening());
        *overrun = true;
    }
    if ((status & STATUS_RX_EMPTY) != 0u) {
        return -1;
    }
    return (int)(fwgen_reg_read(reg(uart, UART_RFIFO)) & 0xffu);
}

static void meson_listen(const struct fwgen_uart *uart)
{
    fwgen_reg_write(reg(uart, UART_CONTROL), listening());
}

static void meson_acknowledge(const struct fwgen_uart *uart)
{
    (void)uart; /* the interrupt ends when the FIFO is read */
}

const struct fwgen_uart_driver fwgen_uart_meson = {
    .start = meson_start,
    .put = meson_put,
    .get = meson_get,
    .listen = meson_listen,
    .acknowledge = meson_acknowledge,
};
