/*
 * memory.h - where an address of the NPU leads.
 *
 * The MMU is off: addresses are physical and 32 bits wide. Two ranges lie over
 * system memory once the state writes that open them have been executed:
 *   VIP SRAM  [0x3938, + its size)        SRAM inside the NPU
 *   AXI SRAM  [0x393c, 0x3940)            SRAM on the SoC's bus
 * The AXI SRAM has a port of its own on some chips and the address is the same
 * on either, so that the second port is tried first, then the first.
 */
#ifndef FWGEN_VIP_MEMORY_H
#define FWGEN_VIP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accel_model.h"

struct vip_route {
    const struct accel_host *host;
    uint8_t *sram;
    uint32_t sram_size;
    bool has_window;
    uint32_t window; /* address of the first byte of the VIP SRAM */
    uint32_t axi_start, axi_end;
};

enum vip_access {
    VIP_ACCESS_OK,
    VIP_ACCESS_OUTSIDE, /* some byte is no memory */
    VIP_ACCESS_EDGE,    /* lies half in the VIP SRAM */
};

/* Transfers all or nothing. */
enum vip_access vip_route_read(const struct vip_route *route, uint64_t address,
                               void *data, size_t size);
enum vip_access vip_route_write(const struct vip_route *route, uint64_t address,
                                const void *data, size_t size);
/* Whether any byte lies in the VIP SRAM. */
bool vip_route_in_sram(const struct vip_route *route, uint64_t address,
                       size_t size);

#endif
