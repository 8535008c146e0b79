/*
 * conv_kernels.c - panels for AVX-512 VNNI, AVX-VNNI, AVX2 and plain C, and
 * the choice among them (see the header; AMX is in conv_amx.c).
 *
 * A panel is cut into tiles of as many pixels as the registers hold sums for.
 * Plain C is what other hosts run; compilers turn its inner loop into widening
 * multiply-adds (NEON: smlal).
 */
#include "conv_kernels.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define HAVE_X86 1
#endif

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define MAX_PIXELS 16u

/* One tile: pixels[] of which each has its sums CONV_GROUP after the one
 * before it; weights and start of its first block. */
typedef void conv_tile(const uint8_t *const *pixels,
                       const struct conv_panel *panel, const uint8_t *weights,
                       const int32_t *start, int32_t *out);

/* Tiles of a number of blocks: many pixels at once, and one. */
struct tiles {
    unsigned pixels;
    conv_tile *many, *one;
};

/* `blocks` blocks of the panel from `first` on. */
static void run_tiles(const struct conv_panel *panel, unsigned first,
                      const struct tiles *tiles)
{
    const uint8_t *weights = panel->weights + first * panel->block_bytes;
    const int32_t *start = panel->start + (size_t)first * TILE_BLOCK;
    int32_t *out = panel->out + (size_t)first * TILE_BLOCK;
    const uint8_t *row = panel->input;
    size_t column = 0;

    for (size_t left = panel->rows * panel->columns; left > 0;) {
        const uint8_t *pixels[MAX_PIXELS];
        size_t wide = tiles->pixels;
        size_t count = left >= wide ? wide : left * 2u > wide ? left : 1u;
        size_t computed = count == 1u ? 1u : wide;

        for (size_t p = 0; p < computed; p++) {
            /* Those past the end repeat the last one. */
            if (p < count) {
                pixels[p] = row + column * panel->pixel_step;
                if (++column == panel->columns) {
                    column = 0;
                    row += panel->row_step;
                }
            } else {
                pixels[p] = pixels[count - 1u];
            }
        }
        (computed == 1u ? tiles->one : tiles->many)(pixels, panel, weights,
                                                    start, out);
        out += count * CONV_GROUP;
        left -= count;
    }
}

/* Copies a group of 4 bytes of each kernel to its place. */
static void transpose_plain(const uint8_t *from, size_t step, size_t groups,
                            uint8_t *to)
{
    for (size_t g = 0; g < groups; g++) {
        for (size_t k = 0; k < TILE_BLOCK; k++) {
            memcpy(to + (g * TILE_BLOCK + k) * 4u, from + k * step + g * 4u, 4);
        }
    }
}

static inline int32_t load_group(const uint8_t *bytes)
{
    int32_t result;

    memcpy(&result, bytes, sizeof result);
    return result;
}

#ifdef HAVE_X86

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

AVX512 static void transpose_16(const uint8_t *from, size_t step, uint8_t *to)
{
    __m512i a[16];
    __m512i b[16];

    /* 4 x 4 dwords inside each 128 bits first, then the 128 bits. */
    UNROLL for (size_t i = 0; i < 16; i++)
    {
        a[i] = _mm512_loadu_si512(from + i * step);
    }
    UNROLL for (size_t i = 0; i < 16; i += 2)
    {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    UNROLL for (size_t i = 0; i < 16; i += 4)
    {
        a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
        a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
        a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
        a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
    }
    UNROLL for (size_t i = 0; i < 4; i++)
    {
        b[i] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xdd);
    }
    UNROLL for (size_t i = 0; i < 4; i++)
    {
        a[i] = _mm512_shuffle_i32x4(b[i], b[i + 8], 0x88);
        a[i + 8] = _mm512_shuffle_i32x4(b[i], b[i + 8], 0xdd);
        a[i + 4] = _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0xdd);
    }
    UNROLL for (size_t i = 0; i < 16; i++)
    {
        _mm512_storeu_si512(to + 64 * i, a[i]);
    }
}

AVX512 void conv_transpose_avx512(const uint8_t *from, size_t step,
                                  size_t groups, uint8_t *to)
{
    for (; groups >= 16; groups -= 16, from += 64, to += 1024) {
        transpose_16(from, step, to);
    }
    transpose_plain(from, step, groups, to);
}

