/*
 * lut.c - look-up with interpolation, as SDP (Y stage) and CDP do it.
 *
 * LE has 65 entries over an exponential or a linear range, LO 257 over a
 * linear one. Each table says for an input: hit, underflow or overflow. Both
 * under or both over: the under/overflow priority chooses; exactly one hit:
 * that table; both hit or one under and one over: the hybrid priority. A miss
 * continues the table's end with a slope.
 *
 * An input at or below START underflows in every mode.
 */
#include "lut.h"

#include "arith.h"

enum outcome { OUTCOME_HIT, OUTCOME_UNDERFLOW, OUTCOME_OVERFLOW };

struct position {
    enum outcome outcome;
    unsigned index;
    int64_t fraction; /* of 2^fraction_bits */
};

static unsigned floor_log2(uint64_t value)
{
    unsigned result = 0;

    while (value > 1) {
        value >>= 1;
        result++;
    }
    return result;
}

/* Bits of value below 2^point as a fraction of that many bits. */
static int64_t fraction_of(uint64_t value, unsigned point, unsigned bits)
{
    uint64_t low = point >= 64u ? value : value & (((uint64_t)1 << point) - 1u);

    if (point <= bits) {
        return (int64_t)(low << (bits - point));
    }
    return point - bits >= 64u ? 0 : (int64_t)(low >> (point - bits));
}

static struct position locate_linear(int64_t x, int64_t start, int select,
                                     unsigned entries, unsigned bits)
{
    struct position position = {OUTCOME_UNDERFLOW, 0, 0};

    if (x <= start) {
        return position;
    }

    uint64_t distance = (uint64_t)(x - start);
    uint64_t index;

    if (select >= 0) {
        index = select >= 64 ? 0 : distance >> select;
        position.fraction = fraction_of(distance, (unsigned)select, bits);
    } else {
        /* distance >= 1: a left shift of 9 or more passes every table. */
        index = select < -16 ? entries : distance << -select;
    }
    if (index >= entries - 1u) {
        position.outcome = OUTCOME_OVERFLOW;
        return position;
    }
    position.outcome = OUTCOME_HIT;
    position.index = (unsigned)index;
    return position;
}

static struct position locate_exponent(int64_t x, int64_t start, int offset,
                                       unsigned bits)
{
    struct position position = {OUTCOME_UNDERFLOW, 0, 0};

    if (x <= start) {
        return position;
    }

    uint64_t distance = (uint64_t)(x - start);
    unsigned power = floor_log2(distance);

    if ((int)power < offset) {
        return position;
    }
    if ((int)power - offset >= (int)LUT_LE_SIZE - 1) {
        position.outcome = OUTCOME_OVERFLOW;
        return position;
    }
    position.outcome = OUTCOME_HIT;
    position.index = (unsigned)((int)power - offset);
    position.fraction = fraction_of(distance, power, bits);
    return position;
}

static int64_t interpolate(const struct nvdla_lut_config *config,
                           const int16_t *table,
                           const struct position *position)
{
    int64_t y0 = table[position->index];
    int64_t y1 = table[position->index + 1u];
    int64_t one = (int64_t)1 << config->fraction_bits;
    int64_t result;

    if (config->interpolate_delta) {
        result = y0 + nvdla_round_shift((y1 - y0) * position->fraction,
                                        config->fraction_bits);
    } else {
        result = nvdla_round_shift(y0 * (one - position->fraction) +
                                       y1 * position->fraction,
                                   config->fraction_bits);
    }
    return nvdla_saturate(result, config->result_bits);
}

static int64_t extend(const struct nvdla_lut_config *config, int64_t y,
                      int64_t x, int64_t base,
                      const struct nvdla_lut_slope *slope)
{
    int64_t q = nvdla_signed_shift((x - base) * slope->scale, slope->shift,
                                   config->slope_bits);

    return nvdla_saturate(y + q, config->result_bits);
}

static int64_t le_value(const struct nvdla_lut_config *config,
                        const int16_t *table, int64_t x,
                        const struct position *position)
{
    int64_t base = config->le_start;

    switch (position->outcome) {
    case OUTCOME_UNDERFLOW:
        if (!config->le_linear &&
            (config->le_offset > 0 ||
             (config->offset_zero_counts && config->le_offset == 0))) {
            /* The first entry stands at START + 2^offset. From 2^47 on every
             * slope but 0 saturates the result, so the cap changes nothing;
             * it keeps the product below 2^63. */
            int power = config->le_offset < 47 ? config->le_offset : 47;

            base += (int64_t)1 << power;
        }
        return extend(config, table[0], x, base, &config->le_underflow);
    case OUTCOME_OVERFLOW:
        return extend(config, table[LUT_LE_SIZE - 1u], x, config->le_end,
                      &config->le_overflow);
    case OUTCOME_HIT:
    default:
        return interpolate(config, table, position);
    }
}

static int64_t lo_value(const struct nvdla_lut_config *config,
                        const int16_t *table, int64_t x,
                        const struct position *position)
{
    switch (position->outcome) {
    case OUTCOME_UNDERFLOW:
        return extend(config, table[0], x, config->lo_start,
                      &config->lo_underflow);
    case OUTCOME_OVERFLOW:
        return extend(config, table[LUT_LO_SIZE - 1u], x, config->lo_end,
                      &config->lo_overflow);
    case OUTCOME_HIT:
    default:
        return interpolate(config, table, position);
    }
}

int64_t nvdla_lut_lookup(const struct nvdla_lut_config *config,
                         const struct nvdla_lut_tables *tables, int64_t x,
                         struct nvdla_lut_counters *counters)
{
    struct position le =
        config->le_linear
            ? locate_linear(x, config->le_start, config->le_select, LUT_LE_SIZE,
                            config->fraction_bits)
            : locate_exponent(x, config->le_start, config->le_offset,
                              config->fraction_bits);
    struct position lo = locate_linear(x, config->lo_start, config->lo_select,
                                       LUT_LO_SIZE, config->fraction_bits);
    bool use_lo;

    if (le.outcome == OUTCOME_UNDERFLOW && lo.outcome == OUTCOME_UNDERFLOW) {
        use_lo = config->underflow_lo;
        counters->underflow++;
    } else if (le.outcome == OUTCOME_OVERFLOW &&
               lo.outcome == OUTCOME_OVERFLOW) {
        use_lo = config->overflow_lo;
        counters->overflow++;
    } else if ((le.outcome == OUTCOME_HIT) != (lo.outcome == OUTCOME_HIT)) {
        use_lo = lo.outcome == OUTCOME_HIT;
        if (use_lo) {
            counters->lo_hit++;
        } else {
            counters->le_hit++;
        }
    } else {
        use_lo = config->hybrid_lo;
        counters->hybrid++;
    }
    return use_lo ? lo_value(config, tables->lo, x, &lo)
                  : le_value(config, tables->le, x, &le);
}
