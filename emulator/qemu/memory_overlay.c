/*
 * memory_overlay.c - see memory_overlay.h.
 */
#define _GNU_SOURCE
#include "memory_overlay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "placement.h"
#include "qemu_api.h"
#include "record.h"

#define MAX_NAME 64u

struct memory_overlay {
    char *name;
    uint64_t base;
    uint64_t size;
    bool has_base;
    bool has_size;
    /* alias */
    char *of;
    uint64_t mmio;
    uint64_t offset;
    /* unassigned */
    char *events;
    char *trace;
    struct record record;
    MemoryRegion *region;
    struct memory_overlay *next;
};

/* All of this process: QEMU ends itself when two RAM blocks have one name. */
static struct memory_overlay *all;

static void *begin(const char *value, char *error, size_t size)
{
    struct memory_overlay *overlay;

    if (value[0] == '\0' || strlen(value) > MAX_NAME) {
        snprintf(error, size, "\"%s\" is no name of a memory", value);
        return NULL;
    }
    for (overlay = all; overlay != NULL; overlay = overlay->next) {
        if (strcmp(overlay->name, value) == 0) {
            snprintf(error, size, "two memories are called \"%s\"", value);
            return NULL;
        }
    }
    overlay = calloc(1, sizeof(*overlay));
    if (overlay != NULL) {
        overlay->name = strdup(value);
        overlay->region = calloc(1, QEMU_MEMORY_REGION_BYTES);
    }
    if (overlay == NULL || overlay->name == NULL || overlay->region == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    overlay->next = all;
    all = overlay;
    return overlay;
}

static bool ram_option(void *state, const char *key, const char *value,
                       char *error, size_t size)
{
    struct memory_overlay *overlay = state;
    const struct option_place table[] = {
        {"base", &overlay->base, NULL, &overlay->has_base},
        {"size", &overlay->size, NULL, &overlay->has_size},
    };

    return option_store(table, sizeof(table) / sizeof(table[0]), "ram", key,
                        value, error, size);
}

static bool alias_option(void *state, const char *key, const char *value,
                         char *error, size_t size)
{
    struct memory_overlay *overlay = state;
    const struct option_place table[] = {
        {"base", &overlay->base, NULL, &overlay->has_base},
        {"size", &overlay->size, NULL, &overlay->has_size},
        {"of", NULL, &overlay->of, NULL},
        {"mmio", &overlay->mmio, NULL, NULL},
        {"offset", &overlay->offset, NULL, NULL},
    };

    return option_store(table, sizeof(table) / sizeof(table[0]), "alias", key,
                        value, error, size);
}

static bool unassigned_option(void *state, const char *key, const char *value,
                              char *error, size_t size)
{
    struct memory_overlay *overlay = state;
    const struct option_place table[] = {
        {"base", &overlay->base, NULL, &overlay->has_base},
        {"size", &overlay->size, NULL, &overlay->has_size},
        {"events", NULL, &overlay->events, NULL},
        {"trace", NULL, &overlay->trace, NULL},
    };

    return option_store(table, sizeof(table) / sizeof(table[0]), "unassigned",
                        key, value, error, size);
}

static bool range_is_possible(const struct memory_overlay *overlay, char *error,
                              size_t size)
{
    if (!overlay->has_base || (!overlay->has_size && overlay->of == NULL)) {
        snprintf(error, size, "%s: base= and size= must be given",
                 overlay->name);
        return false;
    }
    if (overlay->base % PLACEMENT_PAGE != 0 ||
        overlay->size % PLACEMENT_PAGE != 0 ||
        (overlay->has_size && overlay->size == 0) ||
        overlay->base > UINT64_MAX - overlay->size) {
        snprintf(error, size,
                 "%s: base=0x%" PRIx64 ",size=0x%" PRIx64
                 " is impossible (multiples of %u)",
                 overlay->name, overlay->base, overlay->size, PLACEMENT_PAGE);
        return false;
    }
    return true;
}

static bool ram_finish(void *state, char *error, size_t size)
{
    return range_is_possible(state, error, size);
}

static bool ram_realize(void *state, char *error, size_t size)
{
    struct memory_overlay *overlay = state;
    char name[MAX_NAME + 16];
    Error *failure = NULL;

    snprintf(name, sizeof(name), "fwgen.%s", overlay->name);
    qemu.memory_region_init_ram(overlay->region, NULL, name, overlay->size,
                                &failure);
    if (failure != NULL) {
        snprintf(error, size, "%s: %s", overlay->name,
                 qemu.error_get_pretty(failure));
        return false;
    }
    place(overlay->region, overlay->base, PRIORITY_MEMORY);
    return true;
}

static bool alias_finish(void *state, char *error, size_t size)
{
    struct memory_overlay *overlay = state;

    if (overlay->of == NULL) {
        snprintf(error, size, "%s: of= must be given, a QOM type or path",
                 overlay->name);
        return false;
    }
    if (overlay->mmio >= QEMU_MAX_MMIO) {
        snprintf(error, size, "%s: mmio=%" PRIu64 " is not below %u",
                 overlay->name, overlay->mmio, QEMU_MAX_MMIO);
        return false;
    }
    return range_is_possible(overlay, error, size);
}

/* The region that of= and mmio= name, or NULL. */
static MemoryRegion *aliased(const struct memory_overlay *overlay, char *error,
                             size_t size)
{
    bool ambiguous = false;
    MemoryRegion *region = NULL;
    Object *object =
        overlay->of[0] == '/'
            ? qemu.object_resolve_path(overlay->of, &ambiguous)
            : qemu.object_resolve_path_type("", overlay->of, &ambiguous);

    if (object == NULL) {
        snprintf(error, size,
                 ambiguous ? "%s: the machine has several \"%s\"; give of= "
                             "a path"
                           : "%s: the machine has no \"%s\"",
                 overlay->name, overlay->of);
        return NULL;
    }
    if (qemu.object_dynamic_cast(object, "memory-region") != NULL) {
        region = (MemoryRegion *)object;
    } else if (qemu.object_dynamic_cast(object, "sys-bus-device") != NULL) {
        region = qemu.sysbus_mmio_get_region((SysBusDevice *)object,
                                             (int)overlay->mmio);
    }
    if (region == NULL) {
        snprintf(error, size, "%s: \"%s\" has no memory region %" PRIu64,
                 overlay->name, overlay->of, overlay->mmio);
    }
    return region;
}

static bool alias_realize(void *state, char *error, size_t size)
{
    struct memory_overlay *overlay = state;
    MemoryRegion *region = aliased(overlay, error, size);
    uint64_t whole;

    if (region == NULL) {
        return false;
    }
    whole = qemu.memory_region_size(region);
    if (overlay->offset >= whole) {
        snprintf(error, size,
                 "%s: offset=0x%" PRIx64 " is not below the 0x%" PRIx64
                 " bytes of \"%s\"",
                 overlay->name, overlay->offset, whole, overlay->of);
        return false;
    }
    whole -= overlay->offset;
    if (!overlay->has_size) {
        overlay->size = whole;
    } else if (overlay->size > whole) {
        snprintf(error, size,
                 "%s: size=0x%" PRIx64 " is more than the 0x%" PRIx64
                 " bytes of \"%s\"",
                 overlay->name, overlay->size, whole, overlay->of);
        return false;
    }
    qemu.memory_region_init_alias(overlay->region, NULL, overlay->name, region,
                                  overlay->offset, overlay->size);
    place(overlay->region, overlay->base, PRIORITY_DEVICE);
    return true;
}

/* ---- unassigned ---- */

static void refuse(struct memory_overlay *overlay, const char *verb,
                   uint64_t addr, unsigned size)
{
    char text[128];

    snprintf(text, sizeof(text),
             "%s of %u bytes at 0x%08" PRIx64 ", where the board has nothing",
             verb, size, overlay->base + addr);
    record_guest_error(&overlay->record,
                       qemu.qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), text);
}

