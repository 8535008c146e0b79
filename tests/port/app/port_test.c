/*
 * port_test.c - what the Cortex-A port promises, checked from inside.
 *
 * `choice` lies where start-up code clears nothing; the emulator's loader
 * writes it before the start. 0 runs all checks that end well; other values end
 * in one kind of fault. Lines that the test reads start with "port:".
 */
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_app.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_fault.h"

#define SPI_API 100      /* may call the kernel */
#define SPI_API_HIGH 101 /* so may this one, and it is more urgent */
#define SPI_ABOVE 102    /* more urgent than critical sections */
#define SPI_NOBODY 103   /* has no handler */
#define SPI_FPU 104      /* handlers that use the FPU */
#define SPI_FPU_HIGH 105

#define PRIORITY_API 10u
#define PRIORITY_API_HIGH 7u
#define PRIORITY_ABOVE 2u

#define STACK_WORDS 512u
#define HOLDERS 4u
#define HOLD_ROUNDS 120u
#define HOLD_SPINS 20000u
#define LATENCY_SAMPLES 200u
#define SWITCHES 1000u
#define DRIFT_TICKS 10000u

struct registers {
    uint64_t d[32];
    uint32_t fpscr;
    uint32_t r[8];
};

void hold(const struct registers *in, struct registers *out, uint32_t spins);
void spoil(uint32_t value);
uint32_t fwgen_timer_intid(void); /* of the port */
void fwgen_irq100_IRQHandler(void);
void fwgen_irq101_IRQHandler(void);
void fwgen_irq102_IRQHandler(void);
void fwgen_irq104_IRQHandler(void);
void fwgen_irq105_IRQHandler(void);

__attribute__((section(".noinit"), used)) volatile uint32_t choice;

static TaskHandle_t conductor;
static volatile uint32_t order[16];
static volatile uint32_t order_count;

static void say(const char *what, uint32_t value)
{
    fwgen_console_lock();
    fwgen_print("port: ");
    fwgen_print(what);
    fwgen_print(" ");
    fwgen_print_decimal(value);
    fwgen_print("\n");
    fwgen_console_unlock();
}

static void note(uint32_t what)
{
    if (order_count < 16u) {
        order[order_count] = what;
    }
    order_count = order_count + 1u;
}

static uint32_t fpexc(void)
{
    uint32_t value;

    __asm volatile(".fpu neon\n vmrs %0, fpexc" : "=r"(value));
    return value;
}

/* Busy, so that what is pending comes. */
static void settle(void)
{
    fwgen_cpu_spin(200);
}

/*
 * Tasks that hold values in all registers, under preemption and interrupts that
 * use the FPU themselves.
 */
static volatile uint32_t held[HOLDERS];
static volatile uint32_t wrong[HOLDERS];
static volatile uint32_t preempted[HOLDERS];
static volatile uint32_t fpu_interrupts;
static volatile uint32_t fpu_nested;
static volatile uint32_t holding;

void fwgen_irq104_IRQHandler(void)
{
    fpu_interrupts = fpu_interrupts + 1u;
    spoil(0xdeadbeefu);
    fwgen_irq_pend(SPI_FPU_HIGH); /* nests: this one uses the FPU too */
    settle();
    if (fpexc() == 0u) {
        fpu_nested = 0x80000000u; /* the FPU is this handler's again */
    }
}

void fwgen_irq105_IRQHandler(void)
{
    fpu_nested = fpu_nested + 1u;
    spoil(0x12345678u);
}

static void holder(void *argument)
{
    const uint32_t me = (uint32_t)(uintptr_t)argument;
    static struct registers in[HOLDERS];
    static struct registers out[HOLDERS];

    for (uint32_t round = 0; round < HOLD_ROUNDS; round++) {
        uint32_t before;
        uint32_t after;

        for (uint32_t i = 0; i < 32u; i++) {
            in[me].d[i] = 0x0101010101010101u * (me * 32u + i) + round;
        }
        /* Rounding mode, default NaN and cumulative flags. */
        in[me].fpscr =
            ((me & 3u) << 22) | ((round & 1u) << 25) | (round & 0x1fu);
        for (uint32_t i = 0; i < 8u; i++) {
            in[me].r[i] = (me << 24) | (round << 8) | i;
        }
        memset(&out[me], 0, sizeof(out[me]));
        before = held[0] + held[1] + held[2] + held[3];
        hold(&in[me], &out[me], HOLD_SPINS);
        after = held[0] + held[1] + held[2] + held[3];
        if (memcmp(&in[me], &out[me], sizeof(in[me])) != 0) {
            wrong[me] = wrong[me] + 1u;
        }
        if (after != before) {
            preempted[me] = preempted[me] + 1u;
        }
        held[me] = held[me] + 1u;
    }
    xTaskNotifyGive(conductor);
    vTaskSuspend(NULL);
}

