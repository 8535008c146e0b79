/*
 * uart_dw_apb.c - the DesignWare APB UART: a 16550 with registers of 32 bits.
 *
 * Facts from the 16550 data sheets and the Linux binding snps,dw-apb-uart
 * (reg-shift 2, reg-io-width 4): RBR/THR/DLL 0x00, IER/DLM 0x04, IIR/FCR
 * 0x08, LCR 0x0c, MCR 0x10, LSR 0x14, USR 0x7c. The divisor is clock / (16 *
 * baud). A write to LCR while the UART is busy raises an interrupt that only a
 * read of USR clears (IIR 7), so the line is drained before.
 */
#include "fwgen_uart.h"

#include "fwgen_cpu.h"

#define UART_RBR 0x00u
#define UART_THR 0x00u
#define UART_DLL 0x00u
#define UART_IER 0x04u
#define UART_DLM 0x04u
#define UART_IIR 0x08u
#define UART_FCR 0x08u
#define UART_LCR 0x0cu
#define UART_MCR 0x10u
#define UART_LSR 0x14u
#define UART_USR 0x7cu

#define IER_RECEIVED 1u
#define IIR_KIND 0xfu
#define IIR_BUSY 7u
/* FIFOs on and empty, receive interrupt at one byte; the interrupt for what
 * stays below a higher level would come late. */
#define FCR_START 7u
#define LCR_8N1 3u
#define LCR_DIVISOR (1u << 7)
#define MCR_OUT2 (1u << 3) /* lets the interrupt out, on PC-like parts */
#define LSR_DATA (1u << 0)
#define LSR_OVERRUN (1u << 1)
#define LSR_ROOM (1u << 5)
#define LSR_IDLE (1u << 6)

#define PATIENCE 1000000u /* reads; a byte takes far less */

static volatile uint32_t *reg(const struct fwgen_uart *uart, uint32_t offset)
{
    return fwgen_reg(uart->base, offset);
}

static void wait_for(const struct fwgen_uart *uart, uint32_t bits)
{
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if ((fwgen_reg_read(reg(uart, UART_LSR)) & bits) != 0u) {
            return;
        }
    }
}

static void dw_apb_start(const struct fwgen_uart *uart)
{
    const uint32_t rate = 16u * uart->baud;
    uint32_t divisor = (uart->clock_hz + rate / 2u) / rate;

    if (divisor == 0u) {
        divisor = 1;
    }
    fwgen_reg_write(reg(uart, UART_IER), 0);
    wait_for(uart, LSR_IDLE);
    fwgen_reg_write(reg(uart, UART_LCR), LCR_8N1 | LCR_DIVISOR);
    fwgen_reg_write(reg(uart, UART_DLL), divisor & 0xffu);
    fwgen_reg_write(reg(uart, UART_DLM), (divisor >> 8) & 0xffu);
    fwgen_reg_write(reg(uart, UART_LCR), LCR_8N1);
    fwgen_reg_write(reg(uart, UART_FCR), FCR_START);
    fwgen_reg_write(reg(uart, UART_MCR), MCR_OUT2);
}

static void dw_apb_put(const struct fwgen_uart *uart, uint8_t byte)
{
    wait_for(uart, LSR_ROOM);
    fwgen_reg_write(reg(uart, UART_THR), byte);
}

static int dw_apb_get(const struct fwgen_uart *uart, bool *overrun)
{
    const uint32_t status = fwgen_reg_read(reg(uart, UART_LSR));

    if ((status & LSR_OVERRUN) != 0u) {
        *overrun = true; /* the read has cleared it */
    }
    if ((status & LSR_DATA) == 0u) {
        return -1;
    }
    return (int)(fwgen_reg_read(reg(uart, UART_RBR)) & 0xffu);
}

static void dw_apb_listen(const struct fwgen_uart *uart)
{
    fwgen_reg_write(reg(uart, UART_IER), IER_RECEIVED);
}

static void dw_apb_acknowledge(const struct fwgen_uart *uart)
{
    if ((fwgen_reg_read(reg(uart, UART_IIR)) & IIR_KIND) == IIR_BUSY) {
        (void)fwgen_reg_read(reg(uart, UART_USR));
    }
}

const struct fwgen_uart_driver fwgen_uart_dw_apb = {
    .start = dw_apb_start,
    .put = dw_apb_put,
    .get = dw_apb_get,
    .listen = dw_apb_listen,
    .acknowledge = dw_apb_acknowledge,
};
