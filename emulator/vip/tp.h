/*
 * tp.h - the parts of the TP engine.
 *
 * A job reads a window of the input plane by plane, tile by tile, takes each
 * pixel or the maximum of several, passes it through the value function and
 * stores it where seven nested output counters point. Numbers of words and
 * bits are those of Mesa's etnaviv (tensor processing descriptor) and of
 * observed graphs.
 */
#ifndef FWGEN_VIP_TP_H
#define FWGEN_VIP_TP_H

#include "job.h"

#define TP_LOOPS 7u

/* One direction of the window processing. */
struct tp_filter {
    uint32_t taps;   /* pixels of which the maximum is taken; 1: none */
    uint32_t stride; /* 1 or 2 */
};

struct tp_axis {
    int32_t start; /* of the window, may lie outside the image */
    uint32_t size; /* of the window */
    uint32_t image;
    uint32_t tile, step;
    struct tp_filter filter;
};

struct tp_job {
    const struct vip_memory *memory;
    const struct vip_job_facts *facts;
    const uint32_t *words;
    struct tp_axis x, y;
    uint32_t planes;
    bool replicate; /* border mode 1: the nearest pixel of the image */
    uint8_t border; /* border mode 0 */
};

/* ---- tp_value.c ---- */

/* The value function for every byte; reads the look-up table if there is one.
 * False after an error. */
bool tp_value_table(const struct tp_job *job, uint8_t table[256]);
/* What the value function makes of y0 (an exact integer times 2^-35): times
 * (1 + mult / 32768) * 2^-shift, plus zero point, rounded and clamped. */
uint8_t tp_requantise(int64_t y0, uint32_t mult, int32_t shift,
                      uint32_t zero_point);
/* Interpolates a table of 1025 entries at an integer -255..255; times 2^-35. */
int64_t tp_look_up(const uint32_t *table, int32_t value, bool sign_support);

/* Output post shift: 7 bits, two's complement. */
int32_t tp_post_shift(const uint32_t *words);

/* ---- tp_output.c ---- */

/*
 * Collects bytes and writes them in runs, for outputs that come in any order.
 * One address keeps the byte stored last.
 */
#define TP_LINE 1024u
#define TP_LINES 256u

struct tp_line {
    uint32_t base; /* address of its first byte, a multiple of TP_LINE */
    bool used;
    unsigned low, high; /* the first and last byte stored */
    uint8_t mask[TP_LINE / 8u];
    uint8_t data[TP_LINE];
};

struct tp_output {
    const struct vip_memory *memory;
    struct vip_ring ring;
    bool failed;
    uint64_t bytes; /* stored so far */
    struct tp_line *lines;
};

/* False and an error when no host memory is left. */
bool tp_output_open(struct tp_output *output, const struct tp_job *job);
/* The ring rule is applied to the address here. */
void tp_output_store(struct tp_output *output, uint32_t address, uint8_t byte);
/* Writes what is left; false if any write has failed. */
bool tp_output_close(struct tp_output *output);

/* ---- tp_window.c ---- */

/* Reads one plane of the window, y.size rows of x.size pixels, with its
 * border. */
bool tp_window_load(const struct tp_job *job, uint32_t plane, uint8_t *data,
                    struct vip_job_cost *cost);

/* ---- tp_fc.c ---- */

bool tp_fc_run(const struct tp_job *job, struct vip_job_cost *cost);

#endif
