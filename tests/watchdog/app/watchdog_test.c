/*
 * watchdog_test.c - what makes the supervisor give up, one way a start.
 *
 * `choice` lies where start-up code clears nothing; the emulator's loader
 * writes it before each start. After a reset by the watchdog the application
 * says so and does nothing wrong.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_accel.h"
#include "fwgen_app.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_driver.h"
#include "fwgen_tensor.h"
#include "fwgen_watchdog.h"

#define STACK_WORDS 512u
#define NORMAL_MS 9000u

enum choice {
    NORMAL = 0,     /* nothing but work, for several periods */
    INFERENCE = 1,  /* one inference; the emulator may break the engine */
    STARVE = 2,     /* a task keeps the CPU from one that is watched */
    STARVE_ENGINE = 3,
    MASKED = 4, /* interrupts off for ever */
    FAULT = 5,
};

__attribute__((section(".noinit"), used)) volatile uint32_t choice;

static struct fwgen_watch watch;

/* An engine that nothing but the board's reset brings back. */
bool fwgen_board_accel_reset(uint32_t index)
{
    (void)index;
    return false;
}

static void infer(void)
{
    const enum fwgen_result result = fwgen_accel_submit(
        fwgen_accel_device(0), &fwgen_models[0], 0, NULL);

    if (result != FWGEN_OK) {
        fwgen_log(fwgen_result_name(result));
    }
}

static void watched(void *argument)
{
    const TickType_t begin = xTaskGetTickCount();
    uint32_t runs = 0;
    bool told = false;

    (void)argument;
    fwgen_watchdog_watch(&watch, "watched", 400);
    for (;;) {
        fwgen_watchdog_check_in(&watch);
        vTaskDelay(100);
        if (choice == NORMAL && !told) {
            infer();
            runs++;
            told = xTaskGetTickCount() - begin > NORMAL_MS;
            if (told) {
                fwgen_log_value("test: runs", runs);
            }
        }
    }
}

static void villain(void *argument)
{
    (void)argument;
    vTaskDelay(300);
    if (fwgen_restart_reason()->kind != FWGEN_RESTART_OTHER) {
        infer();
        fwgen_log("test: after the reset");
        vTaskSuspend(NULL);
    }
    switch (choice) {
    case INFERENCE:
        infer(); /* so that the engine has worked */
        infer();
        break;
    case FAULT:
        __asm volatile("udf #0");
        break;
    case MASKED:
        __asm volatile("cpsid i");
        for (;;) {
        }
    case STARVE:
    case STARVE_ENGINE:
        for (;;) {
            fwgen_cpu_spin(1000);
        }
    default:
        break;
    }
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    static StaticTask_t tasks[2];
    static StackType_t stacks[2][STACK_WORDS];

    if (choice != STARVE_ENGINE) {
        (void)xTaskCreateStatic(watched, "watched", STACK_WORDS, NULL, 2,
                                stacks[0], &tasks[0]);
    }
    (void)xTaskCreateStatic(villain, "villain", STACK_WORDS, NULL,
                            NVDLA_TASK_PRIORITY + 1, stacks[1], &tasks[1]);
}
