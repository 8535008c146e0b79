/*
 * uart_harness.c - UART drivers on the host: registers are an array that the
 * test sets and looks at, and all accesses are logged.
 */
#include "fwgen_cpu.h"
#include "fwgen_uart.h"

#define WORDS 64u
#define LOG_MAX 256u

uint32_t uart_registers[WORDS];
uint32_t uart_log[LOG_MAX][2]; /* offset, value */
uint32_t uart_log_count;
uint32_t uart_reads;

static struct fwgen_uart uart = {.base = (uintptr_t)uart_registers};

void fwgen_host_write(volatile uint32_t *reg, uint32_t value)
{
    if (uart_log_count < LOG_MAX) {
        uart_log[uart_log_count][0] = (uint32_t)((uintptr_t)reg - uart.base);
        uart_log[uart_log_count][1] = value;
        uart_log_count++;
    }
}

uint32_t fwgen_host_read(const volatile uint32_t *reg)
{
    uart_reads++;
    return *reg;
}

static const struct fwgen_uart_driver *const drivers[] = {
    &fwgen_uart_dw_apb, &fwgen_uart_pl011, &fwgen_uart_imx, &fwgen_uart_meson};

void uart_choose(uint32_t number, uint32_t clock_hz, uint32_t baud);
void uart_start(void);
void uart_put(uint8_t byte);
int uart_get(bool *overrun);
void uart_listen(void);
void uart_acknowledge(void);

void uart_choose(uint32_t number, uint32_t clock_hz, uint32_t baud)
{
    uart.driver = drivers[number];
    uart.clock_hz = clock_hz;
    uart.baud = baud;
    uart_log_count = 0;
    uart_reads = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        uart_registers[i] = 0;
    }
}

void uart_start(void)
{
    uart.driver->start(&uart);
}

void uart_put(uint8_t byte)
{
    uart.driver->put(&uart, byte);
}

int uart_get(bool *overrun)
{
    return uart.driver->get(&uart, overrun);
}

void uart_listen(void)
{
    uart.driver->listen(&uart);
}

void uart_acknowledge(void)
{
    uart.driver->acknowledge(&uart);
}
