/*
 * receiver.c - from received bytes to frames and lines (docs/link.md, "Sharing
 * a line with text").
 */
#include "fwgen_link.h"

static uint32_t little32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
           (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* The length of the frame that the piece decodes to, 0 when it is none. */
static uint32_t decode(struct fwgen_receiver *receiver, uint32_t length)
{
    const uint32_t size = (uint32_t)fwgen_cobs_decode(receiver->data, length);

    if (size < FWGEN_LINK_HEADER + 4u || size > FWGEN_LINK_FRAME ||
        fwgen_crc32(0, receiver->data, size - 4u) !=
            little32(&receiver->data[size - 4u])) {
        return 0;
    }
    return size;
}

enum fwgen_received fwgen_receiver_take(struct fwgen_receiver *receiver,
                                        uint8_t byte)
{
    if (receiver->complete) {
        receiver->complete = false;
        receiver->length = 0;
    }
    if (byte == 0u) {
        const uint32_t length = receiver->length;
        const bool opened = receiver->in_frame;
        const bool overflow = receiver->overflow;

        receiver->length = 0;
        receiver->overflow = false;
        receiver->in_frame = true;
        if (length == 0u) {
            return FWGEN_RECEIVED_NOTHING;
        }
        receiver->length = overflow ? 0u : decode(receiver, length);
        if (receiver->length != 0u) {
            receiver->frames++;
            receiver->in_frame = false;
            receiver->complete = true;
            return FWGEN_RECEIVED_FRAME;
        }
        if (opened) {
            receiver->bad++;
        }
        return FWGEN_RECEIVED_NOTHING;
    }
    if (!receiver->in_frame && (byte == '\r' || byte == '\n')) {
        receiver->complete = true;
        if (receiver->overflow) {
            receiver->overflow = false;
            receiver->length = 0;
        }
        return FWGEN_RECEIVED_LINE;
    }
    if (receiver->length < sizeof(receiver->data)) {
        receiver->data[receiver->length++] = byte;
    } else {
        receiver->overflow = true;
    }
    return FWGEN_RECEIVED_NOTHING;
}