#define VNNI512_TILE(name, BLOCKS, PIXELS)                                     \
    __attribute__((target("avx512f,avx512vnni"))) static void name(            \
        const uint8_t *const *pixels, const struct conv_panel *panel,          \
        const uint8_t *weights, const int32_t *start, int32_t *out)            \
    {                                                                          \
        const size_t step = panel->block_bytes;                                \
        __m512i sums[PIXELS][BLOCKS];                                          \
                                                                               \
        UNROLL for (size_t b = 0; b < (BLOCKS); b++)                           \
        {                                                                      \
            UNROLL for (size_t p = 0; p < (PIXELS); p++)                       \
            {                                                                  \
                sums[p][b] = _mm512_loadu_si512(start + 16 * b);               \
            }                                                                  \
        }                                                                      \
        for (size_t r = 0; r < panel->run_count; r++) {                        \
            size_t at = panel->runs[r].offset;                                 \
            size_t end = at + panel->runs[r].groups * 4u;                      \
                                                                               \
            for (; at < end; at += 4u, weights += 64) {                        \
                __m512i w[BLOCKS];                                             \
                                                                               \
                UNROLL for (size_t b = 0; b < (BLOCKS); b++)                   \
                {                                                              \
                    w[b] = _mm512_loadu_si512(weights + b * step);             \
                }                                                              \
                UNROLL for (size_t p = 0; p < (PIXELS); p++)                   \
                {                                                              \
                    __m512i x = _mm512_set1_epi32(load_group(pixels[p] + at)); \
                                                                               \
                    UNROLL for (size_t b = 0; b < (BLOCKS); b++)               \
                    {                                                          \
                        sums[p][b] = _mm512_dpbusd_epi32(sums[p][b], x, w[b]); \
                    }                                                          \
                }                                                              \
            }                                                                  \
        }                                                                      \
        UNROLL for (size_t p = 0; p < (PIXELS); p++)                           \
        {                                                                      \
            UNROLL for (size_t b = 0; b < (BLOCKS); b++)                       \
            {                                                                  \
                _mm512_storeu_si512(out + p * CONV_GROUP + 16 * b,             \
                                    sums[p][b]);                               \
            }                                                                  \
        }                                                                      \
    }

VNNI512_TILE(vnni512_1_16, 1, 16)
VNNI512_TILE(vnni512_2_12, 2, 12)
VNNI512_TILE(vnni512_3_8, 3, 8)
VNNI512_TILE(vnni512_4_6, 4, 6)
VNNI512_TILE(vnni512_1_1, 1, 1)
VNNI512_TILE(vnni512_2_1, 2, 1)
VNNI512_TILE(vnni512_3_1, 3, 1)
VNNI512_TILE(vnni512_4_1, 4, 1)

static void vnni512_panel(const struct conv_panel *panel)
{
    static const struct tiles tiles[TILE_MAX_BLOCKS] = {
        {16, vnni512_1_16, vnni512_1_1},
        {12, vnni512_2_12, vnni512_2_1},
        {8, vnni512_3_8, vnni512_3_1},
        {6, vnni512_4_6, vnni512_4_1},
    };

    run_tiles(panel, 0, &tiles[panel->blocks - 1u]);
}

static const struct conv_kernels vnni512_kernels = {
    .name = "avx512vnni",
    .kind = KERNEL_BYTES,
    .vectors = VECTOR_AVX512,
    .unit = 1,
    .panel = vnni512_panel,
    .transpose = conv_transpose_avx512,
};

/* 256-bit vectors; step() adds the products of x and w to a sum. */
#define TILE256(name, features, PIXELS, step)                                  \
    __attribute__((target(features))) static void name(                        \
        const uint8_t *const *pixels, const struct conv_panel *panel,          \
        const uint8_t *weights, const int32_t *start, int32_t *out)            \
    {                                                                          \
        const __m256i *from = (const __m256i *)(const void *)start;            \
        __m256i low[PIXELS];                                                   \
        __m256i high[PIXELS];                                                  \
                                                                               \
        UNROLL for (size_t p = 0; p < (PIXELS); p++)                           \
        {                                                                      \
            low[p] = _mm256_loadu_si256(from);                                 \
            high[p] = _mm256_loadu_si256(from + 1);                            \
        }                                                                      \
        for (size_t r = 0; r < panel->run_count; r++) {                        \
            size_t at = panel->runs[r].offset;                                 \
            size_t end = at + panel->runs[r].groups * 4u;                      \
                                                                               \
            for (; at < end; at += 4u, weights += 64) {                        \
                __m256i w0 = _mm256_loadu_si256(                               \
                    (const __m256i *)(const void *)weights);                   \
                __m256i w1 = _mm256_loadu_si256(                               \
                    (const __m256i *)(const void *)(weights + 32));            \
                                                                               \
                UNROLL for (size_t p = 0; p < (PIXELS); p++)                   \
                {                                                              \
                    __m256i x = _mm256_set1_epi32(load_group(pixels[p] + at)); \
                                                                               \
                    low[p] = step(low[p], x, w0);                              \
                    high[p] = step(high[p], x, w1);                            \
                }                                                              \
            }                                                                  \
        }                                                                      \
        UNROLL for (size_t p = 0; p < (PIXELS); p++)                           \
        {                                                                      \
            __m256i *to = (__m256i *)(void *)(out + p * CONV_GROUP);           \
                                                                               \
            _mm256_storeu_si256(to, low[p]);                                   \
            _mm256_storeu_si256(to + 1, high[p]);                              \
        }                                                                      \
    }

