/*
 * coef_huffman.c - see the header.
 */
#include "coef_huffman.h"

#define TABLE_AT 2u /* offsets in the header */
#define SYMBOLS_AT 20u
#define AVERAGE_AT 24u
#define RESERVED_AT 26u
#define VERSION 0x10u

enum value_kind {
    VALUE_RAW,        /* the byte itself */
    VALUE_COMPLEMENT, /* magnitude; the lowest bit inverts it */
    VALUE_NEGATIVE,   /* magnitude; the lowest bit negates it */
    VALUE_RUN,        /* number in the run-length table */
};

/* What a code or a suffix says. */
struct code {
    uint8_t symbol;
    uint8_t has_bit, bit; /* lowest bit of the value */
};

static const struct code codes[8] = {
    {0, 1, 0}, {1, 1, 0}, {0, 0, 0}, {3, 0, 0},
    {0, 1, 1}, {1, 1, 1}, {4, 0, 0}, {2, 0, 0},
};
static const struct code suffixes[4] = {
    {7, 0, 0}, {5, 1, 0}, {6, 0, 0}, {5, 1, 1}};
#define CODE_LONG 2u

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

static unsigned run_bits(unsigned table_size)
{
    unsigned bits = 1;

    while (1u << bits < table_size - 2u) {
        bits++;
    }
    return bits;
}

static struct coef_symbol symbol_of(unsigned length, unsigned table_size)
{
    struct coef_symbol symbol = {VALUE_COMPLEMENT, (uint8_t)length, 0};

    if (table_size != 0 && length == 0) {
        symbol = (struct coef_symbol){VALUE_RUN, 1, 0};
    } else if (table_size != 0 && length == 8u) {
        symbol =
            (struct coef_symbol){VALUE_RUN, (uint8_t)run_bits(table_size), 2};
    } else if (table_size != 0 && length == 7u) {
        symbol = (struct coef_symbol){VALUE_RAW, 8, 0};
    } else if (length == 0) {
        symbol.bits = 1;
    } else {
        symbol.kind = table_size != 0 ? VALUE_NEGATIVE : VALUE_COMPLEMENT;
        symbol.implicit = (uint8_t)(1u << (length - 1u));
    }
    return symbol;
}

bool coef_coder_read(const struct vip_memory *memory, const uint8_t *header,
                     struct coef_coder *coder)
{
    unsigned table_size = header[1];
    uint32_t map = word_at(header + SYMBOLS_AT);
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
    memcpy(coder->runs, header + TABLE_AT, COEF_TABLE_SIZE);
    coder->run_count = table_size;
    for (unsigned s = 0; s < 8u; s++) {
        unsigned length = map >> 4u * s & 15u;

        if (length > (table_size != 0 ? 8u : 7u) || (seen >> length & 1u)) {
            return vip_job_error(memory,
                                 "coefficients: symbol map 0x%08x: symbol "
                                 "%u has %u bits",
                                 (unsigned)map, s, length);
        }
        seen |= 1u << length;
        coder->symbols[s] = symbol_of(length, table_size);
    }
    return true;
}

static void emit_run(struct sink *sink, uint64_t run)
{
    if (run > sink->wanted - sink->filled) {
        sink->error = "a run passes the last weight";
        return;
    }
    memset(sink->out + sink->filled, 0, (size_t)run);
    sink->filled += run;
}

/* The value of one symbol; bits are the ones that come next. */
static inline unsigned emit(const struct coef_coder *coder, struct code code,
                            uint64_t bits, struct sink *sink)
{
    const struct coef_symbol *symbol = &coder->symbols[code.symbol];
    unsigned count = symbol->bits - code.has_bit;
    uint32_t raw = (uint32_t)bits & ((1u << count) - 1u);
    uint32_t value = code.has_bit != 0 ? raw << 1 | code.bit : raw;
    uint32_t byte = value;

    if (symbol->kind == VALUE_RUN) {
        value += symbol->implicit;
        if (value >= coder->run_count) {
            sink->error = "a run length outside its table";
        } else if (sink->filled == sink->wanted && coder->runs[value] != 0) {
            sink->error = "a run behind the last weight";
        } else if (sink->filled < sink->wanted) {
            emit_run(sink, coder->runs[value] + 1u);
        }
        return count;
    }
    if (symbol->kind != VALUE_RAW) {
        byte = value >> 1 | symbol->implicit;
        if ((value & 1u) != 0) {
            byte = symbol->kind == VALUE_NEGATIVE ? 0u - byte : ~byte;
        }
    }
    if (sink->filled < sink->wanted) {
        sink->out[sink->filled++] = (uint8_t)byte;
    } else if ((byte & 0xffu) != 0) {
        /* A symbol that fills up the last pair is one zero. */
        sink->error = "a weight behind the last one";
    }
    return count;
}

/* Every step takes 6 bits or more, so the length bounds the work. */
const char *coef_stream(const struct coef_coder *coder, struct coef_bits *bits,
                        uint8_t *out, uint64_t wanted)
{
    struct sink sink = {out, 0, wanted, NULL};
    uint8_t code_a = 0; /* of the pair before */
    uint8_t code_b = 0;
    struct code a = {0, 0, 0}; /* of the pair before that one */
    struct code b = {0, 0, 0};

    for (unsigned step = 0; sink.filled < sink.wanted;) {
        uint64_t next = coef_peek(bits);
        unsigned taken = 6;
        struct code last_a = a;
        struct code last_b = b;
        uint8_t new_a = next & 7u;
        uint8_t new_b = next >> 3 & 7u;

        if (step >= 1u) {
            a = codes[code_a];
            b = codes[code_b];
            if (code_a == CODE_LONG) {
                a = suffixes[next >> taken & 3u];
                taken += 2u;
            }
            if (code_b == CODE_LONG) {
                b = suffixes[next >> taken & 3u];
                taken += 2u;
            }
        }
        code_a = new_a;
        code_b = new_b;
        if (step >= 2u) {
            taken += emit(coder, last_a, next >> taken, &sink);
            if (sink.error == NULL) {
                taken += emit(coder, last_b, next >> taken, &sink);
            }
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
