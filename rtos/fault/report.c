/*
 * report.c - the text of fault reports, and the end (fwgen_fault.h).
 *
 * Runs when the system cannot be trusted: no lock, no interrupt, no kernel call
 * that writes; the UART is started anew and polled.
 */
#include "fwgen_fault.h"

#include "FreeRTOS.h"
#include "task.h"

#include "fault.h"
#include "fwgen_config_defaults.h"
#include "fwgen_console.h"
#include "fwgen_uart.h"
#include "fwgen_watchdog.h"

void fwgen_fault_begin(const char *kind)
{
#if FWGEN_WATCHDOG
    fwgen_restart_note(FWGEN_RESTART_FAULT, 0, kind); /* nobody feeds it now */
#endif
    fwgen_console_uart.driver->start(&fwgen_console_uart);
    /* What was being sent may have been a frame: a zero ends it. */
    fwgen_uart_write(&fwgen_console_uart, "", 1);
    fwgen_print("\n*** FAULT kind=");
    fwgen_print(kind);
}

void fwgen_fault_field(const char *name, uint32_t value)
{
    fwgen_print(" ");
    fwgen_print(name);
    fwgen_print("=");
    fwgen_print_hex(value);
}

/* At most as many characters of a name as the kernel keeps: the control block
 * may be what was overwritten. */
static void print_task(void)
{
    const TaskHandle_t task = xTaskGetCurrentTaskHandle();
    char name[configMAX_TASK_NAME_LEN + 1] = "-";

    if (task != NULL) {
        const char *from = pcTaskGetName(task);
        uint32_t length = 0;

        while (length < configMAX_TASK_NAME_LEN && from[length] > ' ' &&
               from[length] < 0x7f) {
            name[length] = from[length];
            length++;
        }
        name[length] = '\0';
    }
    fwgen_print(" task=");
    fwgen_print(name);
}

void fwgen_fault_task(void)
{
    print_task();
    fwgen_print("\n");
}

void fwgen_fault_end(uint32_t code)
{
    fwgen_print("*** END\n");
    fwgen_exit(code);
}

void fwgen_assert_failed(const char *file, unsigned long line)
{
    const uint32_t pc = (uint32_t)(uintptr_t)__builtin_return_address(0);

    fwgen_fault_stop();
    fwgen_fault_begin("assert");
    fwgen_fault_field("pc", pc);
    fwgen_print(" file=");
    fwgen_print(file);
    fwgen_print(" line=");
    fwgen_print_decimal((uint32_t)line);
    fwgen_fault_task();
    fwgen_fault_end(FWGEN_EXIT_ASSERT);
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name);

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    fwgen_fault_stop();
    fwgen_fault_begin("stack");
    fwgen_fault_task();
    fwgen_fault_end(FWGEN_EXIT_STACK);
}

void fwgen_canary_failed(const uint32_t *word, uint32_t operation)
{
    fwgen_console_lock();
    fwgen_print("\n*** FAULT kind=canary");
    fwgen_fault_field("word", (uint32_t)(uintptr_t)word);
    fwgen_fault_field("value", *word);
    fwgen_print(" operation=");
    fwgen_print_signed((int32_t)operation);
    fwgen_fault_task();
    fwgen_print("*** END\n");
#if FWGEN_SEMIHOSTING
    fwgen_exit(FWGEN_EXIT_CANARY);
#else
    fwgen_console_unlock();
#endif
}
