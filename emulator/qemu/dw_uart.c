/*
 * dw_uart.c - see dw_uart.h: QEMU's own 16550 with the registers that
 * DesignWare adds.
 *
 * Facts: Linux drivers/tty/serial/8250/8250_dw.c and 8250_dwlib.c, Rockchip's
 * public manuals (UART_USR to UART_CTR).
 *
 * QEMU's 16550 answers at the first eight words; its FIFO has 16 bytes, those
 * of Rockchip's UARTs 64. Behind them USR, TFL and RFL tell what LSR tells:
 * reading them clears the error bits of LSR, which real ones do not. CPR reads
 * 0, as where the parameters are not built in. What remains (shadow registers,
 * FIFO access, SRR, HTX, DLF) is a guest error.
 */
#define _GNU_SOURCE
#include "dw_uart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "options.h"
#include "placement.h"
#include "qemu_api.h"
#include "record.h"
#include "serial_line.h"

#define WINDOW 0x100u
#define REGISTER_SHIFT 2
#define LSR (5u << REGISTER_SHIFT)
#define USR 0x7cu
#define TFL 0x80u
#define RFL 0x84u
#define CPR 0xf4u
#define UCV 0xf8u
#define CTR 0xfcu

#define LSR_DATA_READY 0x01u
#define LSR_THR_EMPTY 0x20u
#define LSR_IDLE 0x40u
#define USR_BUSY 0x01u
#define USR_TX_NOT_FULL 0x02u
#define USR_TX_EMPTY 0x04u
#define USR_RX_NOT_EMPTY 0x08u

#define DEFAULT_CLOCK 24000000u
#define CLOCKS_PER_BIT 16u

struct dw_uart {
    char *name;
    char *intc;
    char *chardev;
    char *events;
    char *trace;
    uint64_t base;
    uint64_t irq;
    uint64_t clock_hz;
    bool has_base;
    bool has_irq;
    struct record record;
    MemoryRegion *window;
    MemoryRegion *extra;
};

static uint32_t line_status(const struct dw_uart *uart)
{
    AddressSpace *memory = qemu.cpu_get_address_space(qemu.qemu_get_cpu(0), 0);
    uint8_t value = 0;

    qemu.address_space_rw(memory, uart->base + LSR, QEMU_ATTRS, &value, 1,
                          false);
    return value;
}

static uint32_t uart_status(const struct dw_uart *uart)
{
    uint32_t line = line_status(uart);
    uint32_t value = USR_TX_NOT_FULL;

    if ((line & LSR_IDLE) == 0) {
        value |= USR_BUSY;
    }
    if ((line & LSR_THR_EMPTY) != 0) {
        value |= USR_TX_EMPTY;
    }
    if ((line & LSR_DATA_READY) != 0) {
        value |= USR_RX_NOT_EMPTY;
    }
    return value;
}

static void complain(struct dw_uart *uart, const char *verb, uint64_t addr)
{
    char text[128];

    snprintf(text, sizeof(text),
             "%s at offset 0x%02" PRIx64
             ": this register of the UART is not modelled",
             verb, addr);
    record_guest_error(&uart->record,
                       qemu.qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), text);
}

static uint64_t extra_read(void *opaque, uint64_t addr, unsigned size)
{
    struct dw_uart *uart = opaque;

    (void)size;
    switch (addr) {
    case USR:
        return uart_status(uart);
    case TFL:
        return (line_status(uart) & LSR_THR_EMPTY) != 0 ? 0 : 1;
    case RFL:
        return line_status(uart) & LSR_DATA_READY;
    case CPR:
        return 0;
    case UCV:
        return 0x3430322au; /* "402*" */
    case CTR:
        return 0x44570110u;
    default:
        complain(uart, "read", addr);
        return 0;
    }
}

static void extra_write(void *opaque, uint64_t addr, uint64_t data,
                        unsigned size)
{
    (void)data;
    (void)size;
    complain(opaque, "write", addr);
}

