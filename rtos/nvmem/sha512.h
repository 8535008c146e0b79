/*
 * sha512.h - SHA-512 (FIPS 180-4), for Ed25519.
 */
#ifndef FWGEN_SHA512_H
#define FWGEN_SHA512_H

#include <stddef.h>
#include <stdint.h>

/* A digest that is being computed; the members are private. */
struct fwgen_sha512 {
    uint64_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[128];
};

void fwgen_sha512_start(struct fwgen_sha512 *sha);
void fwgen_sha512_take(struct fwgen_sha512 *sha, const void *data,
                       size_t length);
void fwgen_sha512_end(struct fwgen_sha512 *sha, uint8_t digest[64]);

#endif
