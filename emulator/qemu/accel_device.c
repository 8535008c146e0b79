/*
 * accel_device.c - puts an accelerator model (accel_model.h) on the bus: a
 * register window, an interrupt line, DMA and time.
 *
 * Time. The model counts cycles of its clock; the device feeds it virtual time:
 * before each register access and when its timer expires, the model is advanced
 * to the present. The timer always stands at the model's next event. With
 * -icount virtual time depends on the instructions executed only, so two runs
 * give the same interrupts at the same nanosecond.
 *
 * Without -icount the operations are computed by the model's execute() in a
 * worker thread while the guest runs on. The model's time then stands still
 * while the worker computes, and an operation completes at its modelled time
 * or when the computation is finished, whichever is later.
 *
 * Registers are 32 bits wide; any other access is a guest error that reads as
 * zero and writes nothing.
 *
 * Power. needs=ADDRESS:MASK:VALUE names a word of a power or clock controller
 * that must read so, or registers cannot be accessed.
 *
 * Reset. Accelerators as NVDLA have no reset of their own; the SoC's clock and
 * reset controller has one. reset=ADDRESS puts one word of such a controller on
 * the bus: writing anything but 0 to it resets this device.
 */
#define _GNU_SOURCE
#include "accel_device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel_model.h"
#include "dma.h"
#include "interrupt.h"
#include "options.h"
#include "placement.h"
#include "power.h"
#include "qemu_api.h"
#include "record.h"
#include "worker.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define DEFAULT_CLOCK_HZ UINT64_C(100000000)
#define MAX_FAULTS 16u
#define RESET_BYTES 4u
#define RESET_NAME "SOC.RESET"

struct accel_device {
    /* Options. */
    const struct accel_family *family;
    char *config;
    char *name;
    char *intc;
    char *faults[MAX_FAULTS];
    unsigned fault_count;
    struct power_needs power;
    uint64_t base;
    uint64_t size;
    uint64_t irq_number;
    uint64_t clock_hz;
    uint64_t reset_address;
    bool has_base;
    bool has_irq;
    bool has_reset;
    /* The device. */
    struct accel_model *model;
    struct dma dma;
    struct record record;
    MemoryRegion *region;
    MemoryRegion *reset_region; /* NULL without reset= */
    QEMUTimer *timer;
    qemu_irq irq;
    uint64_t cycles; /* model time */
    bool realized;
    bool threaded;
    bool resetting; /* waits for the worker, without the big lock */
    struct worker worker;
};

/* ---- callbacks of the model ---- */