#define STEP_VNNI(sum, x, w) _mm256_dpbusd_avx_epi32(sum, x, w)
#define STEP_AVX2(sum, x, w) _mm256_add_epi32(sum, _mm256_madd_epi16(x, w))

TILE256(vnni256_6, "avx2,avxvnni", 6, STEP_VNNI)
TILE256(vnni256_1, "avx2,avxvnni", 1, STEP_VNNI)
TILE256(avx2_6, "avx2", 6, STEP_AVX2)
TILE256(avx2_1, "avx2", 1, STEP_AVX2)

static void vnni256_panel(const struct conv_panel *panel)
{
    static const struct tiles tiles = {6, vnni256_6, vnni256_1};

    for (unsigned block = 0; block < panel->blocks; block++) {
        run_tiles(panel, block, &tiles);
    }
}

static const struct conv_kernels vnni256_kernels = {
    .name = "avxvnni",
    .kind = KERNEL_BYTES,
    .vectors = VECTOR_AVX2,
    .unit = 1,
    .panel = vnni256_panel,
    .transpose = transpose_plain,
};

static void avx2_panel(const struct conv_panel *panel)
{
    static const struct tiles tiles = {6, avx2_6, avx2_1};

    for (unsigned block = 0; block < panel->blocks; block++) {
        run_tiles(panel, block, &tiles);
    }
}

static const struct conv_kernels avx2_kernels = {
    .name = "avx2",
    .kind = KERNEL_WORDS,
    .vectors = VECTOR_AVX2,
    .unit = 1,
    .panel = avx2_panel,
};

#endif

static inline void plain_tile(unsigned pixel_count,
                              const uint8_t *const *pixels,
                              const struct conv_panel *panel,
                              const uint8_t *weights, const int32_t *start,
                              int32_t *out)
{
    int32_t sums[4][TILE_BLOCK];

    for (unsigned p = 0; p < pixel_count; p++) {
        memcpy(sums[p], start, sizeof sums[p]);
    }
    for (size_t r = 0; r < panel->run_count; r++) {
        size_t at = panel->runs[r].offset;
        size_t end = at + panel->runs[r].groups * 4u;

        for (; at < end; at += 4u, weights += 64) {
            int16_t w[2 * TILE_BLOCK];
            int16_t even[TILE_BLOCK];
            int16_t odd[TILE_BLOCK];

            memcpy(w, weights, sizeof w);
            for (unsigned k = 0; k < TILE_BLOCK; k++) {
                even[k] = w[2u * k];
                odd[k] = w[2u * k + 1u];
            }
            for (unsigned p = 0; p < pixel_count; p++) {
                int16_t x[2];

                memcpy(x, pixels[p] + at, sizeof x);
                for (unsigned k = 0; k < TILE_BLOCK; k++) {
                    sums[p][k] += x[0] * even[k] + x[1] * odd[k];
                }
            }
        }
    }
    for (unsigned p = 0; p < pixel_count; p++) {
        memcpy(out + (size_t)p * CONV_GROUP, sums[p], sizeof sums[p]);
    }
}

static void plain_4(const uint8_t *const *pixels,
                    const struct conv_panel *panel, const uint8_t *weights,
                    const int32_t *start, int32_t *out)
{
    plain_tile(4, pixels, panel, weights, start, out);
}

static void plain_1(const uint8_t *const *pixels,
                    const struct conv_panel *panel, const uint8_t *weights,
                    const int32_t *start, int32_t *out)
{
    plain_tile(1, pixels, panel, weights, start, out);
}

static void plain_panel(const struct conv_panel *panel)
{
    static const struct tiles tiles = {4, plain_4, plain_1};

    for (unsigned block = 0; block < panel->blocks; block++) {
        run_tiles(panel, block, &tiles);
    }
}

static const struct conv_kernels plain_kernels = {
    .name = "plain",
    .kind = KERNEL_WORDS,
    .vectors = VECTOR_PLAIN,
    .unit = 1,
    .panel = plain_panel,
};