/* Preempts the holders at odd moments, and uses the FPU itself. */
static void disturber(void *argument)
{
    (void)argument;
    for (;;) {
        vTaskDelay(1);
        if (holding != 0u) {
            spoil(0xa5a5a5a5u);
            fwgen_irq_pend(SPI_FPU);
        }
    }
}

static void check_registers(void)
{
    static StaticTask_t tasks[HOLDERS + 1u];
    static StackType_t stacks[HOLDERS + 1u][STACK_WORDS];
    uint32_t errors = 0;
    uint32_t switches = HOLD_ROUNDS;

    fwgen_irq_enable(SPI_FPU, PRIORITY_API);
    fwgen_irq_enable(SPI_FPU_HIGH, PRIORITY_ABOVE);
    holding = 1;
    (void)xTaskCreateStatic(disturber, "disturb", STACK_WORDS, NULL, 5,
                            stacks[HOLDERS], &tasks[HOLDERS]);
    for (uint32_t i = 0; i < HOLDERS; i++) {
        (void)xTaskCreateStatic(holder, "hold", STACK_WORDS,
                                (void *)(uintptr_t)i, 2, stacks[i], &tasks[i]);
    }
    for (uint32_t i = 0; i < HOLDERS; i++) {
        (void)ulTaskNotifyTake(pdFALSE, portMAX_DELAY);
    }
    holding = 0;
    vTaskDelay(2);
    for (uint32_t i = 0; i < HOLDERS; i++) {
        errors += wrong[i];
        switches = preempted[i] < switches ? preempted[i] : switches;
    }
    say("register errors", errors);
    say("least preempted rounds", switches);
    say("interrupts with FPU", fpu_interrupts);
    say("nested interrupts with FPU", fpu_nested);
}

/*
 * Priorities: nesting, and critical sections.
 */
static volatile uint64_t raised;
static volatile uint32_t use_latency;
static void wake_from_isr(void);

void fwgen_irq100_IRQHandler(void)
{
    if (use_latency != 0u) {
        wake_from_isr();
        return;
    }
    note(1);
    if (choice % 16u == 0u && order_count == 1u) {
        fwgen_irq_pend(SPI_API_HIGH);
        settle();
    }
    note(2);
}

void fwgen_irq101_IRQHandler(void)
{
    note(3);
    fwgen_irq_pend(SPI_API); /* less urgent: waits */
    fwgen_irq_pend(SPI_ABOVE);
    settle();
    note(4);
}

void fwgen_irq102_IRQHandler(void)
{
    note(5);
    if (choice == 7u) {
        vTaskNotifyGiveFromISR(conductor, NULL); /* too urgent for that */
    } else if (choice == 8u) {
        *(volatile uint32_t *)(uintptr_t)0x24u = 1;
    }
}

static void print_order(const char *what)
{
    uint32_t digits = 0;

    for (uint32_t i = 0; i < order_count && i < 9u; i++) {
        digits = digits * 10u + order[i];
    }
    say(what, digits);
    order_count = 0;
}

static void check_nesting(void)
{
    fwgen_irq_enable(SPI_API, PRIORITY_API);
    fwgen_irq_enable(SPI_API_HIGH, PRIORITY_API_HIGH);
    fwgen_irq_enable(SPI_ABOVE, PRIORITY_ABOVE);
    order_count = 0;
    fwgen_irq_pend(SPI_API);
    settle();
    print_order("nesting");

    order_count = 1; /* no nesting now */
    order[0] = 9;
    taskENTER_CRITICAL();
    taskENTER_CRITICAL();
    fwgen_irq_pend(SPI_API);
    fwgen_irq_pend(SPI_ABOVE);
    settle();
    note(7);
    taskEXIT_CRITICAL();
    settle();
    note(8);
    taskEXIT_CRITICAL();
    settle();
    print_order("critical");
    fwgen_irq_disable(SPI_API);
    fwgen_irq_disable(SPI_API_HIGH);
    fwgen_irq_disable(SPI_ABOVE);
}

/*
 * From an interrupt to the task that it wakes, in counts of the timer; ticks
 * come in between.
 */
static void wake_from_isr(void)
{
    BaseType_t woken = pdFALSE;

    raised = fwgen_timer_read();
    vTaskNotifyGiveFromISR(conductor, &woken);
    portYIELD_FROM_ISR(woken);
}

static void pender(void *argument)
{
    (void)argument;
    for (;;) {
        fwgen_irq_pend(SPI_API);
        fwgen_cpu_spin(997);
    }
}

