/*
 * coef_huffman.c - see the header.
 *
 * A symbol has a bit length n. Without a run-length table, its value of n bits
 * is a magnitude whose highest bit is implied, and the lowest bit inverts it.
 * With a table the lowest bit negates it, 7 stands for a byte of 8 bits, and 0
 * and 8 for runs: the first two entries of the table, and the others.
 */
#include "coef_huffman.h"

#define TABLE_AT 2u /* offsets in the header */
#define SYMBOLS_AT 20u
#define AVERAGE_AT 24u
#define RESERVED_AT 26u
#define VERSION 0x10u

/* What a code or a suffix says. */
struct code {
    uint8_t symbol;
    uint8_t has_bit, bit; /* lowest bit of the value */
};

static const struct code codes[COEF_CODES] = {
    {0, 1, 0}, {1, 1, 0}, {0, 0, 0}, {3, 0, 0}, /* 2 has a suffix */
    {0, 1, 1}, {1, 1, 1}, {4, 0, 0}, {2, 0, 0}, /* suffixes: */
    {7, 0, 0}, {5, 1, 0}, {6, 0, 0}, {5, 1, 1},
};
#define CODE_LONG 2u
#define SUFFIXES 8u

/* Where decoded bytes go. */
struct sink {
    uint8_t *out;
    uint64_t filled, wanted;
    const char *error;
};

static uint32_t word_at(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Bits of the value of a symbol. */
static unsigned value_bits(unsigned length, unsigned table_size)
{
    unsigned bits = 1;

    if (table_size == 0 || (length != 7u && length != 8u)) {
        return length != 0 ? length : 1u;
    }
    if (length == 7u) {
        return 8;
    }
    while (1u << bits < table_size - 2u) {
        bits++;
    }
    return bits;
}

/* What a value of that symbol stands for. */
static uint16_t meaning(const uint8_t *header, unsigned length, unsigned value)
{
    unsigned table_size = header[1];
    unsigned byte = value >> 1 | (length != 0 ? 1u << (length - 1u) : 0u);

    if (table_size != 0 && (length == 0 || length == 8u)) {
        /* Tables have 2 entries more than a power of two: none is missing. */
        unsigned index = length == 0 ? value : value + 2u;

        return (uint16_t)(COEF_RUN + header[TABLE_AT + index] + 1u);
    }
    if (table_size != 0 && length == 7u) {
        return (uint16_t)value;
    }
    if ((value & 1u) != 0) {
        byte = table_size != 0 ? 0u - byte : ~byte;
    }
    return (uint16_t)(byte & 0xffu);
}

static void fill_tables(const uint8_t *header, const uint8_t *lengths,
                        struct coef_coder *coder)
{
    for (unsigned c = 0; c < COEF_CODES; c++) {
        unsigned length = lengths[codes[c].symbol];
        unsigned bits = value_bits(length, header[1]) - codes[c].has_bit;

        coder->bits[c] = (uint8_t)bits;
        for (unsigned raw = 0; raw < 1u << bits; raw++) {
            unsigned value =
                codes[c].has_bit != 0 ? raw << 1 | codes[c].bit : raw;

            coder->values[c][raw] = meaning(header, length, value);
        }
    }
}

bool coef_coder_read(const struct vip_memory *memory, const uint8_t *header,
                     struct coef_coder *coder)
{
    unsigned table_size = header[1];
    uint32_t map = word_at(header + SYMBOLS_AT);
    uint8_t lengths[8];
    unsigned seen = 0;

    if (header[0] != VERSION) {
        return vip_job_error(memory,
                             "coefficients: first byte 0x%02x, only 0x%02x "
                             "is modelled",
                             header[0], VERSION);
    }
    if (table_size != 0 && table_size != 4u && table_size != 6u &&
        table_size != 10u && table_size != 18u) {
        return vip_job_error(memory,
                             "coefficients: run-length table of %u entries, "
                             "known are 0, 4, 6, 10 and 18",
                             table_size);
    }
    if ((header[RESERVED_AT] | header[RESERVED_AT + 1u]) != 0) {
        return vip_job_error(memory, "coefficients: bytes 26, 27 are not 0");
    }
    coder->average =
        (uint16_t)(header[AVERAGE_AT] | (unsigned)header[AVERAGE_AT + 1u] << 8);
    for (unsigned s = 0; s < 8u; s++) {
        unsigned length = map >> 4u * s & 15u;

        if (length > (table_size != 0 ? 8u : 7u) || (seen >> length & 1u)) {
            return vip_job_error(memory,
                                 "coefficients: symbol map 0x%08x: symbol "
                                 "%u has %u bits",
                                 (unsigned)map, s, length);
        }
        seen |= 1u << length;
        lengths[s] = (uint8_t)length;
    }
    fill_tables(header, lengths, coder);
    return true;
}

/* Anything but a byte that is still wanted. */
static void emit_other(unsigned token, struct sink *sink)
{
    uint64_t run = token - COEF_RUN;

    if (sink->filled == sink->wanted) {
        /* A symbol that fills up the last pair is one zero. */
        if (token != 0 && token != COEF_RUN + 1u) {
            sink->error = "a weight behind the last one";
        }
    } else if (run > sink->wanted - sink->filled) {
        sink->error = "a run passes the last weight";
    } else {
        memset(sink->out + sink->filled, 0, (size_t)run);
        sink->filled += run;
    }
}

/* One symbol, whose value is in the lowest of `bits`; how many it has. */
static inline unsigned emit(const struct coef_coder *coder, unsigned code,
                            uint64_t bits, struct sink *sink)
{
    unsigned count = coder->bits[code];
    unsigned token = coder->values[code][bits & ((1u << count) - 1u)];

    if (token < COEF_RUN && sink->filled < sink->wanted) {
        sink->out[sink->filled++] = (uint8_t)token;
    } else {
        emit_other(token, sink);
    }
    return count;
}

/* Every step takes 6 bits or more, so the length bounds the work. */
const char *coef_stream(const struct coef_coder *coder, struct coef_bits *bits,
                        uint8_t *out, uint64_t wanted)
{
    struct sink sink = {out, 0, wanted, NULL};
    unsigned new_a = 0; /* codes of the pair before this step's */
    unsigned new_b = 0;
    unsigned old_a = 0; /* of the pair before that, suffixes known */
    unsigned old_b = 0;

    for (unsigned step = 0; sink.filled < sink.wanted;) {
        uint64_t next = coef_peek(bits);
        unsigned taken = 6;
        unsigned now_a = old_a;
        unsigned now_b = old_b;

        if (step >= 1u) {
            unsigned is_long = new_a == CODE_LONG;

            /* Without branches: nobody can guess these. */
            old_a = is_long ? SUFFIXES + (unsigned)(next >> taken & 3u) : new_a;
            taken += 2u * is_long;
            is_long = new_b == CODE_LONG;
            old_b = is_long ? SUFFIXES + (unsigned)(next >> taken & 3u) : new_b;
            taken += 2u * is_long;
        }
        new_a = next & 7u;
        new_b = next >> 3 & 7u;
        if (step >= 2u) {
            taken += emit(coder, now_a, next >> taken, &sink);
            taken += emit(coder, now_b, next >> taken, &sink);
        } else {
            step++;
        }
        bits->position += taken;
        if (sink.error != NULL) {
            return sink.error;
        }
        if (bits->position > bits->length) {
            return "the stream ends too early";
        }
    }
    return bits->position == bits->length ? NULL
                                          : "bits are left behind the last "
                                            "weight";
}