static uint32_t unassigned_read(void *opaque, uint64_t addr, uint64_t *data,
                                unsigned size, uint64_t attrs)
{
    (void)attrs;
    *data = 0;
    refuse(opaque, "read", addr, size);
    return QEMU_MEMTX_DECODE_ERROR;
}

static uint32_t unassigned_write(void *opaque, uint64_t addr, uint64_t data,
                                 unsigned size, uint64_t attrs)
{
    (void)attrs;
    (void)data;
    refuse(opaque, "write", addr, size);
    return QEMU_MEMTX_DECODE_ERROR;
}

static const MemoryRegionOps unassigned_ops = {
    .read_with_attrs = unassigned_read,
    .write_with_attrs = unassigned_write,
    .endianness = QEMU_DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

static bool unassigned_finish(void *state, char *error, size_t size)
{
    struct memory_overlay *overlay = state;

    overlay->record.name = overlay->name;
    if ((overlay->events != NULL &&
         !record_open(&overlay->record.events, overlay->events)) ||
        (overlay->trace != NULL &&
         !record_open(&overlay->record.trace, overlay->trace))) {
        snprintf(error, size, "%s: cannot write the records", overlay->name);
        return false;
    }
    return range_is_possible(overlay, error, size);
}

static bool unassigned_realize(void *state, char *error, size_t size)
{
    struct memory_overlay *overlay = state;

    (void)error;
    (void)size;
    qemu.memory_region_init_io(overlay->region, NULL, &unassigned_ops, overlay,
                               overlay->name, overlay->size);
    place(overlay->region, overlay->base, PRIORITY_UNASSIGNED);
    return true;
}

static void memory_exit(void *state)
{
    struct memory_overlay *overlay = state;

    record_flush(&overlay->record);
}

const struct overlay_kind ram_overlay_kind = {
    .key = "ram",
    .begin = begin,
    .option = ram_option,
    .finish = ram_finish,
    .realize = ram_realize,
    .exit = memory_exit,
};

const struct overlay_kind alias_overlay_kind = {
    .key = "alias",
    .begin = begin,
    .option = alias_option,
    .finish = alias_finish,
    .realize = alias_realize,
    .exit = memory_exit,
};

const struct overlay_kind unassigned_overlay_kind = {
    .key = "unassigned",
    .begin = begin,
    .option = unassigned_option,
    .finish = unassigned_finish,
    .realize = unassigned_realize,
    .exit = memory_exit,
};
