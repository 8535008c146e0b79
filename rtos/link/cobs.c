/*
 * cobs.c - consistent overhead byte stuffing: frames without zero bytes.
 *
 * Each block is a code byte n, 1..255, and n - 1 bytes that are not zero; after
 * a block other than the last a zero is meant, unless n is 255.
 */
#include "fwgen_link.h"

#define BLOCK_MAX 254u

size_t fwgen_cobs_decode(uint8_t *data, size_t length)
{
    size_t from = 0;
    size_t to = 0;

    while (from < length) {
        const size_t code = data[from++];

        if (code == 0u || code - 1u > length - from) {
            return 0;
        }
        for (size_t i = 1; i < code; i++) {
            if (data[from] == 0u) {
                return 0;
            }
            data[to++] = data[from++];
        }
        if (code != BLOCK_MAX + 1u && from < length) {
            data[to++] = 0;
        }
    }
    return to;
}

void fwgen_cobs_encode(const uint8_t *data, size_t length,
                       void (*put)(const uint8_t *bytes, size_t count))
{
    size_t from = 0;
    bool more = true; /* a block is due, if only an empty one */

    while (more) {
        size_t size = 0;
        uint8_t code;

        while (size < BLOCK_MAX && from + size < length &&
               data[from + size] != 0u) {
            size++;
        }
        code = (uint8_t)(size + 1u);
        put(&code, 1);
        if (size != 0u) {
            put(&data[from], size);
        }
        from += size;
        more = from < length;
        if (size != BLOCK_MAX) {
            from++; /* the zero that is meant */
        }
    }
}
