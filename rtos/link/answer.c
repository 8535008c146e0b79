/*
 * answer.c - the requests of the serial link (docs/link.md, "Requests").
 *
 * Each request is a function from payload to status and response payload; the
 * table checks lengths before it is called. Nothing here knows the UART.
 */
#include "fwgen_link.h"

#include <string.h>

#include "fwgen_accel.h"
#include "fwgen_cpu.h"
#include "fwgen_requests.h"
#include "fwgen_uart.h"
#include "fwgen_watchdog.h"
#include "task.h"

#define TASKS_MAX 32u

/* Bit 0 profile, 1 shell, 2 canaries, 3 test build. */
#define INFO_FLAGS                                                             \
    (FWGEN_PROFILE * 1u + FWGEN_SHELL * 2u + FWGEN_CANARIES * 4u +             \
     FWGEN_TEST_BUILD * 8u)

/* ---- bytes ---- */

void fwgen_put_bytes(struct fwgen_writer *writer, const void *data,
                     uint32_t length)
{
    if (length <= writer->capacity - writer->length) {
        (void)memcpy(&writer->data[writer->length], data, length);
        writer->length += length;
    }
}

void fwgen_put8(struct fwgen_writer *writer, uint32_t value)
{
    const uint8_t byte = (uint8_t)value;

    fwgen_put_bytes(writer, &byte, 1);
}

void fwgen_put16(struct fwgen_writer *writer, uint32_t value)
{
    fwgen_put8(writer, value & 0xffu);
    fwgen_put8(writer, (value >> 8) & 0xffu);
}

void fwgen_put32(struct fwgen_writer *writer, uint32_t value)
{
    fwgen_put16(writer, value & 0xffffu);
    fwgen_put16(writer, value >> 16);
}

/* By reference: no register of an FPU is needed to send one. */
static void put_float(struct fwgen_writer *writer, const float *value)
{
    uint32_t word;

    (void)memcpy(&word, value, sizeof(word));
    fwgen_put32(writer, word);
}

void fwgen_put_string(struct fwgen_writer *writer, const char *text)
{
    uint32_t length = (uint32_t)strlen(text);

    if (length > 255u) {
        length = 255u;
    }
    fwgen_put8(writer, length);
    fwgen_put_bytes(writer, text, length);
}

static uint32_t get16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) | get16(&bytes[2]) << 16;
}

/* ---- requests ---- */

/* What a request function works with. */
struct exchange {
    struct fwgen_link *link;
    const uint8_t *payload;
    uint32_t length;
    struct fwgen_writer *out;
};

static const struct fwgen_model *model_at(uint32_t index)
{
    return index < fwgen_model_count ? &fwgen_models[index] : NULL;
}

/* The tensor that bytes 0..2 of the payload name: model, direction, index. */
static const struct fwgen_tensor *tensor_at(const uint8_t *payload)
{
    const struct fwgen_model *model = model_at(payload[0]);

    if (model == NULL || payload[1] > 1u) {
        return NULL;
    }
    return payload[1] == 0u ? fwgen_model_input(model, payload[2])
                            : fwgen_model_output(model, payload[2]);
}

static bool is_running(const uint8_t *payload)
{
    return fwgen_accel_state(fwgen_accel_device(
               fwgen_models[payload[0]].accelerator)) == FWGEN_STATE_RUNNING;
}

static enum fwgen_result answer_info(const struct exchange *exchange)
{
    struct fwgen_writer *out = exchange->out;

    fwgen_put8(out, FWGEN_LINK_VERSION);
    fwgen_put8(out, fwgen_model_count);
    fwgen_put8(out, fwgen_accelerator_count);
    fwgen_put8(out, INFO_FLAGS);
    fwgen_put16(out, FWGEN_LINK_PAYLOAD);
    fwgen_put16(out, 0);
    fwgen_put_bytes(out, fwgen_build_id, 16);
    fwgen_put_string(out, fwgen_board_name);
    fwgen_put_string(out, fwgen_version);
    fwgen_put_string(out, tskKERNEL_VERSION_NUMBER);
    return FWGEN_OK;
}

static enum fwgen_result answer_model(const struct exchange *exchange)
{
    const struct fwgen_model *model = model_at(exchange->payload[0]);
    struct fwgen_writer *out = exchange->out;
    const struct fwgen_accelerator *hardware;

