/*
 * watchdog.c - the supervisor, and the reason of a reset (fwgen_watchdog.h).
 *
 * The engines' tasks count signs of life (fwgen_engine_beats): one for each job
 * and for each time the executor looks whether its run is cancelled, which
 * it does whenever it is woken and before each kernel. The supervisor wakes
 * them once a round, so that a task that merely has nothing to do counts too.
 *
 * The record lies in memory that start-up code leaves alone, and is valid only
 * with the right CRC: after power-on it is noise.
 */
#include "fwgen_watchdog.h"

#include <stddef.h>
#include <string.h>

#include "task.h"

#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_driver.h"
#include "fwgen_link.h"

#if FWGEN_WATCHDOG

#define MAGIC 0x57446f67u

/* Rounds in the period of the hardware: three may be late. */
#define ROUNDS 4u

/* An engine's task may be busy for this many of its own timeouts: a wait, then
 * a recovery. */
#define ENGINE_TIMEOUTS 3u

struct record {
    uint32_t magic;
    uint32_t kind;
    uint32_t detail;
    char name[FWGEN_RESTART_NAME];
    uint32_t crc;
};

struct seen {
    uint32_t beats;
    TickType_t since;
    bool worked; /* it was not broken once: a reset may help */
};

/* In lines of its own: cleaning it touches nothing else. */
static struct record __attribute__((section(".noinit"), aligned(64))) record;
static struct fwgen_restart_reason reason;
static struct seen seen[FWGEN_ACCEL_COUNT];
static struct fwgen_watch *first;

static uint32_t crc_of(const struct record *what)
{
    return fwgen_crc32(0, what, offsetof(struct record, crc));
}

static void copy_name(char *to, const char *from)
{
    uint32_t length = 0;

    while (length < FWGEN_RESTART_NAME - 1u && *from > ' ' && *from < 0x7f) {
        to[length] = *from;
        length++;
        from++;
    }
    (void)memset(&to[length], 0, FWGEN_RESTART_NAME - length);
}

void fwgen_restart_note(enum fwgen_restart kind, uint32_t detail,
                        const char *name)
{
    record.magic = MAGIC;
    record.kind = (uint32_t)kind;
    record.detail = detail;
    copy_name(record.name, name);
    record.crc = crc_of(&record);
    /* A reset loses what is in the caches alone. */
    fwgen_cache_clean((uintptr_t)&record, sizeof(record));
}

/* What was noted before the reset, and what the SoC says of it. */
static void find_reason(void)
{
    const bool noted = record.magic == MAGIC && record.crc == crc_of(&record) &&
                       record.kind <= FWGEN_RESTART_SUPERVISOR;
    bool fired = noted && record.kind != FWGEN_RESTART_OTHER;

    if (fwgen_watchdog.cause_register != 0u) {
        volatile uint32_t *reg = fwgen_reg(fwgen_watchdog.cause_register, 0);

        reason.cause = fwgen_reg_read(reg);
        fired = (reason.cause & fwgen_watchdog.cause_mask) != 0u;
        /* Its bits stay until ones are written. */
        fwgen_reg_write(reg, reason.cause & fwgen_watchdog.cause_mask);
    }
    /* A fault may end in a reset by software. */
    fired = fired || (noted && record.kind == FWGEN_RESTART_FAULT);
    if (fired && noted && record.kind != FWGEN_RESTART_OTHER) {
        reason.kind = (enum fwgen_restart)record.kind;
        reason.detail = record.detail;
        copy_name(reason.name, record.name);
    } else if (fired) {
        reason.kind = FWGEN_RESTART_SUPERVISOR;
    }
    fwgen_restart_note(FWGEN_RESTART_OTHER, 0, "");
}

const struct fwgen_restart_reason *fwgen_restart_reason(void)
{
    return &reason;
}

