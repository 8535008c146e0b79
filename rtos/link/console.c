/*
 * console.c - lines of text under the lock they share with the link's frames.
 */
#include "fwgen_console.h"

#include <stdbool.h>

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "fwgen_uart.h"

static StaticSemaphore_t lock_storage;
static SemaphoreHandle_t lock;

static void send(const char *data, size_t length)
{
    fwgen_uart_write(&fwgen_console_uart, data, length);
}

void fwgen_console_open(void)
{
    lock = xSemaphoreCreateMutexStatic(&lock_storage);
    fwgen_console_uart.driver->start(&fwgen_console_uart);
#if FWGEN_LINK_UART
    fwgen_link_uart.driver->start(&fwgen_link_uart);
#endif
}

/* Before the scheduler runs there is nobody to share with. A handle of a
 * current task exists earlier, so the scheduler's state is asked. */
static bool is_shared(void)
{
    return lock != NULL && xTaskGetSchedulerState() == taskSCHEDULER_RUNNING;
}

void fwgen_console_lock(void)
{
    if (is_shared()) {
        (void)xSemaphoreTake(lock, portMAX_DELAY);
    }
}

void fwgen_console_unlock(void)
{
    if (is_shared()) {
        (void)xSemaphoreGive(lock);
    }
}

void fwgen_print(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            send("\r", 1);
        }
        send(text, 1);
    }
}

void fwgen_print_decimal(uint32_t value)
{
    char digits[10];
    uint32_t first = sizeof(digits);

    do {
        digits[--first] = (char)('0' + value % 10u);
        value /= 10u;
    } while (value != 0u);
    send(&digits[first], sizeof(digits) - first);
}

void fwgen_print_signed(int32_t value)
{
    if (value < 0) {
        fwgen_print("-");
        fwgen_print_decimal(0u - (uint32_t)value);
    } else {
        fwgen_print_decimal((uint32_t)value);
    }
}

void fwgen_print_hex(uint32_t value)
{
    fwgen_print("0x");
    for (uint32_t shift = 32u; shift != 0u; shift -= 4u) {
        send(&"0123456789abcdef"[(value >> (shift - 4u)) & 0xfu], 1);
    }
}

void fwgen_log(const char *text)
{
    if (lock == NULL) {
        return; /* a firmware that does not use the console */
    }
    fwgen_console_lock();
    fwgen_print(text);
    fwgen_print("\n");
    fwgen_console_unlock();
}

void fwgen_log_value(const char *text, uint32_t value)
{
    if (lock == NULL) {
        return;
    }
    fwgen_console_lock();
    fwgen_print(text);
    fwgen_print(" ");
    fwgen_print_decimal(value);
    fwgen_print("\n");
    fwgen_console_unlock();
}
