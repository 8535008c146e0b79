/*
 * field25519.c - arithmetic modulo 2^255 - 19 (RFC 7748, section 4.1), by plain
 * multiplication of words. 2^256 is 38 modulo p: what does not fit 256 bits
 * comes back times 38.
 */
#include "field25519.h"

#include <string.h>

#include "fwgen_config_defaults.h"

#if FWGEN_NVMEM && FWGEN_SIGNED_UPDATE

#define WORDS FWGEN_FIELD_WORDS
#define FOLD 38u /* 2^256 modulo p */

static const uint32_t prime[WORDS] = {
    0xffffffedu, 0xffffffffu, 0xffffffffu, 0xffffffffu,
    0xffffffffu, 0xffffffffu, 0xffffffffu, 0x7fffffffu,
};

/* Adds a small number times 2^256 to r. */
static void fold(struct fwgen_field *r, uint32_t over)
{
    uint64_t carry = (uint64_t)over * FOLD;

    /* twice: what is carried out of the first round is 1, and then r is small
     */
    for (uint32_t round = 0; round < 2u; round++) {
        for (uint32_t i = 0; i < WORDS; i++) {
            carry += r->word[i];
            r->word[i] = (uint32_t)carry;
            carry >>= 32;
        }
        carry *= FOLD;
    }
}

void fwgen_field_add(struct fwgen_field *r, const struct fwgen_field *a,
                     const struct fwgen_field *b)
{
    uint64_t carry = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        carry += (uint64_t)a->word[i] + b->word[i];
        r->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    fold(r, (uint32_t)carry);
}

void fwgen_field_subtract(struct fwgen_field *r, const struct fwgen_field *a,
                          const struct fwgen_field *b)
{
    uint32_t borrow = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        const uint64_t difference = (uint64_t)a->word[i] - b->word[i] - borrow;

        r->word[i] = (uint32_t)difference;
        borrow = (uint32_t)(difference >> 63);
    }
    /* 2^256 too much is 38 too much; twice at most */
    for (uint32_t round = 0; round < 2u; round++) {
        uint32_t under = borrow * FOLD;

        borrow = 0;
        for (uint32_t i = 0; i < WORDS; i++) {
            const uint64_t difference = (uint64_t)r->word[i] - under;

            r->word[i] = (uint32_t)difference;
            under = (uint32_t)(difference >> 63);
        }
        borrow = under;
    }
}

void fwgen_field_multiply(struct fwgen_field *r, const struct fwgen_field *a,
                          const struct fwgen_field *b)
{
    uint32_t product[2u * WORDS];
    uint64_t carry = 0;

    (void)memset(product, 0, sizeof(product));
    for (uint32_t i = 0; i < WORDS; i++) {
        carry = 0;
        for (uint32_t j = 0; j < WORDS; j++) {
            carry += (uint64_t)a->word[i] * b->word[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + WORDS] = (uint32_t)carry;
    }
    carry = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        carry += (uint64_t)product[i + WORDS] * FOLD + product[i];
        r->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    fold(r, (uint32_t)carry);
}

void fwgen_field_square(struct fwgen_field *r, const struct fwgen_field *a,
                        uint32_t count)
{
    *r = *a;
    for (uint32_t i = 0; i < count; i++) {
        fwgen_field_multiply(r, r, r);
    }
}

/* r = a^(2^250 - 1), and *eleven = a^11. */
static void power_250(struct fwgen_field *r, struct fwgen_field *eleven,
                      const struct fwgen_field *a)
{
    struct fwgen_field x;
    struct fwgen_field y;
    struct fwgen_field z;

    fwgen_field_square(&x, a, 1);         /* 2 */
    fwgen_field_square(&y, &x, 2);        /* 8 */
    fwgen_field_multiply(&y, &y, a);      /* 9 */
    fwgen_field_multiply(eleven, &y, &x); /* 11 */
    fwgen_field_square(&x, eleven, 1);    /* 22 */
    fwgen_field_multiply(&x, &x, &y);     /* 2^5 - 1 */
    fwgen_field_square(&y, &x, 5);
    fwgen_field_multiply(&x, &y, &x); /* 2^10 - 1 */
    fwgen_field_square(&y, &x, 10);
    fwgen_field_multiply(&y, &y, &x); /* 2^20 - 1 */
    fwgen_field_square(&z, &y, 20);
    fwgen_field_multiply(&y, &z, &y); /* 2^40 - 1 */
    fwgen_field_square(&y, &y, 10);
    fwgen_field_multiply(&x, &y, &x); /* 2^50 - 1 */
    fwgen_field_square(&y, &x, 50);
    fwgen_field_multiply(&y, &y, &x); /* 2^100 - 1 */
    fwgen_field_square(&z, &y, 100);
    fwgen_field_multiply(&y, &z, &y); /* 2^200 - 1 */
    fwgen_field_square(&y, &y, 50);
    fwgen_field_multiply(r, &y, &x); /* 2^250 - 1 */
}

void fwgen_field_invert(struct fwgen_field *r, const struct fwgen_field *a)
{
    struct fwgen_field eleven;
    struct fwgen_field x;

    power_250(&x, &eleven, a);
    fwgen_field_square(&x, &x, 5);
    fwgen_field_multiply(r, &x, &eleven); /* 2^255 - 21 = p - 2 */
}

void fwgen_field_root(struct fwgen_field *r, const struct fwgen_field *a)
{
    const struct fwgen_field base = *a;
    struct fwgen_field eleven;
    struct fwgen_field x;

    power_250(&x, &eleven, a);
    fwgen_field_square(&x, &x, 2);
    fwgen_field_multiply(r, &x, &base); /* 2^252 - 3 */
}

/* a minus p, if a is not smaller; true if it was not. */
static bool reduce_once(uint32_t word[WORDS])
{
    uint32_t less[WORDS];
    uint32_t borrow = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        const uint64_t difference = (uint64_t)word[i] - prime[i] - borrow;

        less[i] = (uint32_t)difference;
        borrow = (uint32_t)(difference >> 63);
    }
    if (borrow != 0u) {
        return false;
    }
    (void)memcpy(word, less, sizeof(less));
    return true;
}

void fwgen_field_bytes(uint8_t bytes[32], const struct fwgen_field *a)
{
    uint32_t word[WORDS];

    (void)memcpy(word, a->word, sizeof(word));
    /* below 2^256 = 2p + 38: two subtractions are enough */
    if (reduce_once(word)) {
        (void)reduce_once(word);
    }
    for (uint32_t i = 0; i < 32u; i++) {
        bytes[i] = (uint8_t)(word[i / 4u] >> (8u * (i & 3u)));
    }
}

void fwgen_field_from(struct fwgen_field *r, const uint8_t bytes[32])
{
    for (uint32_t i = 0; i < WORDS; i++) {
        r->word[i] = (uint32_t)bytes[4u * i] |
                     (uint32_t)bytes[4u * i + 1u] << 8 |
                     (uint32_t)bytes[4u * i + 2u] << 16 |
                     (uint32_t)bytes[4u * i + 3u] << 24;
    }
}

bool fwgen_field_is_equal(const struct fwgen_field *a,
                          const struct fwgen_field *b)
{
    uint8_t left[32];
    uint8_t right[32];

    fwgen_field_bytes(left, a);
    fwgen_field_bytes(right, b);
    return memcmp(left, right, sizeof(left)) == 0;
}

bool fwgen_field_is_zero(const struct fwgen_field *a)
{
    static const struct fwgen_field zero = {{0}};

    return fwgen_field_is_equal(a, &zero);
}

#endif
