/*
 * conv_amx.c - panels for AMX (Intel 64 manual, chapter "AMX"; int8 tiles).
 *
 * A tile register holds up to 16 rows of 64 bytes. Rows of an input tile are
 * pixels, those of a weight tile groups of 4 channels of 16 kernels, and those
 * of a sum tile pixels again. Two input and two weight tiles at a time make
 * four sum tiles, so each load is used twice. A short last tile has fewer rows.
 *
 * Linux lets a process use tiles after it asked for them once.
 */
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* syscall() */
#endif

#include "conv_kernels.h"

#if defined(__x86_64__) && defined(__linux__) && !defined(FWGEN_NO_AMX)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROWS 16u
#define AMX __attribute__((target("amx-tile,amx-int8")))

/* Tiles: sums of pixels 0 and blocks 0, 1; of pixels 1; pixels; weights. */
#define SUM_00 0
#define SUM_01 1
#define SUM_10 2
#define SUM_11 3
#define INPUT_0 4
#define INPUT_1 5
#define WEIGHT_0 6
#define WEIGHT_1 7

struct tile_config {
    uint8_t palette;
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

/* Rows of the tiles of the first and second 16 pixels (0: none). */
AMX static void configure(size_t rows_0, size_t rows_1)
{
    struct tile_config config;

    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (unsigned tile = 0; tile < 8; tile++) {
        bool second = tile == SUM_10 || tile == SUM_11 || tile == INPUT_1;
        size_t rows = tile >= WEIGHT_0 ? ROWS : second ? rows_1 : rows_0;

        config.bytes[tile] = 64;
        /* An unused tile must not have 0 rows and 64 bytes. */
        config.rows[tile] = (uint8_t)(rows != 0 ? rows : 1u);
    }
    _tile_loadconfig(&config);
}

#define AMX_TILE(name, PIXELS, BLOCKS)                                         \
    AMX static void name(const struct conv_panel *panel, const uint8_t *input, \
                         const uint8_t *weights, int32_t *out)                 \
    {                                                                          \
        const size_t step = panel->pixel_step;                                 \
        const size_t out_step = CONV_GROUP * sizeof *out;                      \
                                                                               \
        _tile_zero(SUM_00);                                                    \
        _tile_zero(SUM_01);                                                    \
        _tile_zero(SUM_10);                                                    \
        _tile_zero(SUM_11);                                                    \
        for (size_t r = 0; r < panel->run_count; r++) {                        \
            const uint8_t *from = input + panel->runs[r].offset;               \
            const uint8_t *end = from + panel->runs[r].groups * 4u;            \
                                                                               \
            for (; from < end; from += 64, weights += 1024) {                  \
                _tile_loadd(WEIGHT_0, weights, 64);                            \
                _tile_loadd(INPUT_0, from, step);                              \
                _tile_dpbssd(SUM_00, INPUT_0, WEIGHT_0);                       \
                if ((PIXELS) == 2) {                                           \
                    _tile_loadd(INPUT_1, from + ROWS * step, step);            \
                    _tile_dpbssd(SUM_10, INPUT_1, WEIGHT_0);                   \
                }                                                              \
                if ((BLOCKS) == 2) {                                           \
                    _tile_loadd(WEIGHT_1, weights + panel->block_bytes, 64);   \
                    _tile_dpbssd(SUM_01, INPUT_0, WEIGHT_1);                   \
                    if ((PIXELS) == 2) {                                       \
                        _tile_dpbssd(SUM_11, INPUT_1, WEIGHT_1);               \
                    }                                                          \
                }                                                              \
            }                                                                  \
        }                                                                      \
        _tile_stored(SUM_00, out, out_step);                                   \
        if ((BLOCKS) == 2) {                                                   \
            _tile_stored(SUM_01, out + TILE_BLOCK, out_step);                  \
        }                                                                      \
        if ((PIXELS) == 2) {                                                   \
            out += ROWS * CONV_GROUP;                                          \
            _tile_stored(SUM_10, out, out_step);                               \
            if ((BLOCKS) == 2) {                                               \
                _tile_stored(SUM_11, out + TILE_BLOCK, out_step);              \
            }                                                                  \
        }                                                                      \
    }

AMX_TILE(amx_1_1, 1, 1)
AMX_TILE(amx_1_2, 1, 2)
AMX_TILE(amx_2_1, 2, 1)
AMX_TILE(amx_2_2, 2, 2)

/* `count` pixels (up to 32) of all blocks. */
static void amx_pixels(const struct conv_panel *panel, const uint8_t *input,
                       size_t count, unsigned block, int32_t *out)
{
    const uint8_t *weights = panel->weights + block * panel->block_bytes;
    bool pair = panel->blocks - block >= 2u;

    if (count > ROWS) {
        (pair ? amx_2_2 : amx_2_1)(panel, input, weights, out);
    } else {
        (pair ? amx_1_2 : amx_1_1)(panel, input, weights, out);
    }
}

AMX static void amx_panel(const struct conv_panel *panel)
{
    size_t configured = 0;

    /* Two blocks' weights stay in the cache while all pixels pass. */
    for (unsigned block = 0; block < panel->blocks; block += 2u) {
        for (size_t row = 0; row < panel->rows; row++) {
            const uint8_t *input = panel->input + row * panel->row_step;
            int32_t *out = panel->out + row * panel->columns * CONV_GROUP +
                           (size_t)block * TILE_BLOCK;

            for (size_t x = 0; x < panel->columns; x += 2u * ROWS) {
                size_t left = panel->columns - x;
                size_t count = left < 2u * ROWS ? left : 2u * ROWS;

                if (count != configured) {
                    configure(count < ROWS ? count : ROWS,
                              count > ROWS ? count - ROWS : 0u);
                    configured = count;
                }
                amx_pixels(panel, input + x * panel->pixel_step, count, block,
                           out + x * CONV_GROUP);
            }
        }
    }
    _tile_release();
}

static const struct conv_kernels amx_kernels = {
    .name = "amx",
    .kind = KERNEL_SIGNED,
    .vectors = VECTOR_AVX512,
    .unit = 16,
    .panel = amx_panel,
    .transpose = conv_transpose_avx512,
};

const struct conv_kernels *conv_kernels_amx(void)
{
    const unsigned request_permission = 0x1023;  /* ARCH_REQ_XCOMP_PERM */
    const unsigned tile_data = 18;               /* XFEATURE_XTILEDATA */
    const unsigned wanted = 1u << 24 | 1u << 25; /* AMX-TILE, AMX-INT8 */
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d = 0;

    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 ||
        (d & wanted) != wanted ||
        syscall(SYS_arch_prctl, request_permission, tile_data) != 0) {
        return NULL;
    }
    return &amx_kernels;
}

#else

const struct conv_kernels *conv_kernels_amx(void)
{
    return NULL;
}

#endif
