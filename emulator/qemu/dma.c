/*
 * dma.c - see dma.h.
 */
#include "dma.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "qemu_api.h"

bool dma_add(struct dma_map *map, const char *text, char *error, size_t size)
{
    const char *cursor = text;

    for (;;) {
        struct dma_window window;
        char *stop;

        errno = 0;
        window.base = strtoull(cursor, &stop, 0);
        if (stop == cursor || *stop != ':' || errno != 0) {
            break;
        }
        cursor = stop + 1;
        window.size = strtoull(cursor, &stop, 0);
        if (stop == cursor || (*stop != '\0' && *stop != '+') || errno != 0 ||
            window.size == 0 || window.base + (window.size - 1) < window.base) {
            break;
        }
        if (map->count == DMA_MAX_WINDOWS) {
            snprintf(error, size, "more than %u memory windows",
                     DMA_MAX_WINDOWS);
            return false;
        }
        map->windows[map->count++] = window;
        if (*stop == '\0') {
            return true;
        }
        cursor = stop + 1;
    }
    snprintf(error, size, "\"%s\" is not BASE:SIZE[+BASE:SIZE...]", text);
    return false;
}

/* Adjacent windows count as one: a buffer may cross from one to the next. */
static bool reachable(const struct dma_map *map, uint64_t addr, uint64_t len)
{
    if (addr + (len - 1) < addr) {
        return false;
    }
    /* Each round leaves at least one window behind. */
    for (unsigned round = 0; round <= map->count; round++) {
        unsigned i;

        for (i = 0; i < map->count; i++) {
            uint64_t into = addr - map->windows[i].base;

            if (addr >= map->windows[i].base && into < map->windows[i].size) {
                uint64_t left = map->windows[i].size - into;

                if (len <= left) {
                    return true;
                }
                addr += left;
                len -= left;
                break;
            }
        }
        if (i == map->count) {
            return false;
        }
    }
    return false;
}

bool dma_transfer(const struct dma *dma, enum accel_space space, uint64_t addr,
                  void *data, size_t len, bool write)
{
    AddressSpace *memory;

    if (len == 0) {
        return true;
    }
    if ((unsigned)space >= DMA_SPACES ||
        !reachable(&dma->maps[space], addr, len)) {
        return false;
    }
    memory = qemu.cpu_get_address_space(qemu.qemu_get_cpu(0), 0);
    return qemu.address_space_rw(memory, addr, QEMU_ATTRS, data, len, write) ==
           0;
}
