/*
 * lut.c - look-up in two tables (lut.h).
 */
#include "lut.h"

#include <stdbool.h>

#include "arith.h"

#define WIDE_FRACTION 35u
#define NARROW_FRACTION 16u

enum place_kind {
    PLACE_BELOW,
    PLACE_IN,
    PLACE_ABOVE,
};

/* Where a value lies in a table. */
struct place {
    enum place_kind kind;
    uint32_t index;
    int64_t fraction;
};

/* low / 2^bits as a fraction of `fraction` bits, rounded down. */
static int64_t scaled(uint64_t low, uint32_t bits, uint32_t fraction)
{
    return (int64_t)(bits <= fraction ? low << (fraction - bits)
                                      : low >> (bits - fraction));
}

static struct place linear(int64_t x, int64_t start, int32_t select,
                           uint32_t last, uint32_t fraction)
{
    struct place place = {PLACE_BELOW, 0, 0};
    const uint64_t u = (uint64_t)(x - start);
    uint64_t index;

    if (x <= start) {
        return place;
    }
    if (select >= 0) {
        const uint32_t shift = select < 62 ? (uint32_t)select : 62u;

        index = u >> shift;
        place.fraction =
            scaled(u & (((uint64_t)1 << shift) - 1u), shift, fraction);
    } else {
        /* 1 shifted by 10 lies behind the end of either table */
        index = (u < 1024u ? u : 1024u) << (select > -10 ? -select : 10);
    }
    place.kind = index >= last ? PLACE_ABOVE : PLACE_IN;
    place.index = index >= last ? last - 1u : (uint32_t)index;
    return place;
}

static uint32_t floor_log2(uint64_t u)
{
    uint32_t exponent = 0;

    for (uint32_t step = 32; step != 0u; step >>= 1) {
        if ((u >> step) != 0u) {
            u >>= step;
            exponent += step;
        }
    }
    return exponent;
}

static struct place exponential(int64_t x, int64_t start, int32_t offset,
                                uint32_t last, uint32_t fraction)
{
    struct place place = {PLACE_BELOW, 0, 0};
    const uint64_t u = (uint64_t)(x - start);
    int32_t index;
    uint32_t exponent;

    if (x <= start) {
        return place;
    }
    exponent = floor_log2(u);
    index = (int32_t)exponent - offset;
    if (index < 0) {
        return place;
    }
    place.fraction = scaled(u - ((uint64_t)1 << exponent), exponent, fraction);
    place.kind = (uint32_t)index >= last ? PLACE_ABOVE : PLACE_IN;
    place.index = (uint32_t)index >= last ? last - 1u : (uint32_t)index;
    return place;
}

/* What the two forms of the look-up differ in. */
struct form {
    uint32_t fraction;
    uint32_t slope_bits;
    uint32_t result_bits;
};

static const struct form wide = {WIDE_FRACTION, 32u, 32u};
static const struct form narrow = {NARROW_FRACTION, 56u, 16u};

static int64_t interpolated(const struct place *place, const int16_t *table,
                            const struct form *form)
{
    const int64_t y0 = table[place->index];
    const int64_t y1 = table[place->index + 1u];

    if (form->fraction == WIDE_FRACTION) {
        const int64_t one = (int64_t)1 << WIDE_FRACTION;

        return fwgen_round_shift(
            y0 * (one - place->fraction) + y1 * place->fraction, WIDE_FRACTION);
    }
    return y0 + fwgen_round_shift((y1 - y0) * place->fraction, form->fraction);
}

static int64_t outside(int64_t x, int64_t base, int16_t entry,
                       const struct fwgen_lut_slope *slope,
                       const struct form *form)
{
    return entry + fwgen_shift((x - base) * slope->scale, slope->shift,
                               form->slope_bits);
}

static bool takes_l(const struct fwgen_lut *lut, const struct place *e,
                    const struct place *l)
{
    if (e->kind == l->kind && e->kind != PLACE_IN) {
        return (lut->flags & (e->kind == PLACE_BELOW ? FWGEN_LUT_BELOW_L
                                                     : FWGEN_LUT_ABOVE_L)) !=
               0u;
    }
    if ((e->kind == PLACE_IN) != (l->kind == PLACE_IN)) {
        return l->kind == PLACE_IN;
    }
    return (lut->flags & FWGEN_LUT_MIXED_L) != 0u;
}

static int32_t look_up(const struct fwgen_lut *lut, int64_t x,
                       const struct form *form)
{
    const struct place e =
        (lut->flags & FWGEN_LUT_E_LINEAR) != 0u
            ? linear(x, lut->e_start, lut->e_select, FWGEN_LUT_E_ENTRIES - 1,
                     form->fraction)
            : exponential(x, lut->e_start, lut->e_offset,
                          FWGEN_LUT_E_ENTRIES - 1, form->fraction);
    const struct place l = linear(x, lut->l_start, lut->l_select,
                                  FWGEN_LUT_L_ENTRIES - 1, form->fraction);
    const bool use_l = takes_l(lut, &e, &l);
    const struct place *place = use_l ? &l : &e;
    int64_t y;

    if (place->kind == PLACE_IN) {
        y = interpolated(place, use_l ? lut->l : lut->e, form);
    } else if (place->kind == PLACE_BELOW) {
        y = use_l ? outside(x, lut->l_start, lut->l[0], &lut->l_below, form)
                  : outside(x, lut->e_base, lut->e[0], &lut->e_below, form);
    } else {
        y = use_l ? outside(x, lut->l_end, lut->l[FWGEN_LUT_L_ENTRIES - 1],
                            &lut->l_above, form)
                  : outside(x, lut->e_end, lut->e[FWGEN_LUT_E_ENTRIES - 1],
                            &lut->e_above, form);
    }
    return (int32_t)fwgen_saturate(y, form->result_bits);
}

int32_t fwgen_lut_wide(const struct fwgen_lut *lut, int32_t x)
{
    return look_up(lut, x, &wide);
}

int32_t fwgen_lut_narrow(const struct fwgen_lut *lut, int32_t x)
{
    return look_up(lut, x, &narrow);
}