void fwgen_restart_print(void)
{
    static const char *const texts[] = {
        "last reset: not by the watchdog",
        "last reset: watchdog, accelerator broken: ",
        "last reset: watchdog, task without a sign of life: ",
        "last reset: after a fault: ",
        "last reset: watchdog, the supervisor did not run",
    };

    fwgen_print(texts[reason.kind]);
    fwgen_print(reason.name);
    if (reason.kind == FWGEN_RESTART_ENGINE) {
        fwgen_print(", operation ");
        fwgen_print_signed((int32_t)reason.detail);
    } else if (reason.kind == FWGEN_RESTART_TASK) {
        fwgen_print(", ticks ");
        fwgen_print_decimal(reason.detail);
    }
    fwgen_print("\n");
}

/* ---- the supervisor ---- */

static bool engine_is_well(uint32_t index, TickType_t round)
{
    const struct fwgen_engine *engine = fwgen_engine_at(index);
    const TickType_t now = xTaskGetTickCount();
    const uint32_t beats = fwgen_engine_beats[index];
    const TickType_t limit =
        ENGINE_TIMEOUTS * fwgen_ms_to_ticks(engine->hardware->timeout_ms) +
        2u * round;

    if (beats != seen[index].beats) {
        seen[index].beats = beats;
        seen[index].since = now;
    } else if (now - seen[index].since > limit) {
        fwgen_restart_note(FWGEN_RESTART_TASK, now - seen[index].since,
                           engine->hardware->name);
        return false;
    }
    if (beats != 0u && !engine->broken) {
        seen[index].worked = true;
    } else if (seen[index].worked && engine->broken) {
        fwgen_restart_note(FWGEN_RESTART_ENGINE, engine->last_operation,
                           engine->hardware->name);
        return false;
    }
    (void)xTaskNotifyGive(engine->task);
    return true;
}

static bool tasks_are_well(void)
{
    for (const struct fwgen_watch *watch = first; watch != NULL;
         watch = watch->next) {
        const TickType_t last = watch->last; /* before the time of day */
        const TickType_t silent = xTaskGetTickCount() - last;

        if (silent > watch->limit) {
            fwgen_restart_note(FWGEN_RESTART_TASK, silent, watch->name);
            return false;
        }
    }
    return true;
}

static bool all_is_well(TickType_t round)
{
    for (uint32_t i = 0; i < FWGEN_ACCEL_COUNT; i++) {
        if (!engine_is_well(i, round)) {
            return false;
        }
    }
    return tasks_are_well();
}

static void supervisor(void *argument)
{
    const TickType_t ticks = (TickType_t)((uint64_t)fwgen_watchdog.timeout_ms *
                                          configTICK_RATE_HZ / 1000u);
    const TickType_t round = ticks / ROUNDS;

    (void)argument;
    while (all_is_well(round)) {
        fwgen_watchdog.driver->feed(fwgen_watchdog.base, fwgen_watchdog.load);
        vTaskDelay(round);
    }
    fwgen_console_lock();
    fwgen_print("watchdog: no sign of life of ");
    fwgen_print(record.name);
    fwgen_print(", the board will be reset\n");
    fwgen_console_unlock();
    for (;;) {
        vTaskSuspend(NULL);
    }
}

void fwgen_watchdog_watch(struct fwgen_watch *watch, const char *name,
                          uint32_t limit_ms)
{
    watch->name = name;
    watch->limit = fwgen_ms_to_ticks(limit_ms);
    watch->last = xTaskGetTickCount();
    taskENTER_CRITICAL();
    watch->next = first;
    first = watch;
    taskEXIT_CRITICAL();
}

void fwgen_watchdog_check_in(struct fwgen_watch *watch)
{
    watch->last = xTaskGetTickCount();
}

void fwgen_watchdog_start(void)
{
    static StaticTask_t task;
    static StackType_t stack[FWGEN_WATCHDOG_STACK_SIZE];

    find_reason();
    fwgen_console_lock();
    fwgen_restart_print();
    fwgen_console_unlock();
    fwgen_watchdog.driver->start(fwgen_watchdog.base, fwgen_watchdog.load);
    (void)xTaskCreateStatic(supervisor, "watchdog", FWGEN_WATCHDOG_STACK_SIZE,
                            NULL, configMAX_PRIORITIES - 1, stack, &task);
}

#endif
