/*
 * byte_fifo.h - the byte queue of a UART model.
 */
#ifndef FWGEN_BOARD_BYTE_FIFO_H
#define FWGEN_BOARD_BYTE_FIFO_H

#include <stdbool.h>
#include <stdint.h>

#define BYTE_FIFO_BYTES 128u

struct byte_fifo {
    uint8_t bytes[BYTE_FIFO_BYTES];
    unsigned head; /* next to take */
    unsigned count;
};

static inline void byte_fifo_clear(struct byte_fifo *fifo)
{
    fifo->head = 0;
    fifo->count = 0;
}

/* False, and nothing stored, when `depth` bytes (at most BYTE_FIFO_BYTES) are
 * in it. */
static inline bool byte_fifo_put(struct byte_fifo *fifo, unsigned depth,
                                 uint8_t byte)
{
    if (fifo->count >= depth || fifo->count >= BYTE_FIFO_BYTES) {
        return false;
    }
    fifo->bytes[(fifo->head + fifo->count) % BYTE_FIFO_BYTES] = byte;
    fifo->count++;
    return true;
}

/* False when it is empty. */
static inline bool byte_fifo_take(struct byte_fifo *fifo, uint8_t *byte)
{
    if (fifo->count == 0) {
        return false;
    }
    *byte = fifo->bytes[fifo->head];
    fifo->head = (fifo->head + 1) % BYTE_FIFO_BYTES;
    fifo->count--;
    return true;
}

#endif
