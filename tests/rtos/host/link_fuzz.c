/*
 * link_fuzz.c - random requests and random bytes for the link, under the
 * sanitizers: link_fuzz SEED ROUNDS. Prints what it counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fwgen_accel.h"
#include "fwgen_link.h"
#include "fwgen_uart.h"

/* Heap blocks of the exact size, so that the sanitizer sees each byte beyond.
 */
static struct fwgen_tensor inputs[2];
static struct fwgen_tensor outputs[1];
static const uint32_t program[] = {0};

const struct fwgen_model fwgen_models[] = {
    {.name = "one",
     .program = program,
     .program_words = 1,
     .inputs = inputs,
     .outputs = outputs,
     .input_count = 2,
     .output_count = 1,
     .operation_count = 3},
};
const uint32_t fwgen_model_count = 1;
const struct fwgen_accelerator fwgen_accelerators[] = {
    {.name = "dla0", .family = "nvdla", .config = "nv_small"},
};
const uint32_t fwgen_accelerator_count = 1;
const char fwgen_board_name[] = "host";
const char fwgen_version[] = "0";
const uint8_t fwgen_build_id[16] = {0};

static enum fwgen_device_state state;

fwgen_device fwgen_accel_device(uint32_t index)
{
    return index == 0u ? (fwgen_device)(uintptr_t)inputs : NULL;
}

enum fwgen_device_state fwgen_accel_state(fwgen_device device)
{
    (void)device;
    return state;
}

void fwgen_accel_statistics(fwgen_device device,
                            struct fwgen_statistics *statistics)
{
    (void)device;
    memset(statistics, 0, sizeof(*statistics));
}

uint32_t fwgen_accel_profile(fwgen_device device,
                             const struct fwgen_model *model, uint32_t first,
                             uint32_t *ticks, uint32_t count)
{
    (void)device;
    (void)model;
    (void)first;
    (void)ticks;
    (void)count;
    return 0;
}

enum fwgen_result fwgen_accel_submit(fwgen_device device,
                                     const struct fwgen_model *model,
                                     uint32_t timeout_ms,
                                     struct fwgen_report *report)
{
    (void)device;
    (void)model;
    memset(report, 0, sizeof(*report));
    return (enum fwgen_result)(timeout_ms % 24u);
}

const struct fwgen_tensor *fwgen_model_input(const struct fwgen_model *model,
                                             uint32_t index)
{
    return index < model->input_count ? &model->inputs[index] : NULL;
}

const struct fwgen_tensor *fwgen_model_output(const struct fwgen_model *model,
                                              uint32_t index)
{
    return index < model->output_count ? &model->outputs[index] : NULL;
}

bool fwgen_task_info(uint32_t index, struct fwgen_task_info *info)
{
    memset(info, 0, sizeof(*info));
    info->name = "a task with a name that is rather long, to fill the payload";
    return index < 100u;
}

uint32_t fwgen_timer_hz(void)
{
    return 1;
}

uint32_t fwgen_uart_overruns(void)
{
    return 0;
}

TickType_t xTaskGetTickCount(void)
{
    return 0;
}

static uint32_t generator;

static uint32_t next(uint32_t limit)
{
    generator ^= generator << 13;
    generator ^= generator >> 17;
    generator ^= generator << 5;
    return generator % limit;
}

static void make_tensor(struct fwgen_tensor *tensor, uint32_t size)
{
    tensor->name = "tensor";
    tensor->size = size;
    tensor->address = malloc(size);
    if (tensor->address == NULL) {
        exit(2);
    }
    memset(tensor->address, 0, size);
}

static uint8_t encoded[FWGEN_COBS_MAX(FWGEN_LINK_FRAME)];
static size_t encoded_length;

static void keep(const uint8_t *bytes, size_t count)
{
    if (encoded_length + count > sizeof(encoded)) {
        exit(3);
    }
    memcpy(&encoded[encoded_length], bytes, count);
    encoded_length += count;
}

/* A request with plausible fields now and then; returns its length. */
static uint32_t make_request(uint8_t *frame)
{
    static const uint16_t lengths[] = {0, 1, 3, 4, 8, 9, 12, 20, 1016, 1024};
    const uint32_t length = lengths[next(10)];
    struct fwgen_writer writer = {frame, 0, FWGEN_LINK_FRAME};

    fwgen_put8(&writer, next(20) == 0u ? next(256) : 1u);
    fwgen_put8(&writer, next(10) == 0u ? next(256) : next(17));
    fwgen_put16(&writer, next(4));
    fwgen_put16(&writer, 0);
    fwgen_put16(&writer, next(20) == 0u ? next(65536) : length);
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t choice = next(8);

        fwgen_put8(&writer, choice < 5u ? next(3) : next(256));
    }
    fwgen_put32(&writer, fwgen_crc32(0, frame, writer.length));
    return writer.length;
}

int main(int count, char **arguments)
{
    static struct fwgen_link link;
    uint32_t answers = 0;
    uint32_t received = 0;

    if (count != 3) {
        return 2;
    }
    generator = (uint32_t)strtoul(arguments[1], NULL, 10) * 2654435761u + 1u;
    make_tensor(&inputs[0], 1);
    make_tensor(&inputs[1], 700);
    make_tensor(&outputs[0], 5000);
    for (uint32_t i = (uint32_t)strtoul(arguments[2], NULL, 10); i != 0u; i--) {
        uint8_t frame[FWGEN_LINK_FRAME];
        const uint32_t length = make_request(frame);
        uint8_t *exact = malloc(length);
        uint32_t answer;

        state = next(9) == 0u ? FWGEN_STATE_RUNNING : FWGEN_STATE_IDLE;
        if (exact == NULL) {
            return 2;
        }
        memcpy(exact, frame, length);
        answer = fwgen_link_answer(&link, exact, length);
        free(exact);
        if (answer > FWGEN_LINK_FRAME || (answer != 0u && answer < 12u)) {
            return 4;
        }
        answers += answer != 0u;

        /* the same frame, at times damaged, through the receiver */
        encoded_length = 0;
        fwgen_cobs_encode(frame, length, keep);
        if (next(3) == 0u) {
            encoded[next((uint32_t)encoded_length)] = (uint8_t)next(256);
        }
        (void)fwgen_receiver_take(&link.receiver, 0);
        for (size_t at = 0; at < encoded_length; at++) {
            if (fwgen_receiver_take(&link.receiver, encoded[at]) !=
                FWGEN_RECEIVED_NOTHING) {
                received++;
            }
        }
        for (uint32_t noise = next(4) == 0u ? next(3000) : 0u; noise != 0u;
             noise--) {
            (void)fwgen_receiver_take(&link.receiver, (uint8_t)next(256));
        }
        if (fwgen_receiver_take(&link.receiver, 0) == FWGEN_RECEIVED_FRAME) {
            received++;
        }
    }
    printf("%u answers, %u frames, %u bad\n", (unsigned)answers,
           (unsigned)link.receiver.frames, (unsigned)link.receiver.bad);
    free(inputs[0].address);
    free(inputs[1].address);
    free(outputs[0].address);
    return received != 0u ? 0 : 5;
}
