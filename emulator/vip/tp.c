/*
 * tp.c - the TP engine: checks a descriptor and runs its tiles (tp.h).
 *
 * For each plane, for each tile down and across: for each output row and
 * column, the maximum of the taps passes the value function and is stored.
 * A tile that has fewer rows or columns left than taps is not run, unless it
 * is the first.
 *
 * Output addresses: seven counters, each with an increment; the sum of their
 * products with the output address is where the next byte goes, and counter 0
 * advances. A counter that reaches its count (0: none) starts again and
 * advances the next one. Loops 1, 2 and 3 may instead be ended by an event: the
 * end of an output row (loops 0 and 1, reset 1) or of a tile (loop 2, reset 2;
 * loop 3, reset 3).
 *
 * Refused: everything else than uint8, tile lists, squares, products, averages,
 * suppression of non-maxima, reordering, pre-shifts; a border other than zero
 * or the nearest pixel.
 */
#include "tp.h"

#include <inttypes.h>

#include "buffer_pool.h"

enum { PROCESS_NONE = 0, PROCESS_MAX = 1, PROCESS_MAX_STRIDE_2 = 3 };

/* Fields that must hold one value. */
static const struct {
    uint8_t word, low, count;
    uint32_t value;
    const char *name;
} fixed_fields[] = {
    {6, 2, 1, 0, "tile list in memory"},
    {6, 3, 1, 1, "image in memory"},
    {6, 4, 1, 1, "integer to float"},
    {6, 5, 1, 0, "square"},
    {6, 18, 1, 0, "reserved bit"},
    {6, 26, 1, 0, "non-maximum suppression"},
    {6, 28, 1, 0, "multiplication"},
    {6, 29, 1, 1, "float to integer"},
    {12, 0, 1, 0, "skip at border"},
    {12, 1, 1, 1, "output in memory"},
    {12, 5, 23, 0, "brick, filter, shift and type bits (uint8 only)"},
    {12, 29, 1, 0, "relu"},
    {24, 0, 5, 10, "flat, integer rounding"},
    {24, 5, 5, 0, "input pre-shift"},
    {24, 15, 9, 0, "reordering"},
    {24, 28, 4, 0, "reserved bits"},
    {29, 0, 16, 0, "border constant"},
};

struct tp_loops {
    uint32_t increment[TP_LOOPS];
    uint32_t count[TP_LOOPS]; /* 0: ended by an event or never */
    uint32_t counter[TP_LOOPS];
    bool reset[4]; /* of loops 1, 2, 3 */
    uint32_t address;
};

static bool check_fields(const struct tp_job *job)
{
    const uint32_t *w = job->words;

    for (size_t i = 0; i < sizeof fixed_fields / sizeof fixed_fields[0]; i++) {
        uint32_t value = vip_bits(w, fixed_fields[i].word, fixed_fields[i].low,
                                  fixed_fields[i].count);

        if (value != fixed_fields[i].value) {
            return vip_job_error(
                job->memory,
                "word %u bits %u..%u (%s) = 0x%" PRIx32 ": only 0x%" PRIx32
                " is modelled",
                fixed_fields[i].word, fixed_fields[i].low,
                fixed_fields[i].low + fixed_fields[i].count - 1u,
                fixed_fields[i].name, value, fixed_fields[i].value);
        }
    }
    if (vip_bits(w, 6, 27, 1) != 0 && vip_bits(w, 6, 30, 2) != 3u) {
        return vip_job_error(job->memory,
                             "word 6 bits 27..31: the look-up table is used "
                             "but not loaded from memory");
    }
    if (vip_bits(w, 24, 24, 2) > 1u) {
        return vip_job_error(job->memory,
                             "word 24 bits 24..25 (border mode) = %" PRIu32
                             ": 0 and 1 are modelled",
                             vip_bits(w, 24, 24, 2));
    }
    return true;
}

static bool read_filter(const struct tp_job *job, unsigned process,
                        uint32_t taps_less_one, const char *direction,
                        struct tp_filter *filter)
{
    filter->taps = process == PROCESS_NONE ? 1u : taps_less_one + 1u;
    filter->stride = process == PROCESS_MAX_STRIDE_2 ? 2u : 1u;
    if (process != PROCESS_NONE && process != PROCESS_MAX &&
        process != PROCESS_MAX_STRIDE_2) {
        return vip_job_error(job->memory,
                             "word 6 (%s processing) = %u: 0 (none), 1 and 3 "
                             "(maximum) are modelled",
                             direction, process);
    }
    return true;
}

