/*
 * fwgen_app.h - where an application joins the default main().
 *
 * The default main() opens the console, creates the tasks of accelerators and
 * link, calls fwgen_app_start() and starts the scheduler. An application
 * either defines this function, or brings a main() of its own that does the
 * same in its own way.
 */
#ifndef FWGEN_APP_H
#define FWGEN_APP_H

#include <stdint.h>

#include "FreeRTOS.h"

/*
 * Creates the application's tasks. Called once, before the scheduler runs; must
 * not block. The default does nothing.
 *
 * Example:
 *     static StaticTask_t task;
 *     static StackType_t stack[256];
 *
 *     void fwgen_app_start(void)
 *     {
 *         (void)xTaskCreateStatic(camera_task, "camera", 256, NULL, 2, stack,
 *                                 &task);
 *     }
 */
void fwgen_app_start(void);

/*
 * Interrupts of the application: a line that the board and the runtime leave
 * free is handled by void fwgen_irq<N>_IRQHandler(void), if the application
 * defines it; N is the number at the interrupt controller. Without it the
 * interrupt ends in a fault report. The line is enabled with fwgen_irq_enable()
 * (fwgen_cpu.h); only handlers of configMAX_SYSCALL_INTERRUPT_PRIORITY or a
 * less urgent priority may call the kernel or signal a fence.
 *
 * Example:
 *     void fwgen_irq30_IRQHandler(void);
 *     void fwgen_irq30_IRQHandler(void)
 *     {
 *         BaseType_t woken = pdFALSE;
 *
 *         (void)fwgen_fence_signal_from_isr(&picture, &woken);
 *         portYIELD_FROM_ISR(woken);
 *     }
 *
 *     fwgen_irq_enable(30, FWGEN_APP_IRQ_PRIORITY);
 */

/* The most urgent priority, in the steps of fwgen_irq_enable(), whose handlers
 * may call the kernel. */
#define FWGEN_APP_IRQ_PRIORITY                                                 \
    ((uint32_t)configMAX_SYSCALL_INTERRUPT_PRIORITY >> (8 - FWGEN_PRIO_BITS))

#endif
