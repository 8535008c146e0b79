/*
 * hammer.c - tasks that use every register of the FPU while models run.
 *
 * The holder fills what time the engine, the link and the interrupts leave, and
 * is preempted by all of them; the spoiler preempts all of them each tick. A
 * register that comes back with another value ends in an assert.
 */
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_app.h"
#include "fwgen_console.h"

#define STACK_WORDS 512u
#define SPINS 3000u
#define TOLD_EVERY 200u

struct registers {
    uint64_t d[32];
    uint32_t fpscr;
    uint32_t r[8];
};

void hold(const struct registers *in, struct registers *out, uint32_t spins);
void spoil(uint32_t value);

static void holder(void *argument)
{
    static struct registers in;
    static struct registers out;

    (void)argument;
    for (uint32_t round = 1;; round++) {
        for (uint32_t i = 0; i < 32u; i++) {
            in.d[i] = 0x0101010101010101u * i + round;
        }
        in.fpscr = (round & 3u) << 22;
        for (uint32_t i = 0; i < 8u; i++) {
            in.r[i] = (round << 8) | i;
        }
        memset(&out, 0, sizeof(out));
        hold(&in, &out, SPINS);
        configASSERT(memcmp(&in, &out, sizeof(in)) == 0);
        if (round % TOLD_EVERY == 0u) {
            fwgen_log_value("hammer: rounds", round);
        }
    }
}

static void spoiler(void *argument)
{
    (void)argument;
    for (;;) {
        spoil(0xa5a5a5a5u);
        vTaskDelay(1);
    }
}

void fwgen_app_start(void)
{
    static StaticTask_t tasks[2];
    static StackType_t stacks[2][STACK_WORDS];

    (void)xTaskCreateStatic(holder, "holder", STACK_WORDS, NULL, 1, stacks[0],
                            &tasks[0]);
    (void)xTaskCreateStatic(spoiler, "spoiler", STACK_WORDS, NULL,
                            NVDLA_TASK_PRIORITY + 1, stacks[1], &tasks[1]);
}
