/*
 * sha256.c - SHA-256 as FIPS 180-4 (2015) describes it: section 4.1.2 the
 * functions, 4.2.2 the constants, 5.1.1 the padding, 6.2.2 the computation.
 */
#include "fwgen_sha256.h"

#include <string.h>

#include "fwgen_config_defaults.h"

#if FWGEN_NVMEM

static const uint32_t constants[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu,
    0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u,
    0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u,
    0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu,
    0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u,
    0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u,
    0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu,
    0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u,
    0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u, 0x1e376c08u,
    0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu,
    0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u,
    0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u,
};

static uint32_t rotate(uint32_t word, uint32_t by)
{
    return word >> by | word << (32u - by);
}

/* The message schedule is kept as its last 16 words. */
static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[16];
    uint32_t v[8];

    for (uint32_t i = 0; i < 16u; i++) {
        w[i] = (uint32_t)block[4u * i] << 24 |
               (uint32_t)block[4u * i + 1u] << 16 |
               (uint32_t)block[4u * i + 2u] << 8 | block[4u * i + 3u];
    }
    (void)memcpy(v, state, sizeof(v));
    for (uint32_t i = 0; i < 64u; i++) {
        uint32_t *word = &w[i & 15u];
        uint32_t t1;
        uint32_t t2;

        if (i >= 16u) {
            const uint32_t a = w[(i + 1u) & 15u];
            const uint32_t b = w[(i + 14u) & 15u];

            *word += (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
                     w[(i + 9u) & 15u] +
                     (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
        }
        t1 = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
             ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + *word;
        t2 = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
             ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        for (uint32_t j = 7; j != 0u; j--) {
            v[j] = v[j - 1u];
        }
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (uint32_t i = 0; i < 8u; i++) {
        state[i] += v[i];
    }
}

void fwgen_sha256_start(struct fwgen_sha256 *sha)
{
    static const uint32_t start[8] = {
        0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
        0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u,
    };

    (void)memcpy(sha->state, start, sizeof(start));
    sha->length = 0;
}

void fwgen_sha256_take(struct fwgen_sha256 *sha, const void *data,
                       size_t length)
{
    const uint8_t *bytes = data;
    uint32_t fill = (uint32_t)(sha->length & 63u);

    sha->length += length;
    while (length != 0u) {
        const size_t room = 64u - fill;
        const size_t part = length < room ? length : room;

        (void)memcpy(&sha->block[fill], bytes, part);
        bytes += part;
        length -= part;
        fill += (uint32_t)part;
        if (fill == 64u) {
            compress(sha->state, sha->block);
            fill = 0;
        }
    }
}

void fwgen_sha256_end(struct fwgen_sha256 *sha,
                      uint8_t digest[FWGEN_SHA256_SIZE])
{
    const uint64_t bits = sha->length * 8u;
    uint32_t fill = (uint32_t)(sha->length & 63u);

    sha->block[fill++] = 0x80;
    if (fill > 56u) {
        (void)memset(&sha->block[fill], 0, 64u - fill);
        compress(sha->state, sha->block);
        fill = 0;
    }
    (void)memset(&sha->block[fill], 0, 56u - fill);
    for (uint32_t i = 0; i < 8u; i++) {
        sha->block[56u + i] = (uint8_t)(bits >> (56u - 8u * i));
    }
    compress(sha->state, sha->block);
    for (uint32_t i = 0; i < FWGEN_SHA256_SIZE; i++) {
        digest[i] = (uint8_t)(sha->state[i / 4u] >> (24u - 8u * (i & 3u)));
    }
}

#endif