    if (model == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    hardware = &fwgen_accelerators[model->accelerator];
    fwgen_put8(out, model->input_count);
    fwgen_put8(out, model->output_count);
    fwgen_put16(out, model->operation_count);
    fwgen_put_bytes(out, model->layout_hash, sizeof(model->layout_hash));
    fwgen_put_string(out, model->name);
    fwgen_put_string(out, hardware->name);
    fwgen_put_string(out, hardware->family);
    fwgen_put_string(out, hardware->config);
    return FWGEN_OK;
}

static enum fwgen_result answer_tensor(const struct exchange *exchange)
{
    const struct fwgen_tensor *tensor = tensor_at(exchange->payload);
    struct fwgen_writer *out = exchange->out;

    if (tensor == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    fwgen_put32(out, tensor->size);
    for (uint32_t i = 0; i < 4u; i++) {
        fwgen_put32(out, tensor->shape[i]);
    }
    for (uint32_t i = 0; i < 3u; i++) {
        fwgen_put32(out, tensor->strides[i]);
    }
    put_float(out, &tensor->scale);
    fwgen_put32(out, (uint32_t)tensor->zero_point);
    fwgen_put8(out, tensor->dtype);
    fwgen_put8(out, tensor->layout);
    fwgen_put16(out, tensor->atom);
    fwgen_put_string(out, tensor->name);
    return FWGEN_OK;
}

static enum fwgen_result answer_write(const struct exchange *exchange)
{
    const struct fwgen_tensor *tensor = tensor_at(exchange->payload);
    const uint32_t offset = get32(&exchange->payload[4]);
    const uint32_t length = exchange->length - 8u;

    if (tensor == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    if (length > tensor->size || offset > tensor->size - length) {
        return FWGEN_ERROR_BAD_RANGE;
    }
    if (is_running(exchange->payload)) {
        return FWGEN_ERROR_BUSY;
    }
    (void)memcpy(&tensor->address[offset], &exchange->payload[8], length);
    return FWGEN_OK;
}

static enum fwgen_result answer_read(const struct exchange *exchange)
{
    const struct fwgen_tensor *tensor = tensor_at(exchange->payload);
    const uint32_t offset = get32(&exchange->payload[4]);
    const uint32_t length = get32(&exchange->payload[8]);

    if (tensor == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    if (length == 0u || length > FWGEN_LINK_PAYLOAD || length > tensor->size ||
        offset > tensor->size - length) {
        return FWGEN_ERROR_BAD_RANGE;
    }
    fwgen_put_bytes(exchange->out, &tensor->address[offset], length);
    return FWGEN_OK;
}

static enum fwgen_result answer_run(const struct exchange *exchange)
{
    const struct fwgen_model *model = model_at(exchange->payload[0]);
    struct fwgen_writer *out = exchange->out;
    struct fwgen_report report;
    enum fwgen_result result;

    if (model == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    result = fwgen_accel_submit(fwgen_accel_device(model->accelerator), model,
                                get32(&exchange->payload[4]), &report);
    fwgen_put32(out, report.operation);
    fwgen_put32(out, (uint32_t)report.duration);
    fwgen_put32(out, (uint32_t)(report.duration >> 32));
    fwgen_put32(out, fwgen_timer_hz());
    fwgen_put32(out, report.interrupts);
    fwgen_put32(out, report.kernel_ticks);
    return result;
}

/* Adds up the devices; the last failure is the one of the first device that
 * has one. */
static enum fwgen_result answer_status(const struct exchange *exchange)
{
    struct fwgen_writer *out = exchange->out;
    struct fwgen_statistics sum;

