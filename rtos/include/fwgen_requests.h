/*
 * fwgen_requests.h - the part of the serial link that belongs to non-volatile
 * memory (docs/link.md, requests 0x10 to 0x2f).
 */
#ifndef FWGEN_REQUESTS_H
#define FWGEN_REQUESTS_H

#include "fwgen_link.h"
#include "fwgen_result.h"

enum fwgen_link_nvmem_type {
    FWGEN_LINK_SLOTS = 0x10,
    FWGEN_LINK_UPDATE_BEGIN = 0x11,
    FWGEN_LINK_UPDATE_DATA = 0x12,
    FWGEN_LINK_UPDATE_FINISH = 0x13,
    FWGEN_LINK_UPDATE_ABORT = 0x14,
    FWGEN_LINK_CONFIRM = 0x15,
    FWGEN_LINK_RESET = 0x16,
    FWGEN_LINK_PARTITIONS = 0x18,
    FWGEN_LINK_PARTITION_ERASE = 0x19,
    FWGEN_LINK_SETTING_GET = 0x1a,
    FWGEN_LINK_SETTING_SET = 0x1b,
    FWGEN_LINK_SETTING_DELETE = 0x1c,
    FWGEN_LINK_SETTING_KEYS = 0x1d,
    FWGEN_LINK_NVMEM_LAST = 0x2f,
};

/*
 * Answers one of these requests: the payload's length is the frame's. Task
 * context; may take as long as the erase of a block, FINISH as long as the
 * digest of a slot.
 */
enum fwgen_result fwgen_nvmem_answer(uint8_t type, const uint8_t *payload,
                                     uint32_t length, struct fwgen_writer *out);

#endif
