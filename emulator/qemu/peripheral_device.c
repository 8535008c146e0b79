/*
 * peripheral_device.c - puts a peripheral model (board/peripheral.h) on the
 * bus: registers, interrupt line, serial line, time and reset.
 */
#define _GNU_SOURCE
#include "peripheral_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "options.h"
#include "peripheral.h"
#include "placement.h"
#include "qemu_api.h"
#include "record.h"
#include "serial_line.h"
#include "soc_reset.h"

#define COMMON_OPTIONS 8u
#define MAX_OWN_OPTIONS 8u

struct peripheral_device {
    const struct peripheral_kind *kind;
    void *state;
    char *name;
    char *intc;
    char *chardev;
    char *events;
    char *trace;
    uint64_t base;
    uint64_t size;
    uint64_t irq_number;
    bool has_base;
    bool has_irq;
    bool realized;
    struct peripheral_host host;
    struct record record;
    MemoryRegion *region;
    QEMUTimer *timer;
    CharBackend *serial; /* NULL: nothing is connected */
    qemu_irq irq;        /* NULL: not connected */
    struct peripheral_device *next;
};

static struct peripheral_device *all;

bool peripheral_state(uint64_t address, uint32_t *value)
{
    for (struct peripheral_device *device = all; device != NULL;
         device = device->next) {
        if (device->kind->tells_state && address >= device->base &&
            address - device->base < device->size && address % 4 == 0) {
            *value = device->kind->read(device->state,
                                        (uint32_t)(address - device->base));
            return true;
        }
    }
    return false;
}