    (void)memset(&sum, 0, sizeof(sum));
    sum.last_operation = FWGEN_NO_OPERATION;
    for (uint32_t i = 0; i < fwgen_accelerator_count; i++) {
        struct fwgen_statistics one;

        fwgen_accel_statistics(fwgen_accel_device(i), &one);
        sum.inferences += one.inferences;
        sum.errors += one.errors;
        sum.interrupts += one.interrupts;
        sum.spurious += one.spurious;
        sum.resets += one.resets;
        if (sum.last_operation == FWGEN_NO_OPERATION) {
            sum.last_operation = one.last_operation;
        }
        if (sum.last_result == FWGEN_OK) {
            sum.last_result = one.last_result;
        }
    }
    fwgen_put32(out, xTaskGetTickCount());
    fwgen_put32(out, configTICK_RATE_HZ);
    fwgen_put32(out, sum.inferences);
    fwgen_put32(out, sum.errors);
    fwgen_put32(out, sum.interrupts);
    fwgen_put32(out, sum.spurious);
    fwgen_put32(out, sum.resets);
    fwgen_put32(out, sum.last_operation);
    fwgen_put8(out, (uint32_t)sum.last_result);
    fwgen_put8(out, 0);
    fwgen_put16(out, 0);
    fwgen_put32(out, exchange->link->receiver.frames);
    fwgen_put32(out, exchange->link->receiver.bad);
    fwgen_put32(out, fwgen_uart_overruns());
    return FWGEN_OK;
}

static enum fwgen_result answer_profile(const struct exchange *exchange)
{
#if FWGEN_PROFILE
    const struct fwgen_model *model = model_at(exchange->payload[0]);
    const uint32_t first = get16(&exchange->payload[2]);
    const uint32_t most = (FWGEN_LINK_PAYLOAD - 4u) / 4u;
    struct fwgen_writer *out = exchange->out;
    fwgen_device device;
    uint32_t count = 0;
    uint32_t ticks;

    if (model == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    device = fwgen_accel_device(model->accelerator);
    if (first >= model->operation_count) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    fwgen_put16(out, model->operation_count);
    fwgen_put16(out, 0); /* the count, below */
    while (count < most &&
           fwgen_accel_profile(device, model, first + count, &ticks, 1) == 1u) {
        fwgen_put32(out, ticks);
        count++;
    }
    out->data[2] = (uint8_t)count;
    return FWGEN_OK;
#else
    (void)exchange;
    return FWGEN_ERROR_NOT_SUPPORTED;
#endif
}

static enum fwgen_result answer_tasks(const struct exchange *exchange)
{
    struct fwgen_writer *out = exchange->out;
    struct fwgen_task_info info;
    uint32_t count = 0;

    fwgen_put16(out, 0); /* the count, below */
    fwgen_put16(out, 0);
    while (count < TASKS_MAX && fwgen_task_info(count, &info)) {
        if (out->capacity - out->length < 13u + strlen(info.name)) {
            break;
        }
        fwgen_put32(out, info.stack_words);
        fwgen_put32(out, info.free_words);
        fwgen_put8(out, info.priority);
        fwgen_put8(out, 0);
        fwgen_put16(out, 0);
        fwgen_put_string(out, info.name);
        count++;
    }
    out->data[0] = (uint8_t)count;
    return FWGEN_OK;
}

static enum fwgen_result answer_fill(const struct exchange *exchange)
{
    const struct fwgen_tensor *tensor = tensor_at(exchange->payload);

    if (tensor == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    if (is_running(exchange->payload)) {
        return FWGEN_ERROR_BUSY;
    }
    (void)memset(tensor->address, exchange->payload[3], tensor->size);
    return FWGEN_OK;
}

static enum fwgen_result answer_crc(const struct exchange *exchange)
{
    const struct fwgen_tensor *tensor = tensor_at(exchange->payload);

    if (tensor == NULL) {
        return FWGEN_ERROR_BAD_INDEX;
    }
    fwgen_put32(exchange->out, fwgen_crc32(0, tensor->address, tensor->size));
    return FWGEN_OK;
}

#if FWGEN_WATCHDOG
static enum fwgen_result answer_restart(const struct exchange *exchange)
{
    const struct fwgen_restart_reason *reason = fwgen_restart_reason();
    struct fwgen_writer *out = exchange->out;