static void check_latency(void)
{
    static StaticTask_t task;
    static StackType_t stack[STACK_WORDS];
    TaskHandle_t handle;
    uint32_t histogram[6] = {0};
    uint32_t worst = 0;

    use_latency = 1;
    handle =
        xTaskCreateStatic(pender, "pend", STACK_WORDS, NULL, 1, stack, &task);
    for (uint32_t i = 0; i < LATENCY_SAMPLES; i++) {
        uint32_t delay;
        uint32_t bucket = 0;

        fwgen_irq_enable(SPI_API, PRIORITY_API);
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        delay = (uint32_t)(fwgen_timer_read() - raised);
        worst = delay > worst ? delay : worst;
        while (bucket < 5u && delay >= (16u << bucket)) {
            bucket++;
        }
        histogram[bucket]++;
    }
    fwgen_irq_disable(SPI_API);
    use_latency = 0;
    vTaskSuspend(handle);
    for (uint32_t i = 0; i < 6u; i++) {
        say("latency bucket", histogram[i]);
    }
    say("latency worst", worst);
}

/*
 * What the FPU costs: pairs of tasks that yield to each other.
 */
static volatile uint32_t use_fpu;

static void yielder(void *argument)
{
    (void)argument;
    if (use_fpu != 0u) {
        portTASK_USES_FLOATING_POINT();
    }
    for (uint32_t i = 0; i < SWITCHES; i++) {
        taskYIELD();
    }
    if ((fpexc() != 0u) != (use_fpu != 0u)) {
        say("the FPU is not as it should be", fpexc());
    }
    xTaskNotifyGive(conductor);
    vTaskSuspend(NULL);
}

static uint32_t measure_switches(uint32_t with_fpu, StaticTask_t *tasks,
                                 StackType_t (*stacks)[STACK_WORDS],
                                 uint32_t *used)
{
    TaskHandle_t pair[2];
    uint64_t start;

    use_fpu = with_fpu;
    for (uint32_t i = 0; i < 2u; i++) {
        pair[i] = xTaskCreateStatic(yielder, "yield", STACK_WORDS, NULL, 2,
                                    stacks[i], &tasks[i]);
    }
    start = fwgen_timer_read();
    (void)ulTaskNotifyTake(pdFALSE, portMAX_DELAY);
    (void)ulTaskNotifyTake(pdFALSE, portMAX_DELAY);
    start = fwgen_timer_read() - start;
    *used = STACK_WORDS - (uint32_t)uxTaskGetStackHighWaterMark(pair[0]);
    return (uint32_t)start;
}

static void check_cost(void)
{
    static StaticTask_t tasks[4];
    static StackType_t stacks[4][STACK_WORDS];
    uint32_t used = 0;

    say("switches without FPU", measure_switches(0, tasks, stacks, &used));
    say("stack words without FPU", used);
    say("switches with FPU", measure_switches(1, tasks + 2, stacks + 2, &used));
    say("stack words with FPU", used);
    say("FPU of this task", fpexc());
}

static void check_drift(void)
{
    const TickType_t first = xTaskGetTickCount();
    const uint64_t start = fwgen_timer_read();
    TickType_t wake = first;
    uint64_t counts;

    vTaskDelayUntil(&wake, DRIFT_TICKS);
    counts = fwgen_timer_read() - start;
    say("timer hz", fwgen_timer_hz());
    say("ticks", (uint32_t)(xTaskGetTickCount() - first));
    say("microseconds", (uint32_t)(counts * 1000000u / fwgen_timer_hz()));
    say("uptime ticks", (uint32_t)xTaskGetTickCount());
}

/*
 * Faults.
 */
static StackType_t conduct_stack[STACK_WORDS];

__attribute__((noinline)) static void provoke(uint32_t what)
{
    switch (what) {
    case 1:
        (void)*(volatile uint32_t *)(uintptr_t)0x10u;
        break;
    case 2:
        ((void (*)(void))(uintptr_t)0x20u)();
        break;
    case 3:
        __asm volatile(".inst 0xe7f000f0"); /* udf #0 */
        break;
    case 4:
        fwgen_irq_enable(SPI_NOBODY, PRIORITY_API);
        fwgen_irq_pend(SPI_NOBODY);
        settle();
        break;
    case 5:
        /* As calls that go too deep would do. */
        memset(conduct_stack, 0, 16u * sizeof(conduct_stack[0]));
        taskYIELD();
        break;
    case 6:
        configASSERT(what != 6u);
        break;
    case 7:
    case 8:
        fwgen_irq_enable(SPI_ABOVE, PRIORITY_ABOVE);
        fwgen_irq_pend(SPI_ABOVE);
        settle();
        break;
    default:
        break;
    }
}

static void conduct(void *argument)
{
    (void)argument;
    conductor = xTaskGetCurrentTaskHandle();
    if (choice < 16u) {
        provoke(choice);
    }
    say("timer", fwgen_timer_intid());
    if (choice == 16u) {
        vTaskDelay(20);
        check_nesting();
        say("end", 0);
        fwgen_exit(0);
    }
    check_registers();
    check_nesting();
    check_cost();
    check_latency();
    check_drift();
    say("end", 0);
    fwgen_exit(0);
}

void fwgen_app_start(void)
{
    static StaticTask_t task;

    (void)xTaskCreateStatic(conduct, "conduct", STACK_WORDS, NULL, 4,
                            conduct_stack, &task);
}
