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

#if configSUPPORT_STATIC_ALLOCATION != 1 ||                                    \
    (defined(configSUPPORT_DYNAMIC_ALLOCATION) &&                              \
     configSUPPORT_DYNAMIC_ALLOCATION != 0)
#error "the runtime is for static allocation only"
#endif

__attribute__((weak)) void fwgen_app_start(void)
{
}

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
    (void)fwgen_accel_start();
#if FWGEN_LINK
    fwgen_link_start();
#endif
    fwgen_app_start();
    vTaskStartScheduler();
    configASSERT(0); /* the scheduler returns only when it cannot start */
    return 1;
}