    fwgen_put32(out, (uint32_t)reason->kind);
    fwgen_put32(out, reason->detail);
    fwgen_put32(out, reason->cause);
    fwgen_put_string(out, reason->name);
    return FWGEN_OK;
}
#endif

static enum fwgen_result answer_exit(const struct exchange *exchange)
{
#if FWGEN_TEST_BUILD
    exchange->link->exit = true;
    exchange->link->exit_code = exchange->payload[0];
    return FWGEN_OK;
#else
    (void)exchange;
    return FWGEN_ERROR_NOT_SUPPORTED;
#endif
}

struct request {
    uint8_t type;
    uint16_t shortest;
    uint16_t longest;
    enum fwgen_result (*answer)(const struct exchange *exchange);
};

static const struct request requests[] = {
    {FWGEN_LINK_INFO, 0, 0, answer_info},
    {FWGEN_LINK_MODEL, 1, 1, answer_model},
    {FWGEN_LINK_TENSOR, 3, 3, answer_tensor},
    {FWGEN_LINK_WRITE, 9, FWGEN_LINK_PAYLOAD, answer_write},
    {FWGEN_LINK_READ, 12, 12, answer_read},
    {FWGEN_LINK_RUN, 8, 8, answer_run},
    {FWGEN_LINK_STATUS, 0, 0, answer_status},
    {FWGEN_LINK_PROFILE, 4, 4, answer_profile},
    {FWGEN_LINK_TASKS, 0, 0, answer_tasks},
    {FWGEN_LINK_FILL, 4, 4, answer_fill},
    {FWGEN_LINK_CRC, 4, 4, answer_crc},
#if FWGEN_WATCHDOG
    {FWGEN_LINK_RESTART, 0, 0, answer_restart},
#endif
    {FWGEN_LINK_EXIT, 1, 1, answer_exit},
};

static const struct request *request_of(uint8_t type)
{
    for (uint32_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        if (requests[i].type == type) {
            return &requests[i];
        }
    }
    return NULL;
}

static enum fwgen_result dispatch(struct fwgen_link *link, const uint8_t *frame,
                                  uint32_t length, struct fwgen_writer *out)
{
    const struct request *request = request_of(frame[1]);
    struct exchange exchange;

    exchange.link = link;
    exchange.payload = &frame[FWGEN_LINK_HEADER];
    exchange.length = length - FWGEN_LINK_HEADER - 4u;
    exchange.out = out;
    if (frame[0] != FWGEN_LINK_VERSION) {
        fwgen_put8(out, FWGEN_LINK_VERSION);
        return FWGEN_ERROR_BAD_VERSION;
    }
#if FWGEN_NVMEM
    if (frame[1] >= FWGEN_LINK_SLOTS && frame[1] <= FWGEN_LINK_NVMEM_LAST) {
        return get16(&frame[6]) != exchange.length
                   ? FWGEN_ERROR_BAD_LENGTH
                   : fwgen_nvmem_answer(frame[1], exchange.payload,
                                        exchange.length, out);
    }
#endif
    if (request == NULL) {
        return FWGEN_ERROR_BAD_TYPE;
    }
    if (get16(&frame[6]) != exchange.length ||
        exchange.length < request->shortest ||
        exchange.length > request->longest) {
        return FWGEN_ERROR_BAD_LENGTH;
    }
    return request->answer(&exchange);
}

uint32_t fwgen_link_answer(struct fwgen_link *link, const uint8_t *request,
                           uint32_t length)
{
    const uint32_t sequence = get16(&request[2]);
    struct fwgen_writer payload = {&link->response[FWGEN_LINK_HEADER], 0,
                                   FWGEN_LINK_PAYLOAD};
    struct fwgen_writer frame = {link->response, 0, FWGEN_LINK_FRAME};
    enum fwgen_result result;

    if ((request[1] & 0x80u) != 0u) {
        return 0; /* a response, perhaps our own on a line with echo */
    }
    if (sequence != 0u && link->response_length != 0u &&
        sequence == link->sequence) {
        return link->response_length;
    }
    result = dispatch(link, request, length, &payload);
    if (result == FWGEN_ERROR_QUEUE_FULL) {
        result = FWGEN_ERROR_BUSY;
    }
    if (result > FWGEN_RESULT_LAST_SENT) {
        result = FWGEN_ERROR_DEVICE;
    }
    fwgen_put8(&frame, FWGEN_LINK_VERSION);
    fwgen_put8(&frame, request[1] | 0x80u);
    fwgen_put16(&frame, sequence);
    fwgen_put8(&frame, (uint32_t)result);
    fwgen_put8(&frame, 0);
    fwgen_put16(&frame, payload.length);
    frame.length += payload.length;
    fwgen_put32(&frame, fwgen_crc32(0, link->response, frame.length));
    link->sequence = (uint16_t)sequence;
    link->response_length = frame.length;
    return frame.length;
}
