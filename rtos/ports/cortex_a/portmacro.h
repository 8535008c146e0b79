/*
 * portmacro.h - what the FreeRTOS kernel must know of this port: Cortex-A in
 * 32-bit state, GICv2 or GICv3. For kernels V9 to V11.
 *
 * configMAX_API_CALL_INTERRUPT_PRIORITY has its usual meaning: interrupts of
 * that priority and less urgent ones (larger numbers) may call the kernel, and
 * critical sections mask no others. The mask is the GIC's priority mask, so
 * more urgent interrupts are served inside critical sections too. A priority
 * occupies the upper FWGEN_PRIO_BITS bits of eight. The least urgent of all
 * can never interrupt (the mask must be larger than it), so the least urgent
 * usable one is the one before.
 */
#ifndef PORTMACRO_H
#define PORTMACRO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define portCHAR char
#define portFLOAT float
#define portDOUBLE double
#define portLONG long
#define portSHORT short
#define portSTACK_TYPE uint32_t
#define portBASE_TYPE long

typedef portSTACK_TYPE StackType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t;

#define portMAX_DELAY ((TickType_t)0xffffffffu)
#define portTICK_TYPE_IS_ATOMIC 1

#define portSTACK_GROWTH (-1)
#define portBYTE_ALIGNMENT 8
#define portTICK_PERIOD_MS ((TickType_t)1000 / configTICK_RATE_HZ)

/* Tasks and handlers switch at once, or when the critical section or the last
 * nested interrupt ends. */
void vPortYield(void);
extern volatile uint32_t fwgen_port_yield_required;
#define portYIELD() vPortYield()
#define portEND_SWITCHING_ISR(xSwitchRequired)                                 \
    do {                                                                       \
        if ((xSwitchRequired) != 0) {                                          \
            fwgen_port_yield_required = 1u;                                    \
        }                                                                      \
    } while (0)
#define portYIELD_FROM_ISR(x) portEND_SWITCHING_ISR(x)

/* Critical sections of tasks nest; handlers keep the former mask. */
void vPortEnterCritical(void);
void vPortExitCritical(void);
UBaseType_t uxPortRaisePriorityMask(void);
void vPortRestorePriorityMask(UBaseType_t uxMask);
#define portENTER_CRITICAL() vPortEnterCritical()
#define portEXIT_CRITICAL() vPortExitCritical()
#define portDISABLE_INTERRUPTS() ((void)uxPortRaisePriorityMask())
#define portENABLE_INTERRUPTS() vPortRestorePriorityMask(0xffu)
#define portSET_INTERRUPT_MASK_FROM_ISR() uxPortRaisePriorityMask()
#define portCLEAR_INTERRUPT_MASK_FROM_ISR(x) vPortRestorePriorityMask(x)

/* Asserts that a handler that calls the kernel is not too urgent for it. */
#ifdef configASSERT
void vPortValidateInterruptPriority(void);
#define portASSERT_IF_INTERRUPT_PRIORITY_INVALID()                             \
    vPortValidateInterruptPriority()
#endif
BaseType_t xPortIsInsideInterrupt(void);

/*
 * The first instruction of a task that needs the FPU switches it on for good;
 * from then on the task's switches save its registers. This does it
 * beforehand, so that no trap comes at a bad moment.
 */
#define portTASK_USES_FLOATING_POINT()                                         \
    do {                                                                       \
        uint32_t ulStatus;                                                     \
        __asm volatile("vmrs %0, fpscr" : "=r"(ulStatus) : : "memory");        \
        (void)ulStatus;                                                        \
    } while (0)

#define portTASK_FUNCTION_PROTO(vFunction, pvParameters)                       \
    void vFunction(void *pvParameters)
#define portTASK_FUNCTION(vFunction, pvParameters)                             \
    void vFunction(void *pvParameters)

#define portNOP() __asm volatile("nop")
#define portMEMORY_BARRIER() __asm volatile("" ::: "memory")
#define portINLINE __inline
#define portFORCE_INLINE inline __attribute__((always_inline))
#define portDONT_DISCARD __attribute__((used))

#if configUSE_PORT_OPTIMISED_TASK_SELECTION == 1
#if configMAX_PRIORITIES > 32
#error "the optimised task selection knows 32 priorities"
#endif
#define portRECORD_READY_PRIORITY(uxPriority, uxReady)                         \
    ((uxReady) |= (1UL << (uxPriority)))
#define portRESET_READY_PRIORITY(uxPriority, uxReady)                          \
    ((uxReady) &= ~(1UL << (uxPriority)))
#define portGET_HIGHEST_PRIORITY(uxTop, uxReady)                               \
    ((uxTop) = 31UL - (UBaseType_t)__builtin_clzl(uxReady))
#endif

#ifdef __cplusplus
}
#endif

#endif
