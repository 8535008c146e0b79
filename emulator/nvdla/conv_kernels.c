/*
 * conv_kernels.c - tiles for AVX-512 VNNI, AVX2 and plain C (see the header).
 *
 * Plain C is what other hosts run; compilers turn its inner loop into widening
 * multiply-adds (NEON: smlal).
 */
#include "conv_kernels.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_X86 1
#endif

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static inline int32_t load_group(const uint8_t *bytes)
{
    int32_t result;

    memcpy(&result, bytes, sizeof result);
    return result;
}

#ifdef HAVE_X86

#define VNNI_TILE(name, BLOCKS, PIXELS)                                        \
    __attribute__((target("avx512f,avx512vnni"))) static void name(            \
        const uint8_t *const *pixels, const struct conv_run *runs,             \
        size_t run_count, const uint8_t *weights, int32_t *out)                \
    {                                                                          \
        __m512i sums[PIXELS][BLOCKS];                                          \
                                                                               \
        UNROLL for (int p = 0; p < (PIXELS); p++)                              \
        {                                                                      \
            UNROLL for (int b = 0; b < (BLOCKS); b++)                          \
            {                                                                  \
                sums[p][b] = _mm512_setzero_si512();                           \
            }                                                                  \
        }                                                                      \
        for (size_t r = 0; r < run_count; r++) {                               \
            size_t at = runs[r].offset;                                        \
            size_t end = at + runs[r].groups * 4u;                             \
                                                                               \
            for (; at < end; at += 4u) {                                       \
                __m512i w[BLOCKS];                                             \
                                                                               \
                UNROLL for (int b = 0; b < (BLOCKS); b++)                      \
                {                                                              \
                    w[b] = _mm512_loadu_si512(weights + 64 * b);               \
                }                                                              \
                weights += 64 * (BLOCKS);                                      \
                UNROLL for (int p = 0; p < (PIXELS); p++)                      \
                {                                                              \
                    __m512i x = _mm512_set1_epi32(load_group(pixels[p] + at)); \
                                                                               \
                    UNROLL for (int b = 0; b < (BLOCKS); b++)                  \
                    {                                                          \
                        sums[p][b] = _mm512_dpbusd_epi32(sums[p][b], x, w[b]); \
                    }                                                          \
                }                                                              \
            }                                                                  \
        }                                                                      \
        UNROLL for (int p = 0; p < (PIXELS); p++)                              \
        {                                                                      \
            UNROLL for (int b = 0; b < (BLOCKS); b++)                          \
            {                                                                  \
                _mm512_storeu_si512(out, sums[p][b]);                          \
                out += 16;                                                     \
            }                                                                  \
        }                                                                      \
    }

VNNI_TILE(vnni_1_16, 1, 16)
VNNI_TILE(vnni_2_12, 2, 12)
VNNI_TILE(vnni_3_8, 3, 8)
VNNI_TILE(vnni_4_6, 4, 6)
VNNI_TILE(vnni_1_1, 1, 1)
VNNI_TILE(vnni_2_1, 2, 1)
VNNI_TILE(vnni_3_1, 3, 1)
VNNI_TILE(vnni_4_1, 4, 1)

static const struct conv_kernels vnni_kernels = {
    .name = "avx512vnni",
    .kind = KERNEL_BYTES,
    .max_blocks = 4,
    .wide_pixels = {16, 12, 8, 6},
    .wide = {vnni_1_16, vnni_2_12, vnni_3_8, vnni_4_6},
    .single = {vnni_1_1, vnni_2_1, vnni_3_1, vnni_4_1},
};

