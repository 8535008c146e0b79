/*
 * frontend.c - the front end: fetches and executes the command stream.
 *
 * Every command starts on a 64-bit boundary; bits 31..27 of its first word are
 * the operation (etnaviv command stream headers). The register that starts the
 * front end, LINK and CALL say how many 64-bit units to fetch; running past
 * them without another LINK is an error, as the hardware would wait for ever.
 *
 * The front end executes one thing at a time and waits for each job, so that a
 * semaphore with its STALL is satisfied when it is met. A STALL for which no
 * semaphore was sent would hang and is an error.
 *
 * A stream that goes in circles is ended: after max_idle_commands commands
 * without a job, or max_jobs jobs in one run.
 *
 * Errors set the AXI error interrupt and leave the front end busy until a
 * reset, so that a driver learns at once; hardware hangs without one in some
 * of these cases.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

enum opcode {
    OP_LOAD_STATE = 1,
    OP_END = 2,
    OP_NOP = 3,
    OP_WAIT = 7,
    OP_LINK = 8,
    OP_STALL = 9,
    OP_CALL = 10,
    OP_RETURN = 11,
    OP_CHIP_SELECT = 13,
};

#define FIXED_POINT 0x04000000u
#define UNIT 8u         /* bytes of a command at least */
#define START_CYCLES 1u /* from the register write to the first command */

void vip_fe_fail(struct accel_model *model, const char *format, ...)
{
    char text[VIP_ERROR_TEXT];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    vip_guest_error(model, "%s", text);
    model->fe.state = FE_STUCK;
    vip_intr_raise(model, VIP_INTR_AXI_ERROR);
}

static bool jump(struct accel_model *model, const char *what, uint32_t address,
                 uint32_t prefetch)
{
    if (address % UNIT != 0) {
        vip_fe_fail(model,
                    "FE: %s to 0x%08" PRIx32 ": commands start at multiples "
                    "of 8",
                    what, address);
        return false;
    }
    if (prefetch == 0) {
        vip_fe_fail(model, "FE: %s to 0x%08" PRIx32 " fetches 0 units", what,
                    address);
        return false;
    }
    model->fe.at = address;
    model->fe.stop = (uint64_t)address + (uint64_t)prefetch * UNIT;
    return true;
}

void vip_fe_start(struct accel_model *model, uint32_t address,
                  uint32_t prefetch)
{
    struct vip_front_end *fe = &model->fe;

    memset(fe, 0, sizeof *fe);
    fe->state = FE_RUNNING;
    fe->due = model->now + START_CYCLES;
    vip_intr_start(model);
    (void)jump(model, "start", address, prefetch);
}

void vip_fe_continue(struct accel_model *model)
{
    model->fe.state = FE_RUNNING;
    model->fe.due = model->now;
}

