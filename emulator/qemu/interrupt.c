/*
 * interrupt.c - see interrupt.h.
 */
#include "interrupt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Interrupt controllers: their QOM type, the property that counts their lines
 * and how many of these are internal. */
static const struct {
    const char *type;
    const char *count_property;
    uint64_t internal;
} controllers[] = {
    {"armv7m", "num-irq", 16},
    {"arm_gic", "num-irq", 32},
    {"arm-gicv3", "num-irq", 32},
    {"riscv.sifive.plic", "num-sources", 0},
};

static Object *find_controller(const char *name, const char *intc, char *error,
                               size_t size)
{
    bool ambiguous = false;
    Object *object;

    if (intc[0] == '/') {
        object = qemu.object_resolve_path(intc, &ambiguous);
    } else {
        object = qemu.object_resolve_path_type("", intc, &ambiguous);
    }
    if (object == NULL) {
        snprintf(error, size,
                 ambiguous
                     ? "%s: the machine has several interrupt controllers "
                       "\"%s\"; give intc= a path"
                     : "%s: the machine has no interrupt controller "
                       "\"%s\"",
                 name, intc);
    }
    return object;
}

/* qdev_get_gpio_in() ends the process on a line that does not exist. */
static bool line_exists(const char *name, uint64_t number, Object *controller,
                        char *error, size_t size)
{
    const char *type = qemu.object_get_typename(controller);

    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        Error *failure = NULL;
        uint64_t lines;

        if (strcmp(type, controllers[i].type) != 0) {
            continue;
        }
        lines = qemu.object_property_get_uint(
            controller, controllers[i].count_property, &failure);
        if (failure != NULL) {
            qemu.error_free(failure);
            continue;
        }
        lines -=
            controllers[i].internal < lines ? controllers[i].internal : lines;
        if (number < lines) {
            return true;
        }
        snprintf(error, size,
                 "%s: irq=%" PRIu64 " does not exist, %s of this machine has "
                 "lines 0 to %" PRIu64,
                 name, number, type, lines - 1);
        return false;
    }
    snprintf(error, size,
             "%s: interrupt controllers of type \"%s\" are not known", name,
             type);
    return false;
}

qemu_irq interrupt_line(const char *name, const char *intc, uint64_t number,
                        char *error, size_t size)
{
    Object *controller = find_controller(name, intc, error, size);

    if (controller == NULL ||
        !line_exists(name, number, controller, error, size)) {
        return NULL;
    }
    return qemu.qdev_get_gpio_in((DeviceState *)controller, (int)number);
}
