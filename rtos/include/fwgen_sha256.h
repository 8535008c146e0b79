/*
 * fwgen_sha256.h - SHA-256 (FIPS 180-4), piece by piece, without tables in RAM.
 */
#ifndef FWGEN_SHA256_H
#define FWGEN_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define FWGEN_SHA256_SIZE 32u

/* A digest that is being computed; the members are private. */
struct fwgen_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

/* Starts a digest. Any context, as the others. */
void fwgen_sha256_start(struct fwgen_sha256 *sha);

/* Takes `length` bytes more. */
void fwgen_sha256_take(struct fwgen_sha256 *sha, const void *data,
                       size_t length);

/* The digest of all bytes taken; the object must be started anew after it. */
void fwgen_sha256_end(struct fwgen_sha256 *sha,
                      uint8_t digest[FWGEN_SHA256_SIZE]);

#endif
