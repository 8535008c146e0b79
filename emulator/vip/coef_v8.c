/*
 * coef_v8.c - coefficients of V8 cores: Huffman-coded bytes.
 *
 * The coding is the one that Mesa's etnaviv driver writes. A header of 64
 * bytes (more with more than 9 cores): version, run-length table, bit length
 * of each of 8 symbols, length of each core's stream in bits. Then the
 * streams, each padded to 64 bytes, and an int32 for each kernel.
 *
 * A stream is a sequence of pairs of symbols, in a pipeline of three steps:
 * each step holds the codes of one pair (3 bits each), then the suffixes of the
 * pair before it (2 bits, only after the code 2), then the values of the pair
 * before that. Two pairs without values end it. A symbol stands for a byte or,
 * with a run-length table, for a run of zeros. The first two bytes are the
 * number of the core's kernels; all others are weights less their zero point.
 */
#include "coef.h"

#include <inttypes.h>

#include "buffer_pool.h"
#include "coef_bits.h"

#define TABLE_AT 2u /* offsets in the header */
#define TABLE_SIZE 18u
#define SYMBOLS_AT 20u
#define AVERAGE_AT 24u
#define LENGTHS_AT 28u
#define VERSION 0x10u
#define BLOCK 9u /* weights of one kernel that follow each other */
/* Bits of one byte at most: code, suffix, value. */
#define TOKEN_BITS 13u

enum value_kind {
    VALUE_RAW,        /* the byte itself */
    VALUE_COMPLEMENT, /* magnitude; the lowest bit inverts it */
    VALUE_NEGATIVE,   /* magnitude; the lowest bit negates it */
    VALUE_RUN,        /* number in the run-length table */
};

struct symbol {
    uint8_t kind;
    uint8_t bits;     /* of the value */
    uint8_t implicit; /* RUN: added to the value; else bit above the others */
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

struct coder {
    struct symbol symbols[8];
    uint8_t runs[TABLE_SIZE];
    unsigned run_count;
};

/* Where decoded bytes go. */
struct sink {
    uint8_t *out;
    uint64_t filled, wanted;
    const char *error;
};

size_t coef_v8_header(unsigned cores)
{
    return (size_t)coef_align(LENGTHS_AT + 4u * cores);
}

static unsigned used_cores(const struct coef_job *job)
{
    return job->layer->kernels < job->cores ? job->layer->kernels : job->cores;
}

static uint64_t blocks_of(const struct nn_layer *layer)
{
    return (nn_kernel_size(layer) + BLOCK - 1u) / BLOCK;
}

/* Kernels of a core in the superblock (or, depthwise, the group of one kernel
 * a core) that starts at `first`. */
struct share {
    uint32_t first, count;
};

static struct share share_of(const struct coef_job *job, unsigned core,
                             uint32_t first)
{
    const struct nn_layer *layer = job->layer;
    uint32_t used = used_cores(job);
    uint32_t left = layer->kernels - first;
    struct share share = {first, 0};
    uint32_t members;

    if (layer->depthwise) {
        members = left < used ? left : used;
        /* Channels of a group are dealt out from the last core on. */
        if (core < members) {
            share.first = first + members - 1u - core;
            share.count = 1;
        }
        return share;
    }
    members = used * layer->kernels_per_core;
    if (members > left) {
        members = left;
    }
    share.count = members / used + (core < members % used ? 1u : 0u);
    share.first += core * (members / used) +
                   (core < members % used ? core : members % used);
    return share;
}

/* From one superblock or group to the next. */
static uint32_t share_step(const struct coef_job *job)
{
    return job->layer->depthwise
               ? used_cores(job)
               : used_cores(job) * job->layer->kernels_per_core;
}

static uint32_t kernels_of_core(const struct coef_job *job, unsigned core)
{
    uint32_t step = share_step(job);
    uint32_t total = 0;

    for (uint64_t first = 0; first < job->layer->kernels; first += step) {
        total += share_of(job, core, (uint32_t)first).count;
    }
    return total;
}

/* Bytes that a core's stream decodes to. */
static uint64_t bytes_of_core(const struct coef_job *job, uint32_t kernels)
{
    return 2u + kernels * blocks_of(job->layer) * BLOCK;
}

bool coef_v8_size(const struct coef_job *job, const uint8_t *header,
                  uint64_t *size)
{
    unsigned used = used_cores(job);

    *size = coef_v8_header(job->cores);
    for (unsigned core = 0; core < job->cores; core++) {
        uint64_t bits = coef_word(header + LENGTHS_AT + 4u * core);
        uint64_t most = 0;

        if (core < used) {
            /* One symbol may fill up a pair; two pairs end the stream. */
            most = (bytes_of_core(job, kernels_of_core(job, core)) + 5u) *
                   TOKEN_BITS;
        }
        if (bits > most) {
            return vip_job_error(job->memory,
                                 "NN coefficients: core %u has %" PRIu64
                                 " bits, its kernels take at most %" PRIu64,
                                 core, bits, most);
        }
        *size += coef_align((bits + 7u) / 8u);
    }
    *size += (uint64_t)job->layer->kernels * 4u;
    return true;
}

static unsigned run_bits(unsigned table_size)
{
    unsigned bits = 1;

    while (1u << bits < table_size - 2u) {
        bits++;
    }
    return bits;
}

static struct symbol symbol_of(unsigned length, unsigned table_size)
{
    struct symbol symbol = {VALUE_COMPLEMENT, (uint8_t)length, 0};

