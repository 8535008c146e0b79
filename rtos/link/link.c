/*
 * link.c - the task of the serial link: UART to requests to UART.
 */
#include "fwgen_link.h"

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_config_defaults.h"
#include "fwgen_console.h"
#include "fwgen_fault.h"
#include "fwgen_uart.h"

#if FWGEN_LINK

/* Bytes taken from the ring at a time. */
#define CHUNK 64u

static struct fwgen_link link_state;
static StaticTask_t task;
static StackType_t stack[FWGEN_LINK_STACK_SIZE];

static void send_bytes(const uint8_t *data, size_t count)
{
    fwgen_uart_write(data, count);
}

static void send_frame(uint32_t length)
{
    static const uint8_t zero = 0;

    fwgen_console_lock();
    fwgen_uart_write(&zero, 1);
    fwgen_cobs_encode(link_state.response, length, send_bytes);
    fwgen_uart_write(&zero, 1);
    fwgen_console_unlock();
}

static void take(uint8_t byte)
{
    struct fwgen_receiver *receiver = &link_state.receiver;
    uint32_t length;

    switch (fwgen_receiver_take(receiver, byte)) {
    case FWGEN_RECEIVED_FRAME:
        length = fwgen_link_answer(&link_state, receiver->data,
                                   receiver->length);
        if (length != 0u) {
            send_frame(length);
        }
        if (link_state.exit) {
            fwgen_exit(link_state.exit_code);
        }
        break;
    case FWGEN_RECEIVED_LINE:
#if FWGEN_SHELL
        fwgen_shell_line(receiver->data, receiver->length);
#endif
        break;
    case FWGEN_RECEIVED_NOTHING:
    default:
        break;
    }
}

static void link_task(void *argument)
{
    uint8_t chunk[CHUNK];

    (void)argument;
    fwgen_uart_open();
    for (;;) {
        const size_t count =
            fwgen_uart_read(chunk, sizeof(chunk), portMAX_DELAY);

        for (size_t i = 0; i < count; i++) {
            take(chunk[i]);
        }
    }
}

void fwgen_link_start(void)
{
    (void)xTaskCreateStatic(link_task, "link", FWGEN_LINK_STACK_SIZE, NULL,
                            FWGEN_LINK_TASK_PRIORITY, stack, &task);
}

#endif