static bool fetch(struct accel_model *model, uint32_t *word)
{
    struct vip_front_end *fe = &model->fe;
    uint8_t bytes[4];

    if (fe->at + (uint64_t)sizeof bytes > fe->stop) {
        vip_fe_fail(model,
                    "FE: no END or LINK within the fetched commands, which "
                    "stop at 0x%08" PRIx64,
                    fe->stop);
        return false;
    }
    if (vip_route_in_sram(&model->route, fe->at, sizeof bytes)) {
        vip_fe_fail(model,
                    "FE: command at 0x%08" PRIx32 " lies in the VIP SRAM",
                    fe->at);
        return false;
    }
    if (vip_route_read(&model->route, fe->at, bytes, sizeof bytes) !=
        VIP_ACCESS_OK) {
        model->axi_status |= 0x200u; /* DET_RD_ERR */
        vip_fe_fail(model,
                    "FE: command at 0x%08" PRIx32 " is outside the memory",
                    fe->at);
        return false;
    }
    fe->at += (uint32_t)sizeof bytes;
    *word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
            (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return true;
}

/* The bit of a pair of units, or 0. RA 5, PE 7, DE 11 and BLT 16 are those that
 * the front end (1) can wait for. */
static uint32_t pair_bit(uint32_t token)
{
    static const uint8_t units[] = {5, 7, 11, 16};

    if ((token & ~0x1f1fu) != 0 || (token & 0x1fu) != 1u) {
        return 0;
    }
    for (unsigned i = 0; i < sizeof units; i++) {
        if (token >> 8 == units[i]) {
            return 1u << i;
        }
    }
    return 0;
}

/* Waits for a unit that GL.SEMAPHORE_TOKEN has been sent to. */
static bool stall(struct accel_model *model, uint32_t token)
{
    uint32_t bit = pair_bit(token);

    if (bit == 0) {
        vip_fe_fail(model, "FE: STALL 0x%04" PRIx32 ": no such pair of units",
                    token);
        return false;
    }
    if ((model->fe.semaphores & bit) == 0) {
        vip_fe_fail(model,
                    "FE: STALL 0x%04" PRIx32
                    " waits for a semaphore that nobody sends",
                    token);
        return false;
    }
    model->fe.semaphores &= ~bit;
    return true;
}

static bool end(struct accel_model *model, uint32_t word)
{
    model->fe.state = FE_IDLE;
    if ((word & 0x100u) != 0) {
        unsigned event = word & 0x1fu;

        if (event >= VIP_EVENTS) {
            vip_guest_error(model, "FE: END with event %u: there are 0 to 29",
                            event);
        } else {
            vip_intr_event(model, event);
        }
    }
    return false;
}

static bool call(struct accel_model *model, uint32_t word, uint32_t address)
{
    struct vip_front_end *fe = &model->fe;
    uint32_t prefetch, back;

    if (!fetch(model, &prefetch) || !fetch(model, &back)) {
        return false;
    }
    if (fe->called) {
        vip_fe_fail(model, "FE: CALL within a CALL: there is one level");
        return false;
    }
    fe->called = true;
    fe->return_at = back;
    fe->return_prefetch = prefetch & 0xffffu;
    return jump(model, "CALL", address, word & 0xffffu);
}

static bool come_back(struct accel_model *model)
{
    struct vip_front_end *fe = &model->fe;

    if (!fe->called) {
        vip_fe_fail(model, "FE: RETURN without a CALL");
        return false;
    }
    fe->called = false;
    return jump(model, "RETURN", fe->return_at, fe->return_prefetch);
}

static bool load_state(struct accel_model *model, uint32_t word)
{
    struct vip_front_end *fe = &model->fe;
    unsigned count = word >> 16 & 0x3ffu;

    if ((word & FIXED_POINT) != 0) {
        vip_fe_fail(model,
                    "FE: LOAD_STATE 0x%08" PRIx32
                    ": conversion from fixed point is not modelled",
                    word);
        return false;
    }
    fe->payload = count != 0 ? count : 0x400u;
    fe->payload_addr = (word & 0xffffu) * 4u;
    return true;
}

/* The next word of a LOAD_STATE, and behind the last one the padding. */
static bool payload(struct accel_model *model)
{
    struct vip_front_end *fe = &model->fe;
    uint32_t address = fe->payload_addr;
    uint32_t value;

    if (!fetch(model, &value)) {
        return false;
    }
    fe->payload--;
    fe->payload_addr += 4u;
    if (fe->payload == 0 && fe->at % UNIT != 0) {
        fe->at += 4u;
    }
    vip_state_write(model, address, value);
    return fe->state == FE_RUNNING;
}

static bool command(struct accel_model *model)
{
    struct vip_front_end *fe = &model->fe;
    uint32_t at = fe->at;
    uint32_t word, second;

    if (!fetch(model, &word)) {
        return false;
    }
    fe->last[0] = word;
    if (word >> 27 == OP_LOAD_STATE) {
        return load_state(model, word);
    }
    if (!fetch(model, &second)) {
        return false;
    }
    fe->last[1] = second;
    switch (word >> 27) {
    case OP_END:
        return end(model, word);
    case OP_NOP:
        return true;
    case OP_WAIT:
        fe->due = model->now + (word & 0xffffu);
        return false;
    case OP_LINK:
        return jump(model, "LINK", second, word & 0xffffu);
    case OP_STALL:
        return stall(model, second);
    case OP_CALL:
        return call(model, word, second);
    case OP_RETURN:
        return come_back(model);
    case OP_CHIP_SELECT:
        if ((word & 1u) == 0) {
            vip_fe_fail(model,
                        "FE: CHIP_SELECT 0x%04" PRIx32
                        ": there is one core, bit 0",
                        word & 0xffffu);
            return false;
        }
        return true;
    default:
        vip_fe_fail(model,
                    "FE: command 0x%08" PRIx32 " at 0x%08" PRIx32
                    ": operation %u is unknown or not modelled",
                    word, at, (unsigned)(word >> 27));
        return false;
    }
}

void vip_fe_semaphore(struct accel_model *model, uint32_t token)
{
    uint32_t bit = pair_bit(token);

    if (bit == 0) {
        vip_fe_fail(model,
                    "FE: GL_SEMAPHORE_TOKEN = 0x%04" PRIx32
                    ": no such pair of units",
                    token);
        return;
    }
    model->fe.semaphores |= bit;
}

void vip_fe_proceed(struct accel_model *model)
{
    struct vip_front_end *fe = &model->fe;
    bool more = true;

    while (more) {
        if (fe->payload != 0) {
            more = payload(model);
            continue;
        }
        if (fe->idle_commands++ >= model->max_idle_commands) {
            vip_fe_fail(
                model,
                "FE: %u commands without a job: the stream at 0x%08" PRIx32
                " goes in circles",
                model->max_idle_commands, fe->at);
            return;
        }
        more = command(model);
    }
}
