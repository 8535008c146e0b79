/*
 * result.c - names of result codes, for people.
 */
#include "fwgen_result.h"

#include "fwgen_config_defaults.h"

const char *fwgen_result_name(enum fwgen_result result)
{
    switch (result) {
    case FWGEN_OK:
        return "OK";
    case FWGEN_ERROR_BAD_VERSION:
        return "BAD_VERSION";
    case FWGEN_ERROR_BAD_TYPE:
        return "BAD_TYPE";
    case FWGEN_ERROR_BAD_LENGTH:
        return "BAD_LENGTH";
    case FWGEN_ERROR_BAD_INDEX:
        return "BAD_INDEX";
    case FWGEN_ERROR_BAD_RANGE:
        return "BAD_RANGE";
    case FWGEN_ERROR_BUSY:
        return "BUSY";
    case FWGEN_ERROR_TIMEOUT:
        return "TIMEOUT";
    case FWGEN_ERROR_DEVICE:
        return "DEVICE";
    case FWGEN_ERROR_NOT_SUPPORTED:
        return "NOT_SUPPORTED";
    case FWGEN_ERROR_CANARY:
        return "CANARY";
#if FWGEN_NVMEM
    case FWGEN_ERROR_REFUSED:
        return "REFUSED";
    case FWGEN_ERROR_FLASH:
        return "FLASH";
#endif
    case FWGEN_ERROR_ARGUMENT:
        return "ARGUMENT";
    case FWGEN_ERROR_NO_INSTANCE:
        return "NO_INSTANCE";
    case FWGEN_ERROR_CANCELLED:
        return "CANCELLED";
    case FWGEN_ERROR_PROGRAM:
        return "PROGRAM";
    case FWGEN_ERROR_QUEUE_FULL:
        return "QUEUE_FULL";
    case FWGEN_ERROR_ALIGNMENT:
        return "ALIGNMENT";
    case FWGEN_ERROR_SIGNALLED:
        return "SIGNALLED";
    case FWGEN_ERROR_DEPENDENCY:
        return "DEPENDENCY";
    default:
        return "?";
    }
}
