/*
 * main.c - the main() that is used when a project brings none: the console, the
 * accelerator tasks, the serial link, the application's tasks.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_accel.h"
#include "fwgen_app.h"
#include "fwgen_config_defaults.h"
#include "fwgen_console.h"
#include "fwgen_link.h"
#include "fwgen_start.h"
#include "fwgen_watchdog.h"

#if configSUPPORT_STATIC_ALLOCATION != 1 ||                                    \
    (defined(configSUPPORT_DYNAMIC_ALLOCATION) &&                              \
     configSUPPORT_DYNAMIC_ALLOCATION != 0)
#error "the runtime is for static allocation only"
#endif

__attribute__((weak)) void fwgen_app_start(void)
{
}

#if FWGEN_NVMEM
/*
 * A model on trial is tested before anybody else can use it: so the link and
 * the application start behind that, from a task.
 */
static void start_task(void *argument)
{
    (void)argument;
    fwgen_slots_self_test();
#if FWGEN_LINK
    fwgen_link_start();
#endif
    fwgen_app_start();
    for (;;) {
        vTaskSuspend(NULL);
    }
}

static void start_rest(void)
{
    static StaticTask_t task;
    static StackType_t stack[FWGEN_START_STACK_SIZE];

    (void)xTaskCreateStatic(start_task, "start", FWGEN_START_STACK_SIZE, NULL,
                            FWGEN_LINK_TASK_PRIORITY, stack, &task);
}
#endif

__attribute__((weak)) int main(void)
{
    fwgen_console_open();
    fwgen_console_lock();
    fwgen_print("fwgen ");
    fwgen_print(fwgen_version);
    fwgen_print(", FreeRTOS ");
    fwgen_print(tskKERNEL_VERSION_NUMBER);
    fwgen_print(", ");
    fwgen_print(fwgen_board_name);
    fwgen_print("\n");
    fwgen_console_unlock();
#if FWGEN_WATCHDOG
    fwgen_watchdog_start();
#endif
#if FWGEN_NVMEM
    fwgen_nvmem_start();
    (void)fwgen_accel_start();
    start_rest();
#else
    (void)fwgen_accel_start();
#if FWGEN_LINK
    fwgen_link_start();
#endif
    fwgen_app_start();
#endif
    vTaskStartScheduler();
    configASSERT(0); /* the scheduler returns only when it cannot start */
    return 1;
}