#define AVX2_TILE(name, PIXELS)                                                \
    __attribute__((target("avx2"))) static void name(                          \
        const uint8_t *const *pixels, const struct conv_run *runs,             \
        size_t run_count, const uint8_t *weights, int32_t *out)                \
    {                                                                          \
        __m256i low[PIXELS];                                                   \
        __m256i high[PIXELS];                                                  \
                                                                               \
        UNROLL for (int p = 0; p < (PIXELS); p++)                              \
        {                                                                      \
            low[p] = _mm256_setzero_si256();                                   \
            high[p] = _mm256_setzero_si256();                                  \
        }                                                                      \
        for (size_t r = 0; r < run_count; r++) {                               \
            size_t at = runs[r].offset;                                        \
            size_t end = at + runs[r].groups * 4u;                             \
                                                                               \
            for (; at < end; at += 4u, weights += 64) {                        \
                __m256i w0 = _mm256_loadu_si256(                               \
                    (const __m256i *)(const void *)weights);                   \
                __m256i w1 = _mm256_loadu_si256(                               \
                    (const __m256i *)(const void *)(weights + 32));            \
                                                                               \
                UNROLL for (int p = 0; p < (PIXELS); p++)                      \
                {                                                              \
                    __m256i x = _mm256_set1_epi32(load_group(pixels[p] + at)); \
                                                                               \
                    low[p] =                                                   \
                        _mm256_add_epi32(low[p], _mm256_madd_epi16(x, w0));    \
                    high[p] =                                                  \
                        _mm256_add_epi32(high[p], _mm256_madd_epi16(x, w1));   \
                }                                                              \
            }                                                                  \
        }                                                                      \
        UNROLL for (int p = 0; p < (PIXELS); p++)                              \
        {                                                                      \
            _mm256_storeu_si256((__m256i *)(void *)out, low[p]);               \
            _mm256_storeu_si256((__m256i *)(void *)(out + 8), high[p]);        \
            out += 16;                                                         \
        }                                                                      \
    }

AVX2_TILE(avx2_6, 6)
AVX2_TILE(avx2_1, 1)

static const struct conv_kernels avx2_kernels = {
    .name = "avx2",
    .kind = KERNEL_WORDS,
    .max_blocks = 1,
    .wide_pixels = {6, 0, 0, 0},
    .wide = {avx2_6, NULL, NULL, NULL},
    .single = {avx2_1, NULL, NULL, NULL},
};

#endif

static inline void plain_tile(unsigned pixel_count,
                              const uint8_t *const *pixels,
                              const struct conv_run *runs, size_t run_count,
                              const uint8_t *weights, int32_t *out)
{
    int32_t sums[4][TILE_BLOCK] = {{0}};

    for (size_t r = 0; r < run_count; r++) {
        size_t at = runs[r].offset;
        size_t end = at + runs[r].groups * 4u;

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
    memcpy(out, sums, pixel_count * TILE_BLOCK * sizeof *out);
}

static void plain_4(const uint8_t *const *pixels, const struct conv_run *runs,
                    size_t run_count, const uint8_t *weights, int32_t *out)
{
    plain_tile(4, pixels, runs, run_count, weights, out);
}

static void plain_1(const uint8_t *const *pixels, const struct conv_run *runs,
                    size_t run_count, const uint8_t *weights, int32_t *out)
{
    plain_tile(1, pixels, runs, run_count, weights, out);
}

static const struct conv_kernels plain_kernels = {
    .name = "plain",
    .kind = KERNEL_WORDS,
    .max_blocks = 1,
    .wide_pixels = {4, 0, 0, 0},
    .wide = {plain_4, NULL, NULL, NULL},
    .single = {plain_1, NULL, NULL, NULL},
};

/* Fastest first. */
static const struct conv_kernels *const all_kernels[] = {
#ifdef HAVE_X86
    &vnni_kernels, &avx2_kernels,
#endif
    &plain_kernels};

#define KERNELS_COUNT (sizeof all_kernels / sizeof all_kernels[0])

static _Atomic(const struct conv_kernels *) forced;

static bool usable(const struct conv_kernels *kernels)
{
#ifdef HAVE_X86
    if (kernels == &vnni_kernels) {
        return __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512vnni");
    }
    if (kernels == &avx2_kernels) {
        return __builtin_cpu_supports("avx2");
    }
#endif
    return kernels == &plain_kernels;
}

const struct conv_kernels *conv_kernels_select(void)
{
    const struct conv_kernels *chosen = atomic_load(&forced);

    for (size_t i = 0; chosen == NULL; i++) {
        if (usable(all_kernels[i])) {
            chosen = all_kernels[i];
        }
    }
    return chosen;
}

bool nvdla_conv_kernels_force(const char *name)
{
    if (name == NULL) {
        atomic_store(&forced, NULL);
        return true;
    }
    for (size_t i = 0; i < KERNELS_COUNT; i++) {
        if (strcmp(all_kernels[i]->name, name) == 0 && usable(all_kernels[i])) {
            atomic_store(&forced, all_kernels[i]);
            return true;
        }
    }
    return false;
}
