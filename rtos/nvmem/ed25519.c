/*
 * ed25519.c - verification of Ed25519 signatures, RFC 8032: 5.1.3 decoding of
 * points, 5.1.4 addition (complete, so that it doubles too), 5.1.7 verification
 * without the cofactor: the encoding of [S]B - [k]A is R.
 */
#include "fwgen_ed25519.h"

#include <string.h>

#include "field25519.h"
#include "fwgen_config_defaults.h"
#include "sha512.h"

#if FWGEN_NVMEM && FWGEN_SIGNED_UPDATE

#define WORDS FWGEN_FIELD_WORDS

/* x = X/Z, y = Y/Z, xy = T/Z. */
struct point {
    struct fwgen_field x, y, z, t;
};

static const struct fwgen_field zero = {{0}};
static const struct fwgen_field one = {{1}};

/* d = -121665/121666 */
static const struct fwgen_field curve_d = {{
    0x135978a3u,
    0x75eb4dcau,
    0x4141d8abu,
    0x00700a4du,
    0x7779e898u,
    0x8cc74079u,
    0x2b6ffe73u,
    0x52036ceeu,
}};

/* 2d */
static const struct fwgen_field double_d = {{
    0x26b2f159u,
    0xebd69b94u,
    0x8283b156u,
    0x00e0149au,
    0xeef3d130u,
    0x198e80f2u,
    0x56dffce7u,
    0x2406d9dcu,
}};

/* 2^((p-1)/4), a square root of -1 */
static const struct fwgen_field root_of_minus_one = {{
    0x4a0ea0b0u,
    0xc4ee1b27u,
    0xad2fe478u,
    0x2f431806u,
    0x3dfbd7a7u,
    0x2b4d0099u,
    0x4fc1df0bu,
    0x2b832480u,
}};

/* B: y = 4/5, x even */
static const struct point base = {
    {{
        0x8f25d51au,
        0xc9562d60u,
        0x9525a7b2u,
        0x692cc760u,
        0xfdd6dc5cu,
        0xc0a4e231u,
        0xcd6e53feu,
        0x216936d3u,
    }},
    {{
        0x66666658u,
        0x66666666u,
        0x66666666u,
        0x66666666u,
        0x66666666u,
        0x66666666u,
        0x66666666u,
        0x66666666u,
    }},
    {{1}},
    {{
        0xa5b7dda3u,
        0x6dde8ab3u,
        0x775152f5u,
        0x20f09f80u,
        0x64abe37du,
        0x66ea4e8eu,
        0xd78b7665u,
        0x67875f0fu,
    }},
};

/* L, the order of B: 2^252 + 27742317777372353535851937790883648493 */
static const uint32_t order[WORDS] = {
    0x5cf5d3edu, 0x5812631au, 0xa2f79cd6u, 0x14def9deu,
    0x00000000u, 0x00000000u, 0x00000000u, 0x10000000u,
};

static void add(struct point *r, const struct point *p, const struct point *q)
{
    struct fwgen_field a, b, c, d, e;

    fwgen_field_subtract(&a, &p->y, &p->x);
    fwgen_field_subtract(&e, &q->y, &q->x);
    fwgen_field_multiply(&a, &a, &e);
    fwgen_field_add(&b, &p->y, &p->x);
    fwgen_field_add(&e, &q->y, &q->x);
    fwgen_field_multiply(&b, &b, &e);
    fwgen_field_multiply(&c, &p->t, &q->t);
    fwgen_field_multiply(&c, &c, &double_d);
    fwgen_field_multiply(&d, &p->z, &q->z);
    fwgen_field_add(&d, &d, &d);
    fwgen_field_subtract(&e, &b, &a); /* E */
    fwgen_field_add(&b, &b, &a);      /* H */
    fwgen_field_subtract(&a, &d, &c); /* F */
    fwgen_field_add(&d, &d, &c);      /* G */
    fwgen_field_multiply(&r->x, &e, &a);
    fwgen_field_multiply(&r->y, &d, &b);
    fwgen_field_multiply(&r->t, &e, &b);
    fwgen_field_multiply(&r->z, &a, &d);
}

static void negate(struct fwgen_field *r)
{
    fwgen_field_subtract(r, &zero, r);
}

/* x of the point with this y, up to its sign; false if there is none. */
static bool find_x(struct fwgen_field *x, const struct fwgen_field *y)
{
    struct fwgen_field u, v, w;

    fwgen_field_square(&u, y, 1);
    fwgen_field_multiply(&v, &u, &curve_d);
    fwgen_field_subtract(&u, &u, &one); /* u = y^2 - 1 */
    fwgen_field_add(&v, &v, &one);      /* v = d y^2 + 1 */
    fwgen_field_square(&w, &v, 1);
    fwgen_field_multiply(&w, &w, &v); /* v^3 */
    fwgen_field_square(x, &w, 1);
    fwgen_field_multiply(x, x, &v); /* v^7 */
    fwgen_field_multiply(x, x, &u);
    fwgen_field_root(x, x);
    fwgen_field_multiply(x, x, &w);
    fwgen_field_multiply(x, x, &u); /* u v^3 (u v^7)^((p-5)/8) */
    fwgen_field_square(&w, x, 1);
    fwgen_field_multiply(&w, &w, &v);
    if (fwgen_field_is_equal(&w, &u)) {
        return true;
    }
    negate(&u);
    if (!fwgen_field_is_equal(&w, &u)) {
        return false;
    }
    fwgen_field_multiply(x, x, &root_of_minus_one);
    return true;
}