/* start, end and size: of the low or high half of words 4, 5 and 8, 9. */
static bool read_axis(const struct tp_job *job, struct tp_axis *axis,
                      unsigned low, const char *direction)
{
    const uint32_t *w = job->words;
    int32_t end = (int16_t)(uint16_t)vip_bits(w, 5, low, 16);

    axis->start = (int16_t)(uint16_t)vip_bits(w, 4, low, 16);
    axis->tile = vip_bits(w, 8, low, 16);
    axis->step = vip_bits(w, 9, low, 16);
    if (end < axis->start || axis->image == 0) {
        return vip_job_error(job->memory,
                             "the window has no %s: start %d, end %d, image "
                             "%" PRIu32,
                             direction, (int)axis->start, (int)end,
                             axis->image);
    }
    if (axis->tile == 0 || axis->step == 0) {
        return vip_job_error(job->memory,
                             "words 8 and 9: tiles of %" PRIu32
                             " %s, step %" PRIu32,
                             axis->tile, direction, axis->step);
    }
    axis->size = (uint32_t)(end - axis->start) + 1u;
    return true;
}

/* Whether the tile at `at` is run. */
static bool tile_runs(const struct tp_axis *axis, uint64_t at)
{
    return at < axis->size && (at == 0 || axis->size - at >= axis->filter.taps);
}

static uint32_t tile_size(const struct tp_axis *axis, uint64_t at)
{
    uint64_t left = axis->size - at;

    return left < axis->tile ? (uint32_t)left : axis->tile;
}

static uint32_t tile_outputs(const struct tp_axis *axis, uint64_t at)
{
    uint32_t size = tile_size(axis, at);

    if (size < axis->filter.taps) {
        return 0;
    }
    return (size - axis->filter.taps) / axis->filter.stride + 1u;
}

/* Outputs of all tiles in one direction: at most 2^32. */
static uint64_t axis_outputs(const struct tp_axis *axis)
{
    uint64_t sum = 0;

    for (uint64_t at = 0; tile_runs(axis, at); at += axis->step) {
        sum += tile_outputs(axis, at);
    }
    return sum;
}

static bool check_work(const struct tp_job *job)
{
    /* At most 2^32 each, so that only the products with the planes (2^16) and
     * the taps (2^12) need care. */
    uint64_t outputs = axis_outputs(&job->x);
    uint64_t rows = axis_outputs(&job->y);
    uint64_t limit = job->facts->max_elements;
    uint64_t effort =
        (uint64_t)job->x.filter.taps * job->y.filter.taps * job->planes;
    uint64_t window = (uint64_t)job->x.size * job->y.size;

    if (rows != 0 && outputs > limit / rows) {
        outputs = limit + 1u;
    } else {
        outputs *= rows;
    }
    if (window > job->facts->max_bytes ||
        (effort != 0 &&
         (outputs > limit / effort || window > limit / effort))) {
        return vip_job_error(
            job->memory,
            "a window of %" PRIu32 " x %" PRIu32 " x %" PRIu32
            " in tiles of %" PRIu32 " x %" PRIu32 ": too much to emulate",
            job->x.size, job->y.size, job->planes, job->x.tile, job->y.tile);
    }
    return true;
}

static void read_loops(struct tp_loops *loops, const uint32_t *w)
{
    static const uint8_t increments[TP_LOOPS] = {14, 15, 17, 18, 20, 21, 23};
    static const uint8_t counts[TP_LOOPS] = {16, 16, 19, 19, 22, 22, 0};

    for (unsigned k = 0; k < TP_LOOPS; k++) {
        loops->increment[k] = w[increments[k]];
        loops->counter[k] = 0;
        loops->count[k] =
            counts[k] != 0 ? vip_bits(w, counts[k], k % 2u * 16u, 16) : 0u;
    }
    for (unsigned k = 1; k <= 3; k++) {
        loops->reset[k] = vip_bits(w, 12, 1u + k, 1) != 0;
        if (loops->reset[k]) {
            loops->count[k] = 0;
        }
    }
    loops->address = w[13];
}

static void clear_counter(struct tp_loops *loops, unsigned k)
{
    loops->address -= loops->counter[k] * loops->increment[k];
    loops->counter[k] = 0;
}

static void advance(struct tp_loops *loops, unsigned k)
{
    for (; k < TP_LOOPS; k++) {
        loops->counter[k]++;
        loops->address += loops->increment[k];
        if (loops->count[k] == 0 || loops->counter[k] != loops->count[k]) {
            return;
        }
        clear_counter(loops, k);
    }
}

