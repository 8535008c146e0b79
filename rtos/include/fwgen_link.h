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
    FWGEN_LINK_RESTART = 0x0c,
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

/*
 * Receiver of bytes: splits frames from text. A zero after a piece closes it,
 * a zero after nothing opens a frame; text is what comes after a piece was
 * closed. A piece that decodes with the right CRC is a frame wherever it
 * stands, so an opening zero that got lost costs nothing.
 */
struct fwgen_receiver {
    uint32_t length; /* bytes collected since the last zero or line end */
    bool overflow;   /* the piece is longer than a frame can be */
    bool in_frame;   /* the last zero opened a frame */
    bool complete;   /* data was handed out; the next byte starts anew */
    uint32_t frames; /* good frames */
    uint32_t bad;    /* pieces that were opened as frames and are none */
    uint8_t data[FWGEN_COBS_MAX(FWGEN_LINK_FRAME)];
};

enum fwgen_received {
    FWGEN_RECEIVED_NOTHING, /* more bytes are needed */
    FWGEN_RECEIVED_FRAME,   /* data[0 .. length) is a frame, CRC checked */
    FWGEN_RECEIVED_LINE,    /* data[0 .. length) is a line without its end */
};

/* Takes one byte. What it completed is valid until the next call, which
 * starts a new piece. */
enum fwgen_received fwgen_receiver_take(struct fwgen_receiver *receiver,
                                        uint8_t byte);

/* What the link remembers between requests. */
struct fwgen_link {
    struct fwgen_receiver receiver;
    uint8_t response[FWGEN_LINK_FRAME];
    uint32_t response_length; /* 0: no request has been answered */
    uint16_t sequence;        /* of that response */
    bool exit;                /* an EXIT request was answered */
    uint8_t exit_code;
};

/*
 * Answers one request frame (header, payload, CRC; the CRC is right). Leaves
 * the response, from its header to its CRC, in link->response and returns its
 * length, or 0 when the frame is no request. May block in RUN.
 */
uint32_t fwgen_link_answer(struct fwgen_link *link, const uint8_t *request,
                           uint32_t length);

/* The tasks of the runtime, for TASKS and the shell. */
struct fwgen_task_info {
    const char *name;
    uint32_t stack_words; /* 0: unknown */
    uint32_t free_words;  /* least ever */
    uint32_t priority;
    uint32_t permille; /* of the CPU since start; 0: not counted */
};

/* Task `index` of those that exist; false beyond the last. Task context. */
bool fwgen_task_info(uint32_t index, struct fwgen_task_info *info);

/* One line of text for the shell (not terminated). Task context. */
void fwgen_shell_line(const uint8_t *line, uint32_t length);

#endif
