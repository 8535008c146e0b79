/*
 * app.h - what the test applications share: their report, and their test data,
 * which the test writes into cases.h.
 */
#ifndef APP_H
#define APP_H

#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "cases.h"
#include "fwgen_accel.h"
#include "fwgen_app.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_task.h"
#include "nvdla.h"

/* One application task with its memory. */
#define APP_TASK(function, priority, argument)                                 \
    do {                                                                       \
        static StaticTask_t storage;                                           \
        static StackType_t stack[512];                                         \
                                                                               \
        (void)xTaskCreateStatic(function, #function, 512, argument, priority,  \
                                stack, &storage);                              \
    } while (0)

/* The first expectation that does not hold ends a check. */
#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fwgen_log_value(#condition " fails, line", __LINE__);              \
            return false;                                                      \
        }                                                                      \
    } while (0)

/* Runs a check and says how it went. */
#define CHECK(name)                                                            \
    fwgen_log(name() ? "app: " #name " good" : "app: " #name " BAD")

#endif
