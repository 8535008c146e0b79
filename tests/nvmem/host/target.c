/*
 * target.c - a device with slots, on the host: the runtime's link, requests,
 * updates and settings over a flash in a file.
 *
 *     target FLASH SELF_TEST [KEY]
 *
 * Bytes of the line come from standard input and go to standard output. The
 * flash is a file mapped into memory, so that the process may be killed at any
 * time and started again: that is a cut of power. SELF_TEST is `pass` or
 * `fail`: what the self-test of a model on trial would say; `none`: nobody says
 * anything; `dead`: the flash does not answer. KEY: a public key, for builds
 * with FWGEN_SIGNED_UPDATE.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "board.h"
#include "fwgen_accel.h"
#include "fwgen_link.h"
#include "fwgen_requests.h"
#include "fwgen_uart.h"

#define ERASE 1024u
#define PROGRAM 16u
#define SLOT 16384u
#define BLOCKS 4u

const char fwgen_version[] = "0";
const uint8_t fwgen_build_id[16] = {0};

static struct fwgen_link line;
static const char *self_test;

fwgen_device fwgen_accel_device(uint32_t index)
{
    (void)index;
    return NULL;
}

enum fwgen_device_state fwgen_accel_state(fwgen_device device)
{
    (void)device;
    return FWGEN_STATE_IDLE;
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
    (void)timeout_ms;
    memset(report, 0, sizeof(*report));
    return FWGEN_ERROR_NOT_SUPPORTED;
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
    (void)index;
    (void)info;
    return false;
}

uint32_t fwgen_uart_overruns(void)
{
    return 0;
}

TickType_t xTaskGetTickCount(void)
{
    return 0;
}

uint64_t fwgen_timer_read(void)
{
    return 0;
}

uint32_t fwgen_timer_hz(void)
{
    return 1;
}

void fwgen_nvmem_lock(void)
{
}

void fwgen_nvmem_unlock(void)
{
}

/* From reset to the loop of the link. */
static void boot(void)
{
    const struct fwgen_slots_state *state = fwgen_slots_state();

    memset(&line, 0, sizeof(line));
    fwgen_models[0] = (struct fwgen_model){.name = "image"};
    sim_flash.dead = strcmp(self_test, "dead") == 0;
    if (fwgen_slots_start(&sim_board) !=
        (sim_flash.dead ? FWGEN_ERROR_FLASH : FWGEN_OK)) {
        abort();
    }
    if (state->running != FWGEN_NO_SLOT && state->running == state->trial) {
        if (strcmp(self_test, "pass") == 0) {
            (void)fwgen_slots_confirm();
        } else if (strcmp(self_test, "fail") == 0) {
            (void)fwgen_slots_reject(FWGEN_PACKAGE_SELF_TEST);
            boot();
        }
    }
}

static void put(const uint8_t *bytes, size_t count)
{
    while (count != 0u) {
        const ssize_t done = write(1, bytes, count);

        if (done <= 0) {
            exit(0);
        }
        bytes += done;
        count -= (size_t)done;
    }
}

static void take(uint8_t byte)
{
    static const uint8_t zero = 0;
    struct fwgen_receiver *receiver = &line.receiver;
    uint32_t length;

    if (fwgen_receiver_take(receiver, byte) != FWGEN_RECEIVED_FRAME) {
        return;
    }
    length = fwgen_link_answer(&line, receiver->data, receiver->length);
    if (length != 0u) {
        put(&zero, 1);
        fwgen_cobs_encode(line.response, length, put);
        put(&zero, 1);
        if (receiver->data[1] == FWGEN_LINK_RESET) {
            boot();
        }
    }
}

int main(int count, char **arguments)
{
    static uint8_t key[32];
    uint8_t *mapped;
    int file;

    if (count < 3 || !sim_make(ERASE, PROGRAM, SLOT, BLOCKS)) {
        return 2;
    }
    self_test = arguments[2];
    if (count > 3) {
        for (uint32_t i = 0; i < sizeof(key); i++) {
            const char digits[3] = {arguments[3][2u * i],
                                    arguments[3][2u * i + 1u], '\0'};

            key[i] = (uint8_t)strtoul(digits, NULL, 16);
        }
        sim_board.key = key;
    }
    file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    if (lseek(file, 0, SEEK_END) != (off_t)sim_flash.size &&
        write(file, sim_flash.cells, sim_flash.size) !=
            (ssize_t)sim_flash.size) {
        perror(arguments[1]);
        return 3;
    }
    mapped =
        mmap(NULL, sim_flash.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        perror("mmap");
        return 3;
    }
    free(sim_flash.cells);
    sim_flash.cells = mapped;
    boot();
    for (;;) {
        uint8_t bytes[256];
        const ssize_t got = read(0, bytes, sizeof(bytes));

        if (got <= 0) {
            return 0;
        }
        for (ssize_t i = 0; i < got; i++) {
            take(bytes[i]);
        }
    }
}
