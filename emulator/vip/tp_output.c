/*
 * tp_output.c - see tp.h.
 *
 * Lines are found by the low bits of their address, as in a direct-mapped
 * cache; a line is written when another wants its place.
 */
#include <string.h>

#include "buffer_pool.h"
#include "tp.h"

static bool marked(const struct tp_line *line, unsigned at)
{
    return ((unsigned)line->mask[at / 8u] >> (at % 8u) & 1u) != 0;
}

static void flush(struct tp_output *output, struct tp_line *line)
{
    unsigned at = line->low;

    while (line->used && at <= line->high && !output->failed) {
        unsigned first;

        while (at <= line->high && !marked(line, at)) {
            at++;
        }
        first = at;
        while (at <= line->high && marked(line, at)) {
            at++;
        }
        if (at > first &&
            !output->memory->write(output->memory->opaque,
                                   (uint64_t)line->base + first,
                                   line->data + first, at - first)) {
            output->failed = true;
        }
    }
    line->used = false;
}

bool tp_output_open(struct tp_output *output, const struct tp_job *job)
{
    *output = (struct tp_output){
        .memory = job->memory,
        .ring = vip_ring_of(job->words[27], job->words[28]),
        .lines = buffer_take(TP_LINES * sizeof *output->lines),
    };
    if (output->lines == NULL) {
        return vip_job_error(job->memory, "no host memory for the output");
    }
    for (unsigned i = 0; i < TP_LINES; i++) {
        output->lines[i].used = false;
        output->lines[i].low = 1;
        output->lines[i].high = 0;
    }
    return true;
}

void tp_output_store(struct tp_output *output, uint32_t address, uint8_t byte)
{
    uint32_t at = (uint32_t)vip_ring_wrap(output->ring, address);
    struct tp_line *line = &output->lines[at / TP_LINE % TP_LINES];
    unsigned inside = at % TP_LINE;

    if (!line->used || line->base != at - inside) {
        flush(output, line);
        memset(line->mask, 0, sizeof line->mask);
        line->base = at - inside;
        line->used = true;
        line->low = inside;
        line->high = inside;
    }
    line->low = inside < line->low ? inside : line->low;
    line->high = inside > line->high ? inside : line->high;
    line->data[inside] = byte;
    line->mask[inside / 8u] |= (uint8_t)(1u << (inside % 8u));
    output->bytes++;
}

bool tp_output_close(struct tp_output *output)
{
    for (unsigned i = 0; i < TP_LINES; i++) {
        flush(output, &output->lines[i]);
    }
    buffer_give(output->lines);
    output->lines = NULL;
    return !output->failed;
}
