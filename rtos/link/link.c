/*
 * link.c - the task of the serial link: UART to requests to UART.
 */
#include "fwgen_link.h"

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_config_defaults.h"
#include "fwgen_console.h"
#include "fwgen_fault.h"
#include "fwgen_requests.h"
#include "fwgen_start.h"
#include "fwgen_uart.h"

#if FWGEN_LINK

/* Bytes taken from the ring at a time. */
#define CHUNK 64u

/* Until the answer to RESET has left the UART. */
#define RESET_TICKS (configTICK_RATE_HZ / 10u + 1u)

/* More than the longest command. */
#define SHELL_LINE 80u

static struct fwgen_link link_state;
static StaticTask_t task;
static StackType_t stack[FWGEN_LINK_STACK_SIZE];

static void send_bytes(const uint8_t *data, size_t count)
{
    fwgen_uart_write(&fwgen_link_uart, data, count);
}

static void send_frame(uint32_t length)
{
    static const uint8_t zero = 0;

    fwgen_console_lock();
    fwgen_uart_write(&fwgen_link_uart, &zero, 1);
    fwgen_cobs_encode(link_state.response, length, send_bytes);
    fwgen_uart_write(&fwgen_link_uart, &zero, 1);
    fwgen_console_unlock();
}

static void take(uint8_t byte)
{
    struct fwgen_receiver *receiver = &link_state.receiver;
    uint32_t length;

    switch (fwgen_receiver_take(receiver, byte)) {
    case FWGEN_RECEIVED_FRAME:
        length =
            fwgen_link_answer(&link_state, receiver->data, receiver->length);
        if (length != 0u) {
            send_frame(length);
        }
        if (link_state.exit) {
            fwgen_exit(link_state.exit_code);
        }
#if FWGEN_NVMEM
        if (length != 0u && receiver->data[1] == FWGEN_LINK_RESET) {
            vTaskDelay(RESET_TICKS);
            fwgen_reset();
        }
#endif
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

#if FWGEN_LINK_UART && FWGEN_SHELL
/* Lines of a console of its own. */
static void take_console(void)
{
    static uint8_t line[SHELL_LINE];
    static uint32_t length;
    uint8_t byte;

    while (fwgen_uart_read(FWGEN_LINE_CONSOLE, &byte, 1) == 1u) {
        if (byte == '\r' || byte == '\n') {
            fwgen_shell_line(line, length);
            length = 0;
        } else if (length < sizeof(line)) {
            line[length++] = byte;
        } else {
            /* too long for a command; its end starts the next one */
        }
    }
}
#endif

static void link_task(void *argument)
{
    uint8_t chunk[CHUNK];
    size_t count;

    (void)argument;
    fwgen_uart_open();
    for (;;) {
        fwgen_uart_wait(portMAX_DELAY);
        do {
            count = fwgen_uart_read(FWGEN_LINE_LINK, chunk, sizeof(chunk));
            for (size_t i = 0; i < count; i++) {
                take(chunk[i]);
            }
        } while (count != 0u);
#if FWGEN_LINK_UART && FWGEN_SHELL
        take_console();
#endif
    }
}

void fwgen_link_start(void)
{
    (void)xTaskCreateStatic(link_task, "link", FWGEN_LINK_STACK_SIZE, NULL,
                            FWGEN_LINK_TASK_PRIORITY, stack, &task);
}

#endif