static int64_t now_ns(void)
{
    return qemu.qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* ---- callbacks of the model ---- */

static void host_irq(void *opaque, bool level)
{
    struct peripheral_device *device = opaque;

    if (device->realized && device->irq != NULL) {
        qemu.qemu_set_irq(device->irq, level);
    }
}

static void host_transmit(void *opaque, uint8_t byte)
{
    struct peripheral_device *device = opaque;

    if (device->serial != NULL) {
        qemu.qemu_chr_fe_write_all(device->serial, &byte, 1);
    }
}

static void host_receive_ready(void *opaque)
{
    struct peripheral_device *device = opaque;

    if (device->serial != NULL && device->realized) {
        qemu.qemu_chr_fe_accept_input(device->serial);
    }
}

static uint64_t host_now(void *opaque)
{
    (void)opaque;
    return (uint64_t)now_ns();
}

static void host_set_alarm(void *opaque, uint64_t time_ns)
{
    struct peripheral_device *device = opaque;

    if (device->timer == NULL) {
        return;
    }
    if (time_ns > INT64_MAX) {
        qemu.timer_del(device->timer);
    } else {
        qemu.timer_mod_ns(device->timer, (int64_t)time_ns);
    }
}

static void host_reset_machine(void *opaque, enum reset_cause cause)
{
    (void)opaque;
    soc_reset_request(cause);
}

static void host_guest_error(void *opaque, const char *message)
{
    struct peripheral_device *device = opaque;

    record_guest_error(&device->record, device->realized ? now_ns() : 0,
                       message);
}

/* ---- callbacks of QEMU ---- */

static bool access_is_valid(struct peripheral_device *device, const char *verb,
                            uint64_t addr, unsigned size)
{
    char text[160];

    /* Word-wide registers, and buses that give narrower reads and writes the
     * low byte of a word, as UART drivers use. */
    if (addr % 4 == 0 && size <= 4) {
        return true;
    }
    snprintf(text, sizeof(text),
             "%s of %u bytes at offset 0x%" PRIx64
             ": registers are words at multiples of 4",
             verb, size, addr);
    host_guest_error(device, text);
    return false;
}

static uint64_t mmio_read(void *opaque, uint64_t addr, unsigned size)
{
    struct peripheral_device *device = opaque;
    uint32_t value;

    if (!access_is_valid(device, "read", addr, size)) {
        return 0;
    }
    value = device->kind->read(device->state, (uint32_t)addr);
    record_access(&device->record, now_ns(), false, addr, value,
                  device->kind->register_name == NULL
                      ? NULL
                      : device->kind->register_name((uint32_t)addr));
    return value;
}

static void mmio_write(void *opaque, uint64_t addr, uint64_t data,
                       unsigned size)
{
    struct peripheral_device *device = opaque;

    if (!access_is_valid(device, "write", addr, size)) {
        return;
    }
    record_access(&device->record, now_ns(), true, addr, data,
                  device->kind->register_name == NULL
                      ? NULL
                      : device->kind->register_name((uint32_t)addr));
    device->kind->write(device->state, (uint32_t)addr, (uint32_t)data);
}

static const MemoryRegionOps mmio_ops = {
    .read = mmio_read,
    .write = mmio_write,
    .endianness = QEMU_DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

static int serial_room(void *opaque)
{
    struct peripheral_device *device = opaque;

    return (int)device->kind->receive_room(device->state);
}

static void serial_bytes(void *opaque, const uint8_t *bytes, int count)
{
    struct peripheral_device *device = opaque;

    for (int i = 0; i < count; i++) {
        device->kind->receive(device->state, bytes[i]);
    }
}

static void timer_expired(void *opaque)
{
    struct peripheral_device *device = opaque;

    device->kind->alarm(device->state);
}

static void reset(void *opaque)
{
    struct peripheral_device *device = opaque;

    device->kind->reset(device->state, soc_reset_cause());
    if (device->irq != NULL) {
        qemu.qemu_set_irq(device->irq, 0);
    }
}

/* ---- options ---- */

static void *peripheral_begin(const char *value, char *error, size_t size)
{
    const struct peripheral_kind *kind = peripheral_find(value);
    struct peripheral_device *device;

    if (kind == NULL) {
        const struct peripheral_kind *const *known = peripheral_kinds();
        int used = snprintf(error, size,
                            "there is no peripheral \"%s\"; known:", value);

        for (; *known != NULL && used > 0 && (size_t)used < size; known++) {
            used += snprintf(error + used, size - (size_t)used, " %s",
                             (*known)->name);
        }
        return NULL;
    }
    device = calloc(1, sizeof(*device));
    if (device != NULL) {
        device->state = calloc(1, kind->state_size);
    }
    if (device == NULL || device->state == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    device->kind = kind;
    device->size = kind->window;
    device->next = all;
    all = device;
    return device;
}

static bool peripheral_option(void *overlay, const char *key, const char *value,
                              char *error, size_t size)
{
    struct peripheral_device *device = overlay;
    struct option_place table[COMMON_OPTIONS + MAX_OWN_OPTIONS] = {
        {"base", &device->base, NULL, &device->has_base},
        {"size", &device->size, NULL, NULL},
        {"irq", &device->irq_number, NULL, &device->has_irq},
        {"intc", NULL, &device->intc, NULL},
        {"name", NULL, &device->name, NULL},
        {"chardev", NULL, &device->chardev, NULL},
        {"events", NULL, &device->events, NULL},
        {"trace", NULL, &device->trace, NULL},
    };
    const struct peripheral_option *own = device->kind->options;
    size_t count = COMMON_OPTIONS;

    for (; own != NULL && own->key != NULL &&
           count < COMMON_OPTIONS + MAX_OWN_OPTIONS;
         own++) {
        table[count].key = own->key;
        table[count].number =
            (uint64_t *)(void *)((char *)device->state + own->offset);
        count++;
    }
    return option_store(table, count, "peripheral", key, value, error, size);
}

static bool open_records(struct peripheral_device *device, char *error,
                         size_t size)
{
    device->record.name = device->name;
    if ((device->events != NULL &&
         !record_open(&device->record.events, device->events)) ||
        (device->trace != NULL &&
         !record_open(&device->record.trace, device->trace))) {
        snprintf(error, size, "%s: cannot write the records", device->name);
        return false;
    }
    return true;
}

static bool peripheral_finish(void *overlay, char *error, size_t size)
{
    struct peripheral_device *device = overlay;
    char reason[256] = "";

    device->host = (struct peripheral_host){
        .opaque = device,
        .irq = host_irq,
        .transmit = host_transmit,
        .receive_ready = host_receive_ready,
        .now = host_now,
        .set_alarm = host_set_alarm,
        .reset_machine = host_reset_machine,
        .guest_error = host_guest_error,
    };
    if (device->name == NULL) {
        device->name = strdup(device->kind->name);
    }
    if (device->intc == NULL) {
        device->intc = strdup("armv7m");
    }
    if (device->name == NULL || device->intc == NULL) {
        snprintf(error, size, "out of memory");
        return false;
    }
    if (!device->has_base || (device->kind->needs_irq && !device->has_irq)) {
        snprintf(error, size, "%s: base= %smust be given", device->name,
                 device->kind->needs_irq ? "and irq= " : "");
        return false;
    }
    if (device->base % 4 != 0 || device->size == 0 || device->size % 4 != 0 ||
        device->size > device->kind->window ||
        device->base > UINT64_MAX - device->size) {
        snprintf(error, size,
                 "%s: base=0x%" PRIx64 ",size=0x%" PRIx64
                 " is impossible (multiples of 4, at most 0x%" PRIx32 " bytes)",
                 device->name, device->base, device->size,
                 device->kind->window);
        return false;
    }
    if (device->chardev != NULL && !device->kind->has_serial) {
        snprintf(error, size, "%s: a %s has no serial line", device->name,
                 device->kind->name);
        return false;
    }
    if (!device->kind->init(device->state, &device->host, reason,
                            sizeof(reason))) {
        snprintf(error, size, "%s: %s", device->name, reason);
        return false;
    }
    return open_records(device, error, size);
}

/* ---- the machine ---- */

static bool connect_serial(struct peripheral_device *device, char *error,
                           size_t size)
{
    Chardev *line;
    Error *failure = NULL;

    if (device->chardev == NULL) {
        return true;
    }
    line = serial_line_find(device->name, device->chardev, error, size);
    if (line == NULL) {
        return false;
    }
    device->serial = calloc(1, QEMU_CHAR_BACKEND_BYTES);
    if (device->serial == NULL) {
        snprintf(error, size, "out of memory");
        return false;
    }
    if (!qemu.qemu_chr_fe_init(device->serial, line, &failure)) {
        snprintf(error, size, "%s: chardev=%s: %s", device->name,
                 device->chardev,
                 failure != NULL ? qemu.error_get_pretty(failure) : "refused");
        return false;
    }
    qemu.qemu_chr_fe_set_handlers(device->serial, serial_room, serial_bytes,
                                  NULL, NULL, device, NULL, true);
    return true;
}

static bool peripheral_realize(void *overlay, char *error, size_t size)
{
    struct peripheral_device *device = overlay;

    if (device->has_irq) {
        device->irq = interrupt_line(device->name, device->intc,
                                     device->irq_number, error, size);
        if (device->irq == NULL) {
            return false;
        }
    }
    device->region = calloc(1, QEMU_MEMORY_REGION_BYTES);
    if (device->region == NULL) {
        snprintf(error, size, "out of memory");
        return false;
    }
    if (device->kind->alarm != NULL) {
        device->timer = calloc(1, QEMU_TIMER_BYTES);
        if (device->timer == NULL) {
            snprintf(error, size, "out of memory");
            return false;
        }
        qemu.timer_init_full(device->timer, NULL, QEMU_CLOCK_VIRTUAL,
                             QEMU_SCALE_NS, 0, timer_expired, device);
    }
    device->kind->reset(device->state, RESET_POWER_ON);
    if (!connect_serial(device, error, size)) {
        return false;
    }
    qemu.memory_region_init_io(device->region, NULL, &mmio_ops, device,
                               device->name, device->size);
    place(device->region, device->base, PRIORITY_DEVICE);
    qemu.qemu_register_reset(reset, device);
    device->realized = true;
    return true;
}

static void peripheral_exit(void *overlay)
{
    struct peripheral_device *device = overlay;

    record_flush(&device->record);
}

const struct overlay_kind peripheral_device_kind = {
    .key = "peripheral",
    .begin = peripheral_begin,
    .option = peripheral_option,
    .finish = peripheral_finish,
    .realize = peripheral_realize,
    .exit = peripheral_exit,
};
