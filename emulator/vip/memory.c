/*
 * memory.c - see memory.h.
 */
#include "memory.h"

#include <string.h>

#define SPACE_SIZE ((uint64_t)1 << 32)

static bool overlaps(uint64_t address, size_t size, uint64_t start,
                     uint64_t end)
{
    return address < end && start < address + size;
}

static bool inside(uint64_t address, size_t size, uint64_t start, uint64_t end)
{
    return address >= start && address + size <= end;
}

static uint64_t window_end(const struct vip_route *route)
{
    return (uint64_t)route->window + route->sram_size;
}

bool vip_route_in_sram(const struct vip_route *route, uint64_t address,
                       size_t size)
{
    return route->has_window && address < SPACE_SIZE &&
           overlaps(address, size, route->window, window_end(route));
}

static bool in_axi(const struct vip_route *route, uint64_t address, size_t size)
{
    return inside(address, size, route->axi_start, route->axi_end);
}

/* Whether the range is usable at all, and if it lies in the VIP SRAM, where. */
static enum vip_access resolve(const struct vip_route *route, uint64_t address,
                               size_t size, uint8_t **sram)
{
    *sram = NULL;
    if (address >= SPACE_SIZE || size > SPACE_SIZE - address) {
        return VIP_ACCESS_OUTSIDE;
    }
    if (vip_route_in_sram(route, address, size)) {
        if (!inside(address, size, route->window, window_end(route))) {
            return VIP_ACCESS_EDGE;
        }
        *sram = route->sram + (address - route->window);
    }
    return VIP_ACCESS_OK;
}

enum vip_access vip_route_read(const struct vip_route *route, uint64_t address,
                               void *data, size_t size)
{
    const struct accel_host *host = route->host;
    uint8_t *sram;
    enum vip_access access = resolve(route, address, size, &sram);

    if (access != VIP_ACCESS_OK || size == 0) {
        return access;
    }
    if (sram != NULL) {
        memcpy(data, sram, size);
        return VIP_ACCESS_OK;
    }
    if ((in_axi(route, address, size) &&
         host->read(host->opaque, ACCEL_SRAM, address, data, size)) ||
        host->read(host->opaque, ACCEL_DRAM, address, data, size)) {
        return VIP_ACCESS_OK;
    }
    return VIP_ACCESS_OUTSIDE;
}

enum vip_access vip_route_write(const struct vip_route *route, uint64_t address,
                                const void *data, size_t size)
{
    const struct accel_host *host = route->host;
    uint8_t *sram;
    enum vip_access access = resolve(route, address, size, &sram);

    if (access != VIP_ACCESS_OK || size == 0) {
        return access;
    }
    if (sram != NULL) {
        memcpy(sram, data, size);
        return VIP_ACCESS_OK;
    }
    if ((in_axi(route, address, size) &&
         host->write(host->opaque, ACCEL_SRAM, address, data, size)) ||
        host->write(host->opaque, ACCEL_DRAM, address, data, size)) {
        return VIP_ACCESS_OK;
    }
    return VIP_ACCESS_OUTSIDE;
}
