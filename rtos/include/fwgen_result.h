/*
 * fwgen_result.h - result codes of all functions of the runtime.
 *
 * 0 to 12 are the status codes of the serial link (docs/link.md); codes from
 * 16 on are never sent, the link reports QUEUE_FULL as BUSY and the others as
 * DEVICE.
 */
#ifndef FWGEN_RESULT_H
#define FWGEN_RESULT_H

enum fwgen_result {
    FWGEN_OK = 0,
    FWGEN_ERROR_BAD_VERSION = 1,
    FWGEN_ERROR_BAD_TYPE = 2,
    FWGEN_ERROR_BAD_LENGTH = 3,
    FWGEN_ERROR_BAD_INDEX = 4,
    FWGEN_ERROR_BAD_RANGE = 5,
    FWGEN_ERROR_BUSY = 6,
    FWGEN_ERROR_TIMEOUT = 7,
    FWGEN_ERROR_DEVICE = 8,
    FWGEN_ERROR_NOT_SUPPORTED = 9,
    FWGEN_ERROR_CANARY = 10,
    FWGEN_ERROR_REFUSED = 11,     /* a package; enum fwgen_package_fault */
    FWGEN_ERROR_FLASH = 12,       /* the non-volatile memory failed */
    FWGEN_ERROR_ARGUMENT = 16,    /* NULL or a contradiction */
    FWGEN_ERROR_NO_INSTANCE = 17, /* all instances are handed out */
    FWGEN_ERROR_CANCELLED = 18,
    FWGEN_ERROR_PROGRAM = 19,    /* reserved opcode or truncated command */
    FWGEN_ERROR_QUEUE_FULL = 20, /* FWGEN_QUEUE_LENGTH jobs wait already */
    FWGEN_ERROR_ALIGNMENT = 21,  /* a buffer's address */
    FWGEN_ERROR_SIGNALLED = 22,  /* the fence holds all signals it can hold */
    FWGEN_ERROR_DEPENDENCY = 23, /* who signalled the fence had failed */
};

/* "TIMEOUT" for FWGEN_ERROR_TIMEOUT; "?" for an unknown code. Any context. */
const char *fwgen_result_name(enum fwgen_result result);

/* The last code that goes over the link. */
#define FWGEN_RESULT_LAST_SENT FWGEN_ERROR_FLASH

/* No operation, in reports. */
#define FWGEN_NO_OPERATION 0xffffffffu

#endif
