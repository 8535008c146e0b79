/*
 * conv_kernels.h - the inner loop of a convolution: exact int8 dot products.
 *
 * A panel is many output pixels times up to four blocks of 16 kernels. The
 * reduction is a list of runs: `groups` groups of 4 bytes that lie one after
 * the other, `offset` bytes from each pixel's first byte. What a group holds
 * depends on the kind:
 *   SIGNED  4 channels as they are
 *   BYTES   4 channels, value + 128 as unsigned bytes; the caller makes up for
 *           the 128 in `start`
 *   WORDS   2 channels as int16
 * Packed weights of a block: [run][group][16 kernels][4 bytes], signed bytes
 * or int16. Runs are multiples of `unit` groups long; what they reach beyond
 * their elements has weights 0, and must be readable.
 */
#ifndef FWGEN_CONV_KERNELS_H
#define FWGEN_CONV_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TILE_BLOCK 16u     /* kernels of a block */
#define TILE_MAX_BLOCKS 4u /* blocks of a panel at most */
/* Kernels of a panel at most; a multiple of every atom. */
#define CONV_GROUP (TILE_BLOCK * TILE_MAX_BLOCKS)
/* Results past the end of a panel's output that may be overwritten. */
#define PANEL_SLACK (16u * CONV_GROUP)
/* Elements that may be summed up in 32 bits: 2^16 * 2^14 < 2^31. */
#define TILE_MAX_ELEMENTS 65536u

enum kernel_kind { KERNEL_SIGNED, KERNEL_BYTES, KERNEL_WORDS };

/* Hand-written code that a choice of kernels allows elsewhere, too. */
enum vector_unit { VECTOR_PLAIN, VECTOR_AVX2, VECTOR_AVX512 };

struct conv_run {
    size_t offset;
    size_t groups;
};

struct conv_panel {
    const uint8_t *input;        /* of the first pixel */
    size_t pixel_step, row_step; /* bytes to the next pixel's, next row's */
    size_t columns, rows;        /* pixels; all are computed */
    const struct conv_run *runs;
    size_t run_count;
    const uint8_t *weights; /* of the first block, from the first run on */
    size_t block_bytes;     /* to the next block's */
    unsigned blocks;
    const int32_t *start; /* what the sums of each kernel start with */
    /* out[(row * columns + column) * CONV_GROUP + kernel]. */
    int32_t *out;
};

struct conv_kernels {
    const char *name;
    enum kernel_kind kind;
    enum vector_unit vectors;
    unsigned unit; /* groups */
    void (*panel)(const struct conv_panel *panel);
    /* Weights of a block: groups of 4 bytes of 16 kernels, each `step` bytes
     * after the one before, to [group][16][4]. Not for WORDS. */
    void (*transpose)(const uint8_t *from, size_t step, size_t groups,
                      uint8_t *to);
};

/* The fastest one that this host runs. */
const struct conv_kernels *conv_kernels_select(void);
/* For tests: "amx", "avx512vnni", "avxvnni", "avx2", "plain", the slow
 * "plain-bytes" and "plain-signed", or NULL for the fastest again. False when
 * the host cannot run it. */
bool conv_kernels_force(const char *name);

/* conv_amx.c; NULL where the compiler or the host has none. */
const struct conv_kernels *conv_kernels_amx(void);
/* conv_kernels.c: for kernels that have AVX-512. */
void conv_transpose_avx512(const uint8_t *from, size_t step, size_t groups,
                           uint8_t *to);

#endif
