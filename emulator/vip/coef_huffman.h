/*
 * coef_huffman.h - the byte streams of V8 coefficients.
 *
 * A stream is a sequence of pairs of symbols, in a pipeline of three steps:
 * each step holds the codes of one pair (3 bits each), then the suffixes of the
 * pair before it (2 bits, only after the code 2), then the values of the pair
 * before that. Two pairs without values end it. A symbol stands for a byte or,
 * with a run-length table, for a run of zeros. The coding is the one that
 * Mesa's etnaviv driver writes.
 */
#ifndef FWGEN_VIP_COEF_HUFFMAN_H
#define FWGEN_VIP_COEF_HUFFMAN_H

#include "coef_bits.h"
#include "job.h"

/* Bytes at the start of a header that describe the coding. */
#define COEF_CODER_BYTES 28u
/* Bits that one byte takes at most: code, suffix, value. */
#define COEF_TOKEN_BITS 13u
/* Bits of a stream of so many bytes at most: one symbol may fill up the last
 * pair, and two pairs end the stream. */
#define COEF_STREAM_BITS(bytes) (((bytes) + 5u) * COEF_TOKEN_BITS)

/* Codes 0 to 7, then the suffixes 0 to 3 of the code 2. */
#define COEF_CODES 12u

/* Tables by code, and what each value behind it stands for: a byte, or
 * COEF_RUN and the number of zeros. */
struct coef_coder {
    uint8_t bits[COEF_CODES]; /* of the value */
    uint16_t values[COEF_CODES][256];
    uint16_t average; /* FC on the TP engine: what weights are counted from */
};

#define COEF_RUN 0x1000u

/* False, and an error, when the header has a coding that is not known. */
bool coef_coder_read(const struct vip_memory *memory, const uint8_t *header,
                     struct coef_coder *coder);
/* Decodes a stream of exactly `wanted` (1 or more) bytes; BUFFER_SLACK bytes
 * behind it must be readable. NULL, or what is wrong with it; bits->position
 * then tells where. */
const char *coef_stream(const struct coef_coder *coder, struct coef_bits *bits,
                        uint8_t *out, uint64_t wanted);

#endif