static void row_done(struct tp_loops *loops)
{
    if (loops->reset[1]) {
        clear_counter(loops, 0);
        clear_counter(loops, 1);
        advance(loops, 2);
    }
}

static void tile_done(struct tp_loops *loops)
{
    if (loops->reset[2]) {
        clear_counter(loops, 2);
        advance(loops, 3);
    }
    if (loops->reset[3]) {
        clear_counter(loops, 3);
        advance(loops, 4);
    }
}

static uint8_t maximum(const struct tp_job *job, const uint8_t *at)
{
    uint8_t result = 0;

    for (uint32_t y = 0; y < job->y.filter.taps; y++) {
        for (uint32_t x = 0; x < job->x.filter.taps; x++) {
            uint8_t pixel = at[(size_t)y * job->x.size + x];

            result = pixel > result ? pixel : result;
        }
    }
    return result;
}

static void run_tile(const struct tp_job *job, const uint8_t *plane,
                     const uint8_t *table, uint64_t ty, uint64_t tx,
                     struct tp_loops *loops, struct tp_output *output)
{
    uint32_t rows = tile_outputs(&job->y, ty);
    uint32_t columns = tile_outputs(&job->x, tx);

    for (uint32_t y = 0; y < rows; y++) {
        const uint8_t *at =
            plane + (ty + (uint64_t)y * job->y.filter.stride) * job->x.size +
            tx;

        for (uint32_t x = 0; x < columns; x++) {
            tp_output_store(output, loops->address, table[maximum(job, at)]);
            at += job->x.filter.stride;
            advance(loops, 0);
        }
        row_done(loops);
    }
    tile_done(loops);
}

static bool run_planes(const struct tp_job *job, const uint8_t *table,
                       uint8_t *plane, struct tp_output *output,
                       struct vip_job_cost *cost)
{
    struct tp_loops loops;

    read_loops(&loops, job->words);
    for (uint32_t z = 0; z < job->planes; z++) {
        if (!tp_window_load(job, z, plane, cost)) {
            return false;
        }
        for (uint64_t ty = 0; tile_runs(&job->y, ty); ty += job->y.step) {
            for (uint64_t tx = 0; tile_runs(&job->x, tx); tx += job->x.step) {
                run_tile(job, plane, table, ty, tx, &loops, output);
            }
        }
        if (output->failed) {
            return false;
        }
    }
    return true;
}

static bool run_image(struct tp_job *job, struct vip_job_cost *cost)
{
    const uint32_t *w = job->words;
    uint8_t table[256];
    struct tp_output output;
    uint8_t *plane;
    bool ok;

    if (!read_filter(job, vip_bits(w, 6, 6, 3), vip_bits(w, 6, 9, 6),
                     "horizontal", &job->x.filter) ||
        !read_filter(job, vip_bits(w, 6, 16, 2), vip_bits(w, 6, 19, 6),
                     "vertical", &job->y.filter) ||
        !read_axis(job, &job->x, 0, "columns") ||
        !read_axis(job, &job->y, 16, "rows") || !check_work(job) ||
        !tp_value_table(job, table)) {
        return false;
    }
    plane = buffer_take((size_t)job->x.size * job->y.size);
    if (plane == NULL) {
        return vip_job_error(job->memory, "no host memory for the window");
    }
    ok = tp_output_open(&output, job);
    if (ok) {
        ok = run_planes(job, table, plane, &output, cost);
        ok = tp_output_close(&output) && ok;
        cost->bytes_written = output.bytes;
    }
    buffer_give(plane);
    return ok;
}

bool vip_tp_run(const struct vip_memory *memory,
                const struct vip_job_facts *facts,
                const uint32_t words[VIP_JOB_WORDS], struct vip_job_cost *cost)
{
    struct tp_job job = {
        .memory = memory,
        .facts = facts,
        .words = words,
        .x.image = vip_bits(words, 0, 0, 16),
        .y.image = vip_bits(words, 1, 0, 16),
        .planes = vip_bits(words, 1, 16, 16),
        .replicate = vip_bits(words, 24, 24, 2) == 1u,
        .border = (uint8_t)vip_bits(words, 29, 24, 8),
    };

    *cost = (struct vip_job_cost){0, 0, 0};
    if (!check_fields(&job)) {
        return false;
    }
    switch (vip_bits(words, 6, 0, 2)) {
    case 0:
        return run_image(&job, cost);
    case 3:
        return tp_fc_run(&job, cost);
    default:
        return vip_job_error(memory,
                             "word 6 bits 0..1 (tile sequence) = %" PRIu32
                             ": 0 and 3 (FC) are modelled",
                             vip_bits(words, 6, 0, 2));
    }
}
