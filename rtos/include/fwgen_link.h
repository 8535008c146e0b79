/*
 * fwgen_link.h - the serial link to the host (docs/link.md).
 *
 * The link is a task: it reads the UART, answers requests, and hands what is
 * not a frame to the shell. Applications only start it; with FWGEN_LINK 0
 * neither the task nor its buffers are in the image.
 */
#ifndef FWGEN_LINK_H
#define FWGEN_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FWGEN_LINK_VERSION 1u
#define FWGEN_LINK_PAYLOAD 1024u
#define FWGEN_LINK_HEADER 8u
#define FWGEN_LINK_FRAME (FWGEN_LINK_HEADER + FWGEN_LINK_PAYLOAD + 4u)
/* COBS adds one byte, and one more for each 254. */
#define FWGEN_COBS_MAX(size) ((size) + (size) / 254u + 1u)

/* Types of requests. */
enum fwgen_link_type {
    FWGEN_LINK_INFO = 0x01,
    FWGEN_LINK_MODEL = 0x02,
    FWGEN_LINK_TENSOR = 0x03,
    FWGEN_LINK_WRITE = 0x04,
    FWGEN_LINK_READ = 0x05,
    FWGEN_LINK_RUN = 0x06,
    FWGEN_LINK_STATUS = 0x07,
    FWGEN_LINK_PROFILE = 0x08,
    FWGEN_LINK_TASKS = 0x09,
    FWGEN_LINK_FILL = 0x0a,
    FWGEN_LINK_CRC = 0x0b,
    FWGEN_LINK_EXIT = 0x0f,
};

/* Creates the link task. Before the scheduler, once. */
void fwgen_link_start(void);

/*
 * CRC-32 (ISO-HDLC, as zlib): fwgen_crc32(0, data, n); a longer message goes on
 * with the value so far. Any context.
 */
uint32_t fwgen_crc32(uint32_t crc, const void *data, size_t length);

/*
 * Decodes COBS in place. `length` counts the bytes between two zero bytes.
 * Returns the decoded length, or 0 when the data is not valid.
 */
size_t fwgen_cobs_decode(uint8_t *data, size_t length);

/*
 * Encodes and sends piecewise, so that no second buffer is needed: `put` gets
 * the bytes of the encoded form, without the delimiting zeros.
 */
void fwgen_cobs_encode(const uint8_t *data, size_t length,
                       void (*put)(const uint8_t *bytes, size_t count));

/* A writer of payloads that never passes the end of its buffer. */
struct fwgen_writer {
    uint8_t *data;
    uint32_t length;
    uint32_t capacity;
};

void fwgen_put8(struct fwgen_writer *writer, uint32_t value);
void fwgen_put16(struct fwgen_writer *writer, uint32_t value);
void fwgen_put32(struct fwgen_writer *writer, uint32_t value);
void fwgen_put_bytes(struct fwgen_writer *writer, const void *data,
                     uint32_t length);
void fwgen_put_string(struct fwgen_writer *writer, const char *text);

/* Receiver of bytes: splits frames from text. Private to rtos/link, here for
 * its tests. */
struct fwgen_receiver {
    uint32_t length;   /* bytes collected since the last zero */
    bool overflow;     /* the piece is longer than a frame can be */
    uint32_t frames;   /* good frames */
    uint32_t bad;      /* pieces after a zero byte that are not frames */
    uint8_t data[FWGEN_COBS_MAX(FWGEN_LINK_FRAME)];
};

/* Takes one byte. Returns the length of a complete frame with the right CRC,
 * decoded at receiver->data (valid until the next call), else 0. */
uint32_t fwgen_receiver_take(struct fwgen_receiver *receiver, uint8_t byte);

/*
 * Answers one request frame (header, payload, CRC). Writes the response, from
 * its header to its CRC, to `response` (FWGEN_LINK_FRAME bytes) and returns its
 * length. *exit_code gets the code of an EXIT request, else stays.
 */
uint32_t fwgen_link_answer(const uint8_t *request, uint32_t length,
                           uint8_t *response, int *exit_code);

/* Counters for the STATUS request. */
void fwgen_link_counters(uint32_t *frames, uint32_t *bad);

#endif