/*
 * Bytes instead of words, for tests on hosts whose vector units take words:
 * what prepares bytes for others can be tested there as well.
 */
static inline void bytes_tile(bool is_signed, const uint8_t *pixel,
                              const struct conv_panel *panel,
                              const uint8_t *weights, const int32_t *start,
                              int32_t *out)
{
    uint32_t sums[TILE_BLOCK];

    memcpy(sums, start, sizeof sums);
    for (size_t r = 0; r < panel->run_count; r++) {
        const uint8_t *x = pixel + panel->runs[r].offset;

        for (size_t g = 0; g < panel->runs[r].groups; g++, x += 4) {
            for (unsigned k = 0; k < TILE_BLOCK; k++) {
                for (unsigned i = 0; i < 4u; i++, weights++) {
                    int32_t value = is_signed ? (int8_t)x[i] : x[i];

                    /* Modulo 2^32, as in vector units. */
                    sums[k] += (uint32_t)(value * (int8_t)*weights);
                }
            }
        }
    }
    memcpy(out, sums, sizeof sums);
}

static void bytes_1(const uint8_t *const *pixels,
                    const struct conv_panel *panel, const uint8_t *weights,
                    const int32_t *start, int32_t *out)
{
    bytes_tile(false, pixels[0], panel, weights, start, out);
}

static void signed_1(const uint8_t *const *pixels,
                     const struct conv_panel *panel, const uint8_t *weights,
                     const int32_t *start, int32_t *out)
{
    bytes_tile(true, pixels[0], panel, weights, start, out);
}

static void bytes_panel(const struct conv_panel *panel)
{
    static const struct tiles tiles = {1, bytes_1, bytes_1};

    for (unsigned block = 0; block < panel->blocks; block++) {
        run_tiles(panel, block, &tiles);
    }
}

static void signed_panel(const struct conv_panel *panel)
{
    static const struct tiles tiles = {1, signed_1, signed_1};

    for (unsigned block = 0; block < panel->blocks; block++) {
        run_tiles(panel, block, &tiles);
    }
}

static const struct conv_kernels bytes_kernels = {
    .name = "plain-bytes",
    .kind = KERNEL_BYTES,
    .vectors = VECTOR_PLAIN,
    .unit = 1,
    .panel = bytes_panel,
    .transpose = transpose_plain,
};

static const struct conv_kernels signed_kernels = {
    .name = "plain-signed",
    .kind = KERNEL_SIGNED,
    .vectors = VECTOR_PLAIN,
    .unit = 16,
    .panel = signed_panel,
    .transpose = transpose_plain,
};

#ifdef HAVE_X86

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

static bool has_avxvnni(void)
{
    unsigned a = 0;
    unsigned b;
    unsigned c;
    unsigned d;

    /* The operating system's part is the same as AVX2's. */
    return __builtin_cpu_supports("avx2") &&
           __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 4) != 0;
}

#endif

/* Fastest first; NULL where the host cannot. */
static const struct conv_kernels *candidate(unsigned rank)
{
    switch (rank) {
#ifdef HAVE_X86
    case 0:
        return has_avx512() ? conv_kernels_amx() : NULL;
    case 1:
        return has_avx512() && __builtin_cpu_supports("avx512vnni")
                   ? &vnni512_kernels
                   : NULL;
    case 2:
        return has_avxvnni() ? &vnni256_kernels : NULL;
    case 3:
        return __builtin_cpu_supports("avx2") ? &avx2_kernels : NULL;
#endif
    case 4:
        return &plain_kernels;
    /* Only by name. */
    case 5:
        return &bytes_kernels;
    case 6:
        return &signed_kernels;
    default:
        return NULL;
    }
}

#define CANDIDATES 7u

/* What is used; found out once, or forced. */
static _Atomic(const struct conv_kernels *) chosen;

const struct conv_kernels *conv_kernels_select(void)
{
    const struct conv_kernels *kernels =
        atomic_load_explicit(&chosen, memory_order_relaxed);

    if (kernels != NULL) {
        return kernels;
    }
    for (unsigned rank = 0; kernels == NULL; rank++) {
        kernels = candidate(rank);
    }
    atomic_store(&chosen, kernels);
    return kernels;
}

bool conv_kernels_force(const char *name)
{
    if (name == NULL) {
        atomic_store(&chosen, NULL);
        return true;
    }
    for (unsigned rank = 0; rank < CANDIDATES; rank++) {
        const struct conv_kernels *kernels = candidate(rank);

        if (kernels != NULL && strcmp(kernels->name, name) == 0) {
            atomic_store(&chosen, kernels);
            return true;
        }
    }
    return false;
}