static const MemoryRegionOps extra_ops = {
    .read = extra_read,
    .write = extra_write,
    .endianness = QEMU_DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

static void *uart_begin(const char *value, char *error, size_t size)
{
    struct dw_uart *uart = calloc(1, sizeof(*uart));

    if (uart != NULL) {
        uart->name = strdup(value);
        uart->intc = strdup("arm_gic");
        uart->window = calloc(1, QEMU_MEMORY_REGION_BYTES);
        uart->extra = calloc(1, QEMU_MEMORY_REGION_BYTES);
        uart->clock_hz = DEFAULT_CLOCK;
    }
    if (uart == NULL || uart->name == NULL || uart->intc == NULL ||
        uart->window == NULL || uart->extra == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    return uart;
}

static bool uart_option(void *overlay, const char *key, const char *value,
                        char *error, size_t size)
{
    struct dw_uart *uart = overlay;
    const struct option_place table[] = {
        {"base", &uart->base, NULL, &uart->has_base},
        {"irq", &uart->irq, NULL, &uart->has_irq},
        {"intc", NULL, &uart->intc, NULL},
        {"chardev", NULL, &uart->chardev, NULL},
        {"clock", &uart->clock_hz, NULL, NULL},
        {"events", NULL, &uart->events, NULL},
        {"trace", NULL, &uart->trace, NULL},
    };

    return option_store(table, sizeof(table) / sizeof(table[0]), "dw_uart", key,
                        value, error, size);
}

static bool uart_finish(void *overlay, char *error, size_t size)
{
    struct dw_uart *uart = overlay;

    if (!uart->has_base || !uart->has_irq) {
        snprintf(error, size, "%s: base= and irq= must be given", uart->name);
        return false;
    }
    if (uart->base % WINDOW != 0 || uart->base > UINT64_MAX - WINDOW ||
        uart->clock_hz < CLOCKS_PER_BIT || uart->clock_hz > INT32_MAX) {
        snprintf(error, size,
                 "%s: base=0x%" PRIx64 ",clock=%" PRIu64
                 " is impossible (base a multiple of 0x%x, clock in Hz)",
                 uart->name, uart->base, uart->clock_hz, WINDOW);
        return false;
    }
    uart->record.name = uart->name;
    if ((uart->events != NULL &&
         !record_open(&uart->record.events, uart->events)) ||
        (uart->trace != NULL &&
         !record_open(&uart->record.trace, uart->trace))) {
        snprintf(error, size, "%s: cannot write the records", uart->name);
        return false;
    }
    return true;
}

static bool uart_realize(void *overlay, char *error, size_t size)
{
    struct dw_uart *uart = overlay;
    Chardev *line = NULL;
    qemu_irq irq =
        interrupt_line(uart->name, uart->intc, uart->irq, error, size);

    if (irq == NULL) {
        return false;
    }
    if (uart->chardev != NULL) {
        line = serial_line_find(uart->name, uart->chardev, error, size);
        if (line == NULL) {
            return false;
        }
    }
    qemu.memory_region_init(uart->window, NULL, uart->name, WINDOW);
    qemu.memory_region_init_io(uart->extra, NULL, &extra_ops, uart, uart->name,
                               WINDOW);
    qemu.memory_region_add_subregion_overlap(uart->window, 0, uart->extra, -1);
    /* Ends the process with a message when the line is in use. */
    qemu.serial_mm_init(uart->window, 0, REGISTER_SHIFT, irq,
                        (int)(uart->clock_hz / CLOCKS_PER_BIT), line,
                        QEMU_DEVICE_LITTLE_ENDIAN);
    place(uart->window, uart->base, PRIORITY_DEVICE);
    return true;
}

static void uart_exit(void *overlay)
{
    struct dw_uart *uart = overlay;

    record_flush(&uart->record);
}

const struct overlay_kind dw_uart_kind = {
    .key = "dw_uart",
    .begin = uart_begin,
    .option = uart_option,
    .finish = uart_finish,
    .realize = uart_realize,
    .exit = uart_exit,
};
