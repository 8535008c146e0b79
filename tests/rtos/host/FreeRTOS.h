/*
 * FreeRTOS.h - the little of the kernel that the executor, the driver and the
 * link use, on the host: time is a variable of the test, and a wait asks the
 * test what happened meanwhile.
 */
#ifndef HOST_FREERTOS_H
#define HOST_FREERTOS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t TickType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t StackType_t;
typedef void *TaskHandle_t;
typedef void *SemaphoreHandle_t;
typedef struct {
    int unused;
} StaticTask_t;
typedef struct {
    int unused;
} StaticSemaphore_t;

#define pdTRUE 1
#define pdFALSE 0
#define portMAX_DELAY 0xffffffffu
#define configTICK_RATE_HZ 1000u
#define configASSERT assert
#define tskKERNEL_VERSION_NUMBER "V9.0.0"
#define configUSE_TRACE_FACILITY 0
#define taskENTER_CRITICAL() ((void)0)
#define taskEXIT_CRITICAL() ((void)0)

TickType_t xTaskGetTickCount(void);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks);
void vTaskDelay(TickType_t ticks);

#endif
