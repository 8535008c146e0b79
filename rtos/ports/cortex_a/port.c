/*
 * port.c - the kernel's part of the port: stacks of tasks, critical sections,
 * yields, interrupts (portmacro.h).
 */
#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_cpu.h"
#include "port.h"

#if configMAX_SYSCALL_INTERRUPT_PRIORITY == 0
#error "priority 0 masks nothing: configMAX_SYSCALL_INTERRUPT_PRIORITY"
#endif

/* Critical sections before the scheduler runs leave interrupts masked. */
#define NESTING_BEFORE_START 0x10000u

static volatile uint32_t critical_nesting = NESTING_BEFORE_START;
static volatile uint32_t yield_after_critical;

volatile uint32_t fwgen_port_yield_required;
volatile uint32_t fwgen_port_intid = GIC_SPECIAL;

/* Whose registers the FPU holds while it is off; NULL: nobody's. Interrupts
 * and the trap of the FPU use it (context.S). */
struct fwgen_fpu_record *volatile fwgen_fpu_holder;

StackType_t *pxPortInitialiseStack(StackType_t *stack, TaskFunction_t code,
                                   void *parameters);

static void task_returned(void)
{
    configASSERT(0); /* a task must not return */
    for (;;) {
        /* in case it does */
    }
}

/* As fwgen_port_save would have left it: FPU off, r4-r11, r0-r3, r12, lr, pc,
 * cpsr. */
StackType_t *pxPortInitialiseStack(StackType_t *stack, TaskFunction_t code,
                                   void *parameters)
{
    const uint32_t pc = (uint32_t)(uintptr_t)code;

    *--stack = MODE_SYS | PSR_F | ((pc & 1u) != 0u ? PSR_T : 0u);
    *--stack = pc & ~1u;
    *--stack = (uint32_t)(uintptr_t)task_returned;
    for (uint32_t i = 0; i < 13u; i++) {
        *--stack = 0; /* r12, r3-r0, r11-r4 */
    }
    stack[8] = (uint32_t)(uintptr_t)parameters; /* r0 */
    *--stack = 0;                               /* FPEXC */
    return stack;
}

BaseType_t xPortStartScheduler(void)
{
    __asm volatile("cpsid i" ::: "memory");
    fwgen_timer_start();
    critical_nesting = 0;
    yield_after_critical = 0;
    fwgen_port_yield_required = 0;
    gic_mask_write(GIC_MASK_NONE);
    fwgen_port_start_first();
}

void vPortEndScheduler(void)
{
    configASSERT(0); /* there is nothing to return to */
}

static void yield_now(void)
{
    __asm volatile("svc #0" ::: "memory");
}

/* The kernel yields inside critical sections, to switch at their end. */
void vPortYield(void)
{
    if (critical_nesting != 0u) {
        yield_after_critical = 1;
    } else {
        yield_now();
    }
}

void vPortEnterCritical(void)
{
    gic_mask_write(GIC_MASK_CRITICAL);
    critical_nesting = critical_nesting + 1u;
    /* Handlers mask with portSET_INTERRUPT_MASK_FROM_ISR. */
    configASSERT(fwgen_port_intid == GIC_SPECIAL);
}

void vPortExitCritical(void)
{
    configASSERT(critical_nesting != 0u);
    critical_nesting = critical_nesting - 1u;
    if (critical_nesting == 0u) {
        gic_mask_write(GIC_MASK_NONE);
        if (yield_after_critical != 0u) {
            yield_after_critical = 0;
            yield_now();
        }
    }
}

UBaseType_t uxPortRaisePriorityMask(void)
{
    const uint32_t before = gic_mask_read();

    if (before > GIC_MASK_CRITICAL) {
        gic_mask_write(GIC_MASK_CRITICAL);
    }
    return before;
}

void vPortRestorePriorityMask(UBaseType_t mask)
{
    gic_mask_write((uint32_t)mask);
}

BaseType_t xPortIsInsideInterrupt(void)
{
    return fwgen_port_intid != GIC_SPECIAL ? pdTRUE : pdFALSE;
}

#ifdef configASSERT
void vPortValidateInterruptPriority(void)
{
    configASSERT(gic_running_priority() >= GIC_MASK_CRITICAL);
}
#endif

/* Called by context.S between two tasks. Interrupts that must not call the
 * kernel need not wait for its choice. */
void fwgen_port_switch(void)
{
    gic_mask_write(GIC_MASK_CRITICAL);
    __asm volatile("cpsie i" ::: "memory");
    vTaskSwitchContext();
    __asm volatile("cpsid i" ::: "memory");
    gic_mask_write(GIC_MASK_NONE);
}

static void dispatch(uint32_t intid)
{
    if (intid == fwgen_timer_intid()) {
        fwgen_timer_interrupt();
    } else if (intid >= GIC_FIRST_SPI &&
               intid - GIC_FIRST_SPI < FWGEN_IRQ_COUNT) {
        fwgen_irq_handlers[intid - GIC_FIRST_SPI]();
    } else {
        fwgen_default_IRQHandler();
    }
}

/* Called by context.S with IRQ masked; more urgent interrupts may nest while
 * the handler runs. */
void fwgen_port_interrupt(void)
{
    const uint32_t acknowledged = gic_acknowledge();
    const uint32_t intid = gic_intid(acknowledged);
    const uint32_t before = fwgen_port_intid;

    if (intid >= GIC_SPECIAL) {
        return; /* withdrawn, or masked at the last moment */
    }
    fwgen_port_intid = intid;
    gic_synchronise();
    __asm volatile("cpsie i" ::: "memory");
    dispatch(intid);
    /* The device's line has fallen before its interrupt ends. */
    fwgen_cpu_barrier();
    __asm volatile("cpsid i" ::: "memory");
    fwgen_port_intid = before;
    gic_end(acknowledged);
}
