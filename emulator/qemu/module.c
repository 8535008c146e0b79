/*
 * module.c - entry point of the device module.
 *
 * Loaded by `qemu-system-arm -plugin MODULE.so,KEY=VALUE,...`. QEMU merges the
 * arguments of several -plugin options that name the same file into one list,
 * so both one long option and one option per device work (overlay.h). Nothing
 * of the instrumentation interface is used: the install call registers for the
 * end of machine construction and puts devices on the bus there, before the
 * first reset and before images are copied into memory.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel_device.h"
#include "clock_overlay.h"
#include "dw_uart.h"
#include "memory_overlay.h"
#include "overlay.h"
#include "peripheral_device.h"
#include "qemu_api.h"
#include "soc_reset.h"

#define PREFIX "fwgen device module: "
#define MAX_OVERLAYS 32u
#define ERROR_BYTES 512u

static const struct overlay_kind *const kinds[] = {
    &accel_device_kind,       &alias_overlay_kind,
    &clock_overlay_kind,      &dw_uart_kind,
    &ram_overlay_kind,        &peripheral_device_kind,
    &unassigned_overlay_kind,
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static struct {
    const struct overlay_kind *kind;
    void *overlay;
} overlays[MAX_OVERLAYS];
static unsigned overlay_count;

static const struct overlay_kind *find_kind(const char *key)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i]->key, key) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

static bool begin_overlay(const struct overlay_kind *kind, const char *value,
                          char *error, size_t size)
{
    if (overlay_count == MAX_OVERLAYS) {
        snprintf(error, size, "more than %u devices", MAX_OVERLAYS);
        return false;
    }
    overlays[overlay_count].kind = kind;
    overlays[overlay_count].overlay = kind->begin(value, error, size);
    if (overlays[overlay_count].overlay == NULL) {
        return false;
    }
    overlay_count++;
    return true;
}

static bool parse_argument(char *argument, char *error, size_t size)
{
    char *value = strchr(argument, '=');
    const struct overlay_kind *kind;

    if (value == NULL) {
        snprintf(error, size, "option \"%s\" is not KEY=VALUE", argument);
        return false;
    }
    *value++ = '\0';
    kind = find_kind(argument);
    if (kind != NULL) {
        return begin_overlay(kind, value, error, size);
    }
    if (overlay_count == 0) {
        snprintf(error, size, "option \"%s\" stands before any \"%s=\"",
                 argument, kinds[0]->key);
        return false;
    }
    kind = overlays[overlay_count - 1].kind;
    return kind->option(overlays[overlay_count - 1].overlay, argument, value,
                        error, size);
}

static void machine_done(Notifier *notifier, void *data)
{
    char error[ERROR_BYTES] = "";

    (void)notifier;
    (void)data;
    for (unsigned i = 0; i < overlay_count; i++) {
        if (!overlays[i].kind->realize(overlays[i].overlay, error,
                                       sizeof(error))) {
            fprintf(stderr, PREFIX "%s\n", error);
            exit(1);
        }
    }
    soc_reset_register();
}

static void process_exit(void)
{
    for (unsigned i = 0; i < overlay_count; i++) {
        overlays[i].kind->exit(overlays[i].overlay);
    }
}

static Notifier machine_done_notifier = {.notify = machine_done};

/* Called by QEMU once per distinct module file; 0 means success. */
__attribute__((visibility("default"))) int
qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    char error[ERROR_BYTES] = "";
    char missing[ERROR_BYTES];
    bool first = overlay_count == 0;
    unsigned old_count = overlay_count;

    (void)id;
    (void)info;
    if (!qemu_api_load(missing, sizeof(missing))) {
        fprintf(stderr,
                PREFIX "this QEMU does not export %s; it must be built with "
                       "plugins and loadable modules, as Debian's is\n",
                missing);
        return -1;
    }
    for (int i = 0; i < argc; i++) {
        if (!parse_argument(argv[i], error, sizeof(error))) {
            fprintf(stderr, PREFIX "%s\n", error);
            return -1;
        }
    }
    for (unsigned i = old_count; i < overlay_count; i++) {
        if (!overlays[i].kind->finish(overlays[i].overlay, error,
                                      sizeof(error))) {
            fprintf(stderr, PREFIX "%s\n", error);
            return -1;
        }
    }
    if (first && overlay_count != 0) {
        qemu.qemu_add_machine_init_done_notifier(&machine_done_notifier);
        atexit(process_exit);
    }
    return 0;
}