static bool is_odd(const struct fwgen_field *a)
{
    uint8_t bytes[32];

    fwgen_field_bytes(bytes, a);
    return (bytes[0] & 1u) != 0u;
}

static bool decode(struct point *p, const uint8_t bytes[32])
{
    const bool odd = (bytes[31] & 0x80u) != 0u;
    uint8_t back[32];

    fwgen_field_from(&p->y, bytes);
    p->y.word[WORDS - 1u] &= 0x7fffffffu;
    fwgen_field_bytes(back, &p->y);
    back[31] |= odd ? 0x80u : 0u;
    if (memcmp(back, bytes, sizeof(back)) != 0 || !find_x(&p->x, &p->y)) {
        return false; /* y is not below p, or on no point */
    }
    if (odd && fwgen_field_is_zero(&p->x)) {
        return false;
    }
    if (is_odd(&p->x) != odd) {
        negate(&p->x);
    }
    p->z = one;
    fwgen_field_multiply(&p->t, &p->x, &p->y);
    return true;
}

static void encode(uint8_t bytes[32], const struct point *p)
{
    struct fwgen_field inverse, x, y;

    fwgen_field_invert(&inverse, &p->z);
    fwgen_field_multiply(&x, &p->x, &inverse);
    fwgen_field_multiply(&y, &p->y, &inverse);
    fwgen_field_bytes(bytes, &y);
    bytes[31] |= is_odd(&x) ? 0x80u : 0u;
}

/* ---- scalars ---- */

/* Subtracts the order if the scalar is not smaller; true if it was not. */
static bool reduce_once(uint32_t scalar[WORDS])
{
    uint32_t less[WORDS];
    uint32_t borrow = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        const uint64_t difference = (uint64_t)scalar[i] - order[i] - borrow;

        less[i] = (uint32_t)difference;
        borrow = (uint32_t)(difference >> 63);
    }
    if (borrow != 0u) {
        return false;
    }
    (void)memcpy(scalar, less, sizeof(less));
    return true;
}

/* A number of 512 bits modulo the order, bit by bit from the top. */
static void reduce(uint32_t scalar[WORDS], const uint8_t bytes[64])
{
    (void)memset(scalar, 0, WORDS * sizeof(scalar[0]));
    for (uint32_t i = 512; i != 0u; i--) {
        uint32_t carry =
            (uint32_t)(bytes[(i - 1u) / 8u] >> ((i - 1u) & 7u)) & 1u;

        for (uint32_t j = 0; j < WORDS; j++) {
            const uint32_t word = scalar[j];

            scalar[j] = word << 1 | carry;
            carry = word >> 31;
        }
        (void)reduce_once(scalar);
    }
}

static uint32_t bit(const uint32_t scalar[WORDS], uint32_t index)
{
    return scalar[index / 32u] >> (index & 31u) & 1u;
}

/* r = [s]B + [k]a, both at once. */
static void combine(struct point *r, const uint32_t s[WORDS],
                    const uint32_t k[WORDS], const struct point *a)
{
    struct point both;

    add(&both, &base, a);
    r->x = zero;
    r->y = one;
    r->z = one;
    r->t = zero;
    for (uint32_t i = 253; i != 0u; i--) {
        const uint32_t which = bit(s, i - 1u) | bit(k, i - 1u) << 1;

        add(r, r, r);
        if (which == 1u) {
            add(r, r, &base);
        } else if (which == 2u) {
            add(r, r, a);
        } else if (which == 3u) {
            add(r, r, &both);
        } else {
            /* neither */
        }
    }
}

bool fwgen_ed25519_verify(const uint8_t signature[64], const uint8_t key[32],
                          const void *message, size_t length)
{
    struct fwgen_sha512 sha;
    struct fwgen_field scalar;
    uint8_t digest[64];
    uint8_t encoded[32];
    uint32_t s[WORDS];
    uint32_t k[WORDS];
    struct point a;
    struct point r;

    fwgen_field_from(&scalar, &signature[32]);
    (void)memcpy(s, scalar.word, sizeof(s));
    if (reduce_once(s) || !decode(&a, key)) {
        return false; /* S is not below the order, or the key is no point */
    }
    fwgen_sha512_start(&sha);
    fwgen_sha512_take(&sha, signature, 32);
    fwgen_sha512_take(&sha, key, 32);
    fwgen_sha512_take(&sha, message, length);
    fwgen_sha512_end(&sha, digest);
    reduce(k, digest);
    negate(&a.x);
    negate(&a.t);
    combine(&r, s, k, &a);
    encode(encoded, &r);
    return memcmp(encoded, signature, sizeof(encoded)) == 0;
}

#endif