    if (table_size != 0 && length == 0) {
        symbol = (struct symbol){VALUE_RUN, 1, 0};
    } else if (table_size != 0 && length == 8u) {
        symbol = (struct symbol){VALUE_RUN, (uint8_t)run_bits(table_size), 2};
    } else if (table_size != 0 && length == 7u) {
        symbol = (struct symbol){VALUE_RAW, 8, 0};
    } else if (length == 0) {
        symbol.bits = 1;
    } else {
        symbol.kind = table_size != 0 ? VALUE_NEGATIVE : VALUE_COMPLEMENT;
        symbol.implicit = (uint8_t)(1u << (length - 1u));
    }
    return symbol;
}

static bool read_coder(const struct coef_job *job, const uint8_t *header,
                       struct coder *coder)
{
    unsigned table_size = header[1];
    uint32_t map = coef_word(header + SYMBOLS_AT);
    unsigned seen = 0;

    if (header[0] != VERSION) {
        return vip_job_error(job->memory,
                             "NN coefficients: first byte 0x%02x, only 0x%02x "
                             "is modelled",
                             header[0], VERSION);
    }
    if (table_size != 0 && table_size != 4u && table_size != 6u &&
        table_size != 10u && table_size != 18u) {
        return vip_job_error(job->memory,
                             "NN coefficients: run-length table of %u entries, "
                             "known are 0, 4, 6, 10 and 18",
                             table_size);
    }
    if (coef_word(header + AVERAGE_AT) != 0) {
        return vip_job_error(job->memory,
                             "NN coefficients: average bias 0x%08x, only 0 is "
                             "modelled",
                             (unsigned)coef_word(header + AVERAGE_AT));
    }
    memcpy(coder->runs, header + TABLE_AT, TABLE_SIZE);
    coder->run_count = table_size;
    for (unsigned s = 0; s < 8u; s++) {
        unsigned length = map >> 4u * s & 15u;

        if (length > (table_size != 0 ? 8u : 7u) || (seen >> length & 1u)) {
            return vip_job_error(job->memory,
                                 "NN coefficients: symbol map 0x%08x: symbol "
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
static inline unsigned emit(const struct coder *coder, struct code code,
                            uint64_t bits, struct sink *sink)
{
    const struct symbol *symbol = &coder->symbols[code.symbol];
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
static const char *decode_stream(const struct coder *coder,
                                 struct coef_bits *bits, struct sink *sink)
{
    uint8_t code_a = 0; /* of the pair before */
    uint8_t code_b = 0;
    struct code a = {0, 0, 0}; /* of the pair before that one */
    struct code b = {0, 0, 0};

    for (unsigned step = 0; sink->filled < sink->wanted;) {
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
            taken += emit(coder, last_a, next >> taken, sink);
            if (sink->error == NULL) {
                taken += emit(coder, last_b, next >> taken, sink);
            }
        } else {
            step++;
        }
        bits->position += taken;
        if (sink->error != NULL) {
            return sink->error;
        }
        if (bits->position > bits->length) {
            return "the stream ends too early";
        }
    }
    return bits->position == bits->length ? NULL
                                          : "bits are left behind the last "
                                            "weight";
}

/* Blocks of a core's kernels to their places. */
static void deal_out(const struct coef_job *job, unsigned core,
                     const uint8_t *from, uint8_t *weights)
{
    const struct nn_layer *layer = job->layer;
    uint64_t size = nn_kernel_size(layer);
    uint64_t blocks = blocks_of(layer);
    uint32_t step = share_step(job);

    for (uint64_t first = 0; first < layer->kernels; first += step) {
        struct share share = share_of(job, core, (uint32_t)first);

        for (uint64_t block = 0; block < blocks; block++) {
            uint64_t at = block * BLOCK;
            uint64_t count = size - at < BLOCK ? size - at : BLOCK;

            for (uint32_t k = 0; k < share.count; k++, from += BLOCK) {
                uint8_t *to = weights + (share.first + k) * size + at;

                for (uint64_t i = 0; i < count; i++) {
                    to[i] = (uint8_t)(from[i] + layer->weight_zero);
                }
            }
        }
    }
}

static bool decode_core(const struct coef_job *job, const struct coder *coder,
                        unsigned core, struct coef_bits *bits, uint8_t *weights)
{
    uint32_t kernels = kernels_of_core(job, core);
    struct sink sink = {.wanted = bytes_of_core(job, kernels)};
    const char *error = "no memory left on the host";
    uint32_t stored = kernels;

    sink.out = buffer_take((size_t)sink.wanted);
    if (sink.out != NULL) {
        error = decode_stream(coder, bits, &sink);
    }
    if (error == NULL) {
        stored = sink.out[0] | (uint32_t)sink.out[1] << 8;
        if (stored == kernels) {
            deal_out(job, core, sink.out + 2, weights);
        }
    }
    buffer_give(sink.out);
    if (error != NULL) {
        return vip_job_error(job->memory,
                             "NN coefficients: core %u, bit %" PRIu64
                             " of %" PRIu64 ": %s",
                             core, bits->position, bits->length, error);
    }
    if (stored != kernels) {
        return vip_job_error(job->memory,
                             "NN coefficients: core %u says it has %u kernels, "
                             "the descriptor gives it %u",
                             core, (unsigned)stored, (unsigned)kernels);
    }
    return true;
}

bool coef_v8_decode(const struct coef_job *job, const uint8_t *blob,
                    struct coef_kernels *kernels)
{
    const uint8_t *at = blob + coef_v8_header(job->cores);
    struct coder coder = {.run_count = 0};

    if (!read_coder(job, blob, &coder)) {
        return false;
    }
    for (unsigned core = 0; core < used_cores(job); core++) {
        struct coef_bits bits = {at, 0,
                                 coef_word(blob + LENGTHS_AT + 4u * core)};

        if (!decode_core(job, &coder, core, &bits, kernels->weights)) {
            return false;
        }
        at += coef_align((bits.length + 7u) / 8u);
    }
    for (uint32_t k = 0; k < job->layer->kernels; k++) {
        kernels->start[k] = (int32_t)coef_word(at + 4u * k);
    }
    return true;
}
