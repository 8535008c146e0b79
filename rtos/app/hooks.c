/*
 * hooks.c - what the kernel asks of every application: memory of the idle task
 * and what it does.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_config_defaults.h"

/* V11 changed the type of the size. */
#if tskKERNEL_VERSION_MAJOR >= 11
typedef configSTACK_DEPTH_TYPE idle_stack_size;
#else
typedef uint32_t idle_stack_size;
#endif

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack,
                                   idle_stack_size *size);
void vApplicationIdleHook(void);

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack,
                                   idle_stack_size *size)
{
    static StaticTask_t idle_task;
    static StackType_t idle_stack[configMINIMAL_STACK_SIZE];

    *task = &idle_task;
    *stack = idle_stack;
    *size = configMINIMAL_STACK_SIZE;
}

void vApplicationIdleHook(void)
{
#if FWGEN_IDLE == FWGEN_IDLE_WFE
    __asm volatile("wfe");
#elif FWGEN_IDLE == FWGEN_IDLE_WFI
    __asm volatile("dsb\n wfi\n isb" ::: "memory");
#else
    __asm volatile("nop");
#endif
}
