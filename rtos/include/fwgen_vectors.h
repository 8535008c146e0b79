/*
 * fwgen_vectors.h - for the generated vector table of Cortex-M boards, and the
 * table of interrupt handlers of Cortex-A boards.
 *
 * src/vectors.c is to look like this; entry n of the second part is external
 * interrupt n, every free line is fwgen_default_IRQHandler or a weak alias of
 * it:
 *
 *     #include "fwgen_vectors.h"
 *
 *     FWGEN_VECTOR_TABLE fwgen_vectors[16 + 32] = {
 *         FWGEN_SYSTEM_VECTORS,
 *         [16 + 0] = {fwgen_uart_rx_IRQHandler},
 *         [16 + 1] = {fwgen_default_IRQHandler},
 *         ...
 *         [16 + 26] = {fwgen_accel0_IRQHandler},
 *     };
 *
 * The section is .vectors; the linker script places it first, KEEPs it and
 * aligns it to the next power of two of its size, at least 128 bytes. Start-up
 * code writes its address to VTOR.
 *
 * Symbols that the linker script defines: __stack_limit and __stack_top (the
 * main stack, used by start-up and interrupts; 8-byte aligned), __data_start,
 * __data_end, __data_load, __bss_start, __bss_end (4-byte aligned). On CPUs of
 * Armv8-M __stack_limit goes into MSPLIM.
 */
#ifndef FWGEN_VECTORS_H
#define FWGEN_VECTORS_H

#include <stdint.h>

#ifdef __ARM_ARCH_PROFILE
#if __ARM_ARCH_PROFILE == 'A'
#define FWGEN_CORTEX_A 1
#endif
#endif

#ifdef FWGEN_CORTEX_A

/*
 * Handlers of SPIs, by their number; src/vectors.c defines the table, the
 * port's dispatcher calls through it. The exception vectors themselves are
 * part of the port (rtos/ports/cortex_a/start.S).
 */
typedef void (*fwgen_irq_handler)(void);
extern const fwgen_irq_handler fwgen_irq_handlers[];

#else

union fwgen_vector {
    void (*handler)(void);
    const void *stack;
};

#define FWGEN_VECTOR_TABLE                                                     \
    extern const union fwgen_vector fwgen_vectors[];                           \
    const union fwgen_vector __attribute__((section(".vectors"), used))

extern uint32_t __stack_top[];
extern uint32_t __stack_limit[];

void Reset_Handler(void);
void NMI_Handler(void);
void HardFault_Handler(void);
void MemManage_Handler(void);
void BusFault_Handler(void);
void UsageFault_Handler(void);
/* These three are the kernel port's, by the aliases in FreeRTOSConfig.h. */
void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);

#endif

/* Reports kind=interrupt with the number of the exception. */
void fwgen_default_IRQHandler(void);

/* One per accelerator, as far as FWGEN_ACCEL_COUNT goes. */
void fwgen_accel0_IRQHandler(void);
void fwgen_accel1_IRQHandler(void);
void fwgen_accel2_IRQHandler(void);
void fwgen_accel3_IRQHandler(void);

/* See fwgen_uart.h. */
void fwgen_uart_rx_IRQHandler(void);
void fwgen_console_rx_IRQHandler(void);

#ifndef FWGEN_CORTEX_A
/* The first 16 entries. */
#define FWGEN_SYSTEM_VECTORS                                                   \
    [0] = {.stack = __stack_top}, [1] = {Reset_Handler}, [2] = {NMI_Handler},  \
    [3] = {HardFault_Handler}, [4] = {MemManage_Handler},                      \
    [5] = {BusFault_Handler}, [6] = {UsageFault_Handler},                      \
    [7] = {fwgen_default_IRQHandler}, [8] = {fwgen_default_IRQHandler},        \
    [9] = {fwgen_default_IRQHandler}, [10] = {fwgen_default_IRQHandler},       \
    [11] = {SVC_Handler}, [12] = {fwgen_default_IRQHandler},                   \
    [13] = {fwgen_default_IRQHandler}, [14] = {PendSV_Handler},                \
    [15] = {SysTick_Handler}
#endif

#endif
