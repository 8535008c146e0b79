/*
 * conv_kernels.h - the inner loop of a convolution: exact int8 dot products.
 *
 * A tile is some output pixels times some blocks of 16 kernels. The reduction
 * is a list of runs: `groups` groups of 4 bytes that lie one after the other,
 * `offset` bytes from each pixel's base. A group holds 4 channels (elements
 * are value + 128 as unsigned bytes) or 2 (elements are int16), see `kind`.
 * Packed weights: [run][group][block][16 kernels][4 bytes], signed bytes or
 * int16. With KERNEL_BYTES the sums are too large by 128 * (sum of a kernel's
 * weights); the caller subtracts that.
 */
#ifndef FWGEN_NVDLA_CONV_KERNELS_H
#define FWGEN_NVDLA_CONV_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TILE_BLOCK 16u     /* kernels of a block */
#define TILE_MAX_BLOCKS 4u /* blocks of a tile at most */
#define TILE_MAX_PIXELS 16u
/* Elements that may be summed up in 32 bits: 2^16 * 2^14 < 2^31. */
#define TILE_MAX_ELEMENTS 65536u

enum kernel_kind { KERNEL_BYTES, KERNEL_WORDS };

struct conv_run {
    size_t offset;
    size_t groups;
};

/* out[pixel][block * 16 + kernel]. */
typedef void conv_tile(const uint8_t *const *pixels,
                       const struct conv_run *runs, size_t run_count,
                       const uint8_t *weights, int32_t *out);

struct conv_kernels {
    const char *name;
    enum kernel_kind kind;
    unsigned max_blocks;
    /* By number of blocks minus one: many pixels at once, and one. */
    unsigned wide_pixels[TILE_MAX_BLOCKS];
    conv_tile *wide[TILE_MAX_BLOCKS];
    conv_tile *single[TILE_MAX_BLOCKS];
};

/* The fastest one that this host runs. */
const struct conv_kernels *conv_kernels_select(void);
/* For tests: "avx512vnni", "avx2", "plain", or NULL for the fastest again.
 * False when the host cannot run it. */
bool nvdla_conv_kernels_force(const char *name);

#endif
