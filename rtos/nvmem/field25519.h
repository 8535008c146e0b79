/*
 * field25519.h - integers modulo p = 2^255 - 19, eight words of 32 bits. A
 * value may be any number below 2^256; fwgen_field_bytes gives the one below p.
 */
#ifndef FWGEN_FIELD25519_H
#define FWGEN_FIELD25519_H

#include <stdbool.h>
#include <stdint.h>

#define FWGEN_FIELD_WORDS 8u

struct fwgen_field {
    uint32_t word[FWGEN_FIELD_WORDS]; /* least significant first */
};

/* r may be one of the operands. */
void fwgen_field_add(struct fwgen_field *r, const struct fwgen_field *a,
                     const struct fwgen_field *b);
void fwgen_field_subtract(struct fwgen_field *r, const struct fwgen_field *a,
                          const struct fwgen_field *b);
void fwgen_field_multiply(struct fwgen_field *r, const struct fwgen_field *a,
                          const struct fwgen_field *b);

/* r = a to the power of 2^count. */
void fwgen_field_square(struct fwgen_field *r, const struct fwgen_field *a,
                        uint32_t count);

/* r = 1/a, or 0 for 0. */
void fwgen_field_invert(struct fwgen_field *r, const struct fwgen_field *a);

/* r = a to the power of (p - 5)/8, the heart of square roots. */
void fwgen_field_root(struct fwgen_field *r, const struct fwgen_field *a);

/* The 32 bytes of the number below p, least significant first. */
void fwgen_field_bytes(uint8_t bytes[32], const struct fwgen_field *a);
void fwgen_field_from(struct fwgen_field *r, const uint8_t bytes[32]);

bool fwgen_field_is_equal(const struct fwgen_field *a,
                          const struct fwgen_field *b);
bool fwgen_field_is_zero(const struct fwgen_field *a);

#endif