static int64_t now_ns(void)
{
    return qemu.qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static bool host_read(void *opaque, enum accel_space space, uint64_t addr,
                      void *dst, size_t len)
{
    struct accel_device *device = opaque;

    return dma_transfer(&device->dma, space, addr, dst, len, false);
}

static bool host_write(void *opaque, enum accel_space space, uint64_t addr,
                       const void *src, size_t len)
{
    struct accel_device *device = opaque;

    /* QEMU takes one pointer for both directions and only reads it here. */
    return dma_transfer(&device->dma, space, addr, (void *)(uintptr_t)src, len,
                        true);
}

static void host_irq(void *opaque, bool level)
{
    struct accel_device *device = opaque;

    if (!device->realized) {
        return;
    }
    record_irq(&device->record, now_ns(), level);
    qemu.qemu_set_irq(device->irq, level);
}

static void host_guest_error(void *opaque, const char *message)
{
    struct accel_device *device = opaque;

    record_guest_error(&device->record, device->realized ? now_ns() : 0,
                       message);
}

static void host_op_done(void *opaque, const struct accel_op_event *event)
{
    struct accel_device *device = opaque;

    record_operation(&device->record, now_ns(), event);
}

/* ---- time ---- */

static uint64_t cycles_at(const struct accel_device *device, int64_t ns)
{
    return (uint64_t)((unsigned __int128)(uint64_t)ns * device->clock_hz /
                      NS_PER_SECOND);
}

/* First nanosecond at which cycles_at() has reached `cycles`. */
static int64_t ns_at(const struct accel_device *device, uint64_t cycles)
{
    unsigned __int128 ns =
        ((unsigned __int128)cycles * NS_PER_SECOND + device->clock_hz - 1) /
        device->clock_hz;

    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* Advances the model to the present, as far as its results are computed. */
static void catch_up(struct accel_device *device)
{
    uint64_t target = cycles_at(device, now_ns());

    if (device->resetting) {
        return; /* what ends now is dropped */
    }
    if (!device->threaded) {
        if (target > device->cycles) {
            uint64_t step = target - device->cycles;

            device->cycles = target;
            device->family->advance(device->model, step);
        }
        return;
    }
    while (device->cycles < target && !device->worker.busy) {
        uint64_t event = device->family->next_event(device->model);
        uint64_t step = target - device->cycles;

        if (event < step) {
            step = event;
        }
        device->cycles += step;
        device->family->advance(device->model, step);
        /* An event may have launched a waiting operation. */
        if (step == event &&
            device->family->next_event(device->model) != ACCEL_NO_EVENT) {
            worker_kick(&device->worker);
        }
    }
}

static void arm_timer(struct accel_device *device)
{
    uint64_t event;

    if (device->resetting) {
        /* catch_up() leaves the event where it is: a timer for it would expire
         * over and over, with the big lock that reset() waits for. */
        return;
    }
    if (device->threaded && device->worker.busy) {
        return; /* work_done() comes back here */
    }
    event = device->family->next_event(device->model);
    if (event == ACCEL_NO_EVENT || event > UINT64_MAX - device->cycles) {
        qemu.timer_del(device->timer);
    } else {
        qemu.timer_mod_ns(device->timer, ns_at(device, device->cycles + event));
    }
}

static void timer_expired(void *opaque)
{
    struct accel_device *device = opaque;

    catch_up(device);
    arm_timer(device);
}

static void work(void *opaque)
{
    struct accel_device *device = opaque;

    device->family->execute(device->model);
}

static void work_done(void *opaque)
{
    timer_expired(opaque);
}

/* ---- registers ---- */

static bool access_is_valid(struct accel_device *device, const char *verb,
                            uint64_t addr, unsigned size)
{
    char text[160];

    if (size == 4 && addr % 4 == 0) {
        return true;
    }
    snprintf(text, sizeof(text),
             "%s of %u bytes at offset 0x%" PRIx64
             ": only aligned 32-bit accesses exist",
             verb, size, addr);
    record_guest_error(&device->record, now_ns(), text);
    return false;
}

static bool is_powered(struct accel_device *device, const char *verb,
                       uint64_t addr)
{
    char missing[160];
    char text[240];

    if (power_is_on(&device->power, missing, sizeof(missing))) {
        return true;
    }
    snprintf(text, sizeof(text),
             "%s at offset 0x%" PRIx64
             ": the accelerator is not switched on, %s",
             verb, addr, missing);
    record_guest_error(&device->record, now_ns(), text);
    return false;
}

static uint64_t mmio_read(void *opaque, uint64_t addr, unsigned size)
{
    struct accel_device *device = opaque;
    uint32_t offset = (uint32_t)addr;
    uint32_t value;

    if (!access_is_valid(device, "read", addr, size) ||
        !is_powered(device, "read", addr)) {
        return 0;
    }
    catch_up(device);
    value = device->family->read(device->model, offset);
    record_access(&device->record, now_ns(), false, addr, value,
                  device->family->register_name(offset));
    arm_timer(device);
    return value;
}

/* Waits for the worker. It may want the big lock for an access that ends in a
 * device, so a reset that waited for it in the model could wait for ever. */
static void settle(struct accel_device *device)
{
    if (device->threaded) {
        device->resetting = true;
        worker_settle(&device->worker);
        device->resetting = false;
    }
}

static void mmio_write(void *opaque, uint64_t addr, uint64_t data,
                       unsigned size)
{
    struct accel_device *device = opaque;
    uint32_t offset = (uint32_t)addr;

    if (!access_is_valid(device, "write", addr, size) ||
        !is_powered(device, "write", addr)) {
        return;
    }
    catch_up(device);
    record_access(&device->record, now_ns(), true, addr, data,
                  device->family->register_name(offset));
    if (device->family->resets != NULL &&
        device->family->resets(offset, (uint32_t)data)) {
        settle(device);
    }
    device->family->write(device->model, offset, (uint32_t)data);
    if (device->threaded &&
        device->family->next_event(device->model) != ACCEL_NO_EVENT) {
        worker_kick(&device->worker);
    }
    arm_timer(device);
}

/* QEMU is told that every size works, so that wrong ones arrive here and can
 * be named instead of becoming a bus error without a message. */
static const MemoryRegionOps mmio_ops = {
    .read = mmio_read,
    .write = mmio_write,
    .endianness = QEMU_DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

/* Drops all work, as the model's reset does, and sets its time to now. */
static void reset(void *opaque)
{
    struct accel_device *device = opaque;

    settle(device);
    qemu.timer_del(device->timer);
    device->family->reset(device->model);
    device->cycles = cycles_at(device, now_ns());
    qemu.qemu_set_irq(device->irq, 0);
    record_reset(&device->record, now_ns());
}

static uint64_t reset_read(void *opaque, uint64_t addr, unsigned size)
{
    struct accel_device *device = opaque;

    if (access_is_valid(device, "read", addr, size)) {
        record_access(&device->record, now_ns(), false, device->reset_address,
                      0, RESET_NAME);
    }
    return 0;
}

static void reset_write(void *opaque, uint64_t addr, uint64_t data,
                        unsigned size)
{
    struct accel_device *device = opaque;

    if (!access_is_valid(device, "write", addr, size)) {
        return;
    }
    record_access(&device->record, now_ns(), true, device->reset_address, data,
                  RESET_NAME);
    if (data != 0) {
        /* What was over before the reset has reached memory. */
        catch_up(device);
        reset(device);
    }
}

static const MemoryRegionOps reset_ops = {
    .read = reset_read,
    .write = reset_write,
    .endianness = QEMU_DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

/* ---- options ---- */

static void *accel_begin(const char *value, char *error, size_t size)
{
    struct accel_device *device;
    const struct accel_family *family = accel_family_find(value);

    if (family == NULL) {
        const struct accel_family *const *known = accel_families();
        int used =
            snprintf(error, size,
                     "there is no accelerator family \"%s\"; known:", value);

        for (; *known != NULL && used > 0 && (size_t)used < size; known++) {
            used += snprintf(error + used, size - (size_t)used, " %s",
                             (*known)->name);
        }
        return NULL;
    }
    device = calloc(1, sizeof(*device));
    if (device == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    device->family = family;
    device->clock_hz = DEFAULT_CLOCK_HZ;
    device->size = family->window_size;
    return device;
}

/* Options that are more than one number or text. */
static bool special_option(struct accel_device *device, const char *key,
                           const char *value, bool *known, char *error,
                           size_t size)
{
    *known = true;
    if (strcmp(key, "fault") == 0) {
        if (device->fault_count == MAX_FAULTS) {
            snprintf(error, size, "more than %u faults", MAX_FAULTS);
            return false;
        }
        snprintf(error, size, "out of memory");
        device->faults[device->fault_count] = strdup(value);
        return device->faults[device->fault_count++] != NULL;
    }
    if (strcmp(key, "needs") == 0) {
        return power_add(&device->power, value, error, size);
    }
    if (strcmp(key, "dma") == 0) {
        return dma_add(&device->dma.maps[ACCEL_DRAM], value, error, size);
    }
    if (strcmp(key, "sram") == 0) {
        return dma_add(&device->dma.maps[ACCEL_SRAM], value, error, size);
    }
    if (strcmp(key, "trace") == 0 || strcmp(key, "events") == 0) {
        struct record_stream **stream =
            key[0] == 't' ? &device->record.trace : &device->record.events;

        if (!record_open(stream, value)) {
            snprintf(error, size, "%s: %s", value, strerror(errno));
            return false;
        }
        return true;
    }
    *known = false;
    return false;
}

static bool accel_option(void *overlay, const char *key, const char *value,
                         char *error, size_t size)
{
    struct accel_device *device = overlay;
    const struct option_place table[] = {
        {"config", NULL, &device->config, NULL},
        {"base", &device->base, NULL, &device->has_base},
        {"size", &device->size, NULL, NULL},
        {"irq", &device->irq_number, NULL, &device->has_irq},
        {"intc", NULL, &device->intc, NULL},
        {"clock", &device->clock_hz, NULL, NULL},
        {"name", NULL, &device->name, NULL},
        {"reset", &device->reset_address, NULL, &device->has_reset},
        /* Known above; named here for the message. */
        {"dma", NULL, NULL, NULL},
        {"sram", NULL, NULL, NULL},
        {"needs", NULL, NULL, NULL},
        {"trace", NULL, NULL, NULL},
        {"events", NULL, NULL, NULL},
        {"fault", NULL, NULL, NULL},
    };
    bool known;
    bool stored = special_option(device, key, value, &known, error, size);

    if (known) {
        return stored;
    }
    return option_store(table, sizeof(table) / sizeof(table[0]), "accel", key,
                        value, error, size);
}

/* The reset word is outside of the window, in the same address space. */
static bool reset_is_possible(const struct accel_device *device)
{
    uint64_t address = device->reset_address;

    return address % RESET_BYTES == 0 && address <= UINT64_MAX - RESET_BYTES &&
           (address < device->base || address - device->base >= device->size);
}

static bool accel_finish(void *overlay, char *error, size_t size)
{
    struct accel_device *device = overlay;
    struct accel_host host = {
        .opaque = device,
        .read = host_read,
        .write = host_write,
        .irq = host_irq,
        .guest_error = host_guest_error,
        .op_done = host_op_done,
    };

    if (device->name == NULL) {
        device->name = strdup("dla0");
    }
    if (device->intc == NULL) {
        device->intc = strdup("armv7m");
    }
    device->record.name = device->name;
    /* The board's window may be larger than what the model has in it. */
    if (device->size > device->family->window_size) {
        device->size = device->family->window_size;
    }
    if (device->config == NULL || !device->has_base || !device->has_irq) {
        snprintf(error, size, "%s: config=, base= and irq= must be given",
                 device->name);
        return false;
    }
    if (device->clock_hz == 0 || device->size == 0 || device->size % 4 != 0 ||
        device->base % 4096 != 0 || device->base > UINT64_MAX - device->size) {
        snprintf(error, size,
                 "%s: base=0x%" PRIx64 ",size=0x%" PRIx64 ",clock=%" PRIu64
                 " is impossible (page-aligned base, window of whole words, "
                 "clock above 0)",
                 device->name, device->base, device->size, device->clock_hz);
        return false;
    }
    if (device->has_reset && !reset_is_possible(device)) {
        snprintf(error, size,
                 "%s: reset=0x%" PRIx64 " is impossible (a multiple of %u "
                 "outside of the register window)",
                 device->name, device->reset_address, RESET_BYTES);
        return false;
    }
    device->model = device->family->create(device->config, &host, error, size);
    if (device->model == NULL) {
        return false;
    }
    for (unsigned i = 0; i < device->fault_count; i++) {
        if (device->family->fault == NULL) {
            snprintf(error, size, "%s: this family has no faults",
                     device->name);
            return false;
        }
        if (!device->family->fault(device->model, device->faults[i], error,
                                   size)) {
            return false;
        }
    }
    return true;
}

/* ---- the machine ---- */

/* A window in front of whatever the machine has at that address. */
static MemoryRegion *map_registers(struct accel_device *device,
                                   const MemoryRegionOps *ops, uint64_t base,
                                   uint64_t bytes)
{
    MemoryRegion *region = calloc(1, QEMU_MEMORY_REGION_BYTES);

    if (region != NULL) {
        qemu.memory_region_init_io(region, NULL, ops, device, device->name,
                                   bytes);
        place(region, base, PRIORITY_DEVICE);
    }
    return region;
}

static bool accel_realize(void *overlay, char *error, size_t size)
{
    struct accel_device *device = overlay;

    device->irq = interrupt_line(device->name, device->intc, device->irq_number,
                                 error, size);
    if (device->irq == NULL) {
        return false;
    }
    device->timer = calloc(1, QEMU_TIMER_BYTES);
    if (device->timer == NULL) {
        snprintf(error, size, "out of memory");
        return false;
    }
    qemu.timer_init_full(device->timer, NULL, QEMU_CLOCK_VIRTUAL, QEMU_SCALE_NS,
                         0, timer_expired, device);
    device->threaded = device->family->execute != NULL && !qemu_icount();
    if (device->threaded &&
        !worker_start(&device->worker, work, work_done, device)) {
        snprintf(error, size, "%s: cannot start a thread", device->name);
        return false;
    }
    device->region =
        map_registers(device, &mmio_ops, device->base, device->size);
    if (device->has_reset) {
        device->reset_region = map_registers(
            device, &reset_ops, device->reset_address, RESET_BYTES);
    }
    if (device->region == NULL ||
        (device->has_reset && device->reset_region == NULL)) {
        snprintf(error, size, "out of memory");
        return false;
    }
    qemu.qemu_register_reset(reset, device);
    device->realized = true;
    return true;
}

static void accel_exit(void *overlay)
{
    struct accel_device *device = overlay;

    if (device->realized) {
        record_summary(&device->record);
    }
}

const struct overlay_kind accel_device_kind = {
    .key = "accel",
    .begin = accel_begin,
    .option = accel_option,
    .finish = accel_finish,
    .realize = accel_realize,
    .exit = accel_exit,
};
