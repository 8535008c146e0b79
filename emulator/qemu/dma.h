/*
 * dma.h - the memory that an accelerator may reach, and access to it.
 *
 * A window list per memory port says which guest-physical ranges exist for the
 * accelerator. Inside a window, accesses go through the first CPU's address
 * space: on machines with memory behind protection controllers or private to
 * the core (Arm SSE-300), the plain system memory does not hold all RAM.
 */
#ifndef FWGEN_QEMU_DMA_H
#define FWGEN_QEMU_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accel_model.h"

#define DMA_MAX_WINDOWS 16u
#define DMA_SPACES 2u

struct dma_window {
    uint64_t base;
    uint64_t size;
};

struct dma_map {
    struct dma_window windows[DMA_MAX_WINDOWS];
    unsigned count;
};

struct dma {
    struct dma_map maps[DMA_SPACES]; /* by enum accel_space */
};

/* Adds "BASE:SIZE[+BASE:SIZE...]"; numbers in C notation. Returns false with a
 * sentence in error when the text is wrong. */
bool dma_add(struct dma_map *map, const char *text, char *error, size_t size);

/* Transfers len bytes. False when a byte lies outside the windows (then nothing
 * has been transferred) or the machine refuses the access. */
bool dma_transfer(const struct dma *dma, enum accel_space space, uint64_t addr,
                  void *data, size_t len, bool write);

#endif
