/*
 * executor.c - plays a program (docs/program.md gives its encoding).
 *
 * All decisions were made by the generator; what is left is to copy words to
 * registers and to wait. The loops that copy are kept free of calls, because
 * they are nearly all of the work. Nothing here knows an accelerator family.
 *
 * Invariants: a program is never read beyond program_words; each wait is
 * bounded by its own timeout and by the run's; a group that is about to be
 * programmed is not running, so a status bit that it has then is a repetition
 * of one that was waited for, and is dropped; the parity word changes only at
 * END, so a run that fails leaves it for the driver's recover().
 */
#include "fwgen_driver.h"

#include "fwgen_cpu.h"
#include "fwgen_fault.h"

/* The even bit of each pair of status bits. */
#define EVEN_BITS 0x55555555u

/* POLL reads this often before it lets other tasks run between reads. */
#define POLL_SPINS 64u

/* Moves bit n to bit 2n, for the 16 pairs. */
static uint32_t spread(uint32_t pairs)
{
    pairs = (pairs | (pairs << 8)) & 0x00ff00ffu;
    pairs = (pairs | (pairs << 4)) & 0x0f0f0f0fu;
    pairs = (pairs | (pairs << 2)) & 0x33333333u;
    return (pairs | (pairs << 1)) & EVEN_BITS;
}

/* Exchanges the two bits of each pair whose parity is 1. */
static uint32_t swap(uint32_t mask, uint32_t parity)
{
    uint32_t differ = (mask ^ (mask >> 1)) & parity;

    return mask ^ (differ | (differ << 1));
}

/* `pair << 1 | group` of a GROUP command, with the group that the hardware
 * will use. This is also the number of the group's status bit. */
static inline uint32_t actual_group(uint32_t parity, uint32_t small)
{
    small &= 0x1fu;
    /* the pair's parity is at both of its bits */
    return small ^ (((parity | (parity << 1)) >> small) & 1u);
}

/* Drops status bits that have been reported. */
static void forget(struct fwgen_engine *engine, uint32_t bits)
{
    taskENTER_CRITICAL();
    engine->status &= ~bits;
    taskEXIT_CRITICAL();
}

TickType_t fwgen_ms_to_ticks(uint32_t ms)
{
    const uint32_t rate = (uint32_t)configTICK_RATE_HZ;
    const uint32_t seconds = ms / 1000u;

    if (seconds >= (portMAX_DELAY - 2u) / rate - 1u) {
        return portMAX_DELAY - 1u;
    }
    /* One more, because the tick that is running counts too. */
    return seconds * rate + ((ms % 1000u) * rate + 999u) / 1000u + 1u;
}

uint32_t fwgen_command_words(uint32_t word)
{
    switch (FWGEN_COMMAND_OP(word)) {
    case FWGEN_OP_RUN:
    case FWGEN_OP_PORT:
        return 1u + FWGEN_COMMAND_SMALL(word);
    case FWGEN_OP_CPU:
        return 1u + FWGEN_COMMAND_LOW(word);
    case FWGEN_OP_SET:
    case FWGEN_OP_GROUP:
    case FWGEN_OP_MARK:
#if FWGEN_PIPELINE > 1
    case FWGEN_OP_ONLY:
#endif
        return 1u;
    case FWGEN_OP_WAIT:
        return 2u;
    case FWGEN_OP_POLL:
    case FWGEN_OP_CACHE:
        return 3u;
    default:
        return 0u;
    }
}

static enum fwgen_result wait_for(struct fwgen_engine *engine, uint32_t mask,
                                  TickType_t limit)
{
    engine->waiting = mask; /* from here on the interrupt wakes this task */
    if ((engine->status & mask) != mask) {
        const TickType_t begin = xTaskGetTickCount();

        /* The task is notified for other reasons too: new jobs, and interrupts
         * of before. */
        do {
            const TickType_t elapsed = xTaskGetTickCount() - begin;

            if (fwgen_engine_failed(engine)) {
                return FWGEN_ERROR_DEVICE;
            }
            if (fwgen_engine_cancelled(engine)) {
                return FWGEN_ERROR_CANCELLED;
            }
            if (elapsed >= limit) {
                return FWGEN_ERROR_TIMEOUT;
            }
            (void)ulTaskNotifyTake(pdTRUE, limit - elapsed);
        } while ((engine->status & mask) != mask);
    }
    forget(engine, mask);
    fwgen_cpu_barrier();
    return fwgen_engine_failed(engine) ? FWGEN_ERROR_DEVICE : FWGEN_OK;
}

static enum fwgen_result poll(struct fwgen_engine *engine,
                              volatile uint32_t *reg, const uint32_t *operands,
                              TickType_t limit)
{
    TickType_t begin = 0;
    uint32_t reads = 0;

    while ((fwgen_reg_read(reg) & operands[0]) != operands[1]) {
        reads++;
        if (reads == 1u) {
            begin = xTaskGetTickCount();
        }
        if (fwgen_engine_cancelled(engine)) {
            return FWGEN_ERROR_CANCELLED;
        }
        if (xTaskGetTickCount() - begin >= limit) {
            return FWGEN_ERROR_TIMEOUT;
        }
        if (reads >= POLL_SPINS) {
            vTaskDelay(1);
        }
    }
    return FWGEN_OK;
}

#if FWGEN_CANARIES
static enum fwgen_result check_canaries(const struct fwgen_engine *engine)
{
    for (uint32_t i = 0; i < fwgen_canary_count; i++) {
        if (*fwgen_canaries[i] != FWGEN_CANARY) {
            fwgen_canary_failed(fwgen_canaries[i], engine->operation);
            *fwgen_canaries[i] = FWGEN_CANARY; /* for the next run */
            return FWGEN_ERROR_CANARY;
        }
    }
    return FWGEN_OK;
}
#else
#define check_canaries(engine) FWGEN_OK
#endif

#if FWGEN_PROFILE
/* Charges the time since the last call to the operation of the last MARK. */
static void profile(struct fwgen_engine *engine)
{
    const uint32_t now = (uint32_t)fwgen_timer_read();

    if (engine->operation < FWGEN_MAX_OPERATIONS) {
        engine->profile[engine->operation] += now - engine->profile_start;
    }
    engine->profile_start = now;
}

static void profile_begin(struct fwgen_engine *engine,
                          const struct fwgen_model *model)
{
    for (uint32_t i = 0; i < FWGEN_MAX_OPERATIONS; i++) {
        engine->profile[i] = 0;
    }
    engine->profile_model = model;
    engine->profile_start = (uint32_t)fwgen_timer_read();
}
#else
#define profile(engine) ((void)0)
#define profile_begin(engine, model) ((void)0)
#endif

/* A run: where it is, and when it must be over. */
struct player {
    struct fwgen_engine *engine;
    const uint32_t *next;
    const uint32_t *end;
    TickType_t start;
    TickType_t timeout;
};

/* Ticks that a wait of `limit` ticks may take within the run. */
static TickType_t bounded(const struct player *player, TickType_t limit)
{
    if (player->timeout != portMAX_DELAY) {
        const TickType_t elapsed = xTaskGetTickCount() - player->start;
        const TickType_t left =
            elapsed < player->timeout ? player->timeout - elapsed : 0u;

        if (left < limit) {
            return left;
        }
    }
    return limit;
}

/*
 * The commands that are rare enough to be calls. player->next is behind the
 * command's first word before, and behind the whole command after.
 */
static __attribute__((noinline)) enum fwgen_result
play_other(struct player *player, uint32_t word)
{
    struct fwgen_engine *engine = player->engine;
    const uint32_t *operands = player->next;
    const uint32_t low = FWGEN_COMMAND_LOW(word);
    const uint32_t small = FWGEN_COMMAND_SMALL(word);
    const uint32_t size = fwgen_command_words(word);
    enum fwgen_result result;

    if (size == 0u || size > (uint32_t)(player->end - operands)) {
        return FWGEN_ERROR_PROGRAM;
    }
    player->next = operands + (size - 1u);
    switch (FWGEN_COMMAND_OP(word)) {
    case FWGEN_OP_PORT:
        if (small == 0u) {
            return FWGEN_ERROR_PROGRAM;
        }
        do {
            fwgen_reg_write(fwgen_reg(engine->hardware->base, low << 2),
                            *operands++);
        } while (operands != player->next);
        return FWGEN_OK;
    case FWGEN_OP_WAIT:
        return wait_for(engine, swap(operands[0], engine->parity),
                        bounded(player, low == 0u ? engine->wait_ticks
                                                  : fwgen_ms_to_ticks(low)));
    case FWGEN_OP_POLL:
        return poll(engine, fwgen_reg(engine->hardware->base, low << 2),
                    operands, bounded(player, engine->wait_ticks));
    case FWGEN_OP_CPU:
#if FWGEN_CPU_FAMILY
        /* There may be no WAIT in the whole program. */
        if (fwgen_engine_cancelled(engine)) {
            return FWGEN_ERROR_CANCELLED;
        }
        if (bounded(player, 1u) == 0u) {
            return FWGEN_ERROR_TIMEOUT;
        }
#endif
        if (small >= fwgen_kernel_count || fwgen_kernels[small] == NULL) {
            return FWGEN_ERROR_NOT_SUPPORTED;
        }
        result = (enum fwgen_result)fwgen_kernels[small](operands, low);
        fwgen_cpu_barrier();
        return result;
    case FWGEN_OP_CACHE:
        if (small == 1u) {
            fwgen_cache_clean((uintptr_t)operands[0], operands[1]);
        } else if (small == 2u) {
            fwgen_cache_invalidate((uintptr_t)operands[0], operands[1]);
        } else {
            return FWGEN_ERROR_PROGRAM;
        }
        return FWGEN_OK;
#if FWGEN_PIPELINE > 1
    case FWGEN_OP_ONLY:
        if (small == FWGEN_IF_NEXT) {
            engine->conditions |= fwgen_engine_next(engine);
        }
        if (small > FWGEN_IF_AHEAD ||
            low >= (uint32_t)(player->end - operands)) {
            return FWGEN_ERROR_PROGRAM;
        }
        if (((engine->conditions >> small) & 1u) == 0u) {
            player->next = operands + low;
        }
        return FWGEN_OK;
#endif
    default:
        return FWGEN_ERROR_PROGRAM;
    }
}

/* The register that a command names. */
static inline volatile uint32_t *reg_of(uintptr_t base, uint32_t word)
{
    return fwgen_reg(base, (word << 12) >> 10);
}

/*
 * Keeps the compiler from making one table jump of the comparisons around it:
 * with two commands that are nearly all of a program, comparing is shorter.
 */
#define NO_TABLE(op) __asm volatile("" : "+r"(op))

/*
 * Plays the register writes itself and leaves the rest to play_other(). This
 * loop is what a layer costs, so the most frequent commands come first.
 */
static enum fwgen_result play(struct player *player)
{
    struct fwgen_engine *engine = player->engine;
    const uintptr_t base = engine->hardware->base;
    const uint32_t parity = engine->parity;
    const uint32_t *next = player->next;
    const uint32_t *const end = player->end;

    /* The last word is an END. A command with operands leaves at least that
     * word, so the next one is always inside the program. */
    if (next == end || FWGEN_COMMAND_OP(end[-1]) != FWGEN_OP_END) {
        return FWGEN_ERROR_PROGRAM;
    }
    for (;;) {
        const uint32_t word = *next++;
        const uint32_t small = FWGEN_COMMAND_SMALL(word);
        uint32_t op = FWGEN_COMMAND_OP(word);
        enum fwgen_result result;

        if (op == FWGEN_OP_SET) {
            fwgen_reg_write(reg_of(base, word), small);
            continue;
        }
        NO_TABLE(op);
        if (op == FWGEN_OP_RUN) {
            if (small - 1u >= (uint32_t)(end - next) - 1u) { /* 0 wraps */
                return FWGEN_ERROR_PROGRAM;
            }
            next = fwgen_reg_copy(reg_of(base, word), next, small);
            continue;
        }
        NO_TABLE(op);
        if (op == FWGEN_OP_GROUP) {
            const uint32_t bit = actual_group(parity, small);

            fwgen_reg_write(reg_of(base, word), bit & 1u);
            if (((engine->status >> bit) & 1u) != 0u) {
                forget(engine, 1u << bit);
            }
            continue;
        }
        NO_TABLE(op);
        if (op == FWGEN_OP_MARK) {
            profile(engine);
            result = check_canaries(engine);
            engine->operation = FWGEN_COMMAND_LOW(word);
        } else if (op == FWGEN_OP_END) {
            engine->parity = parity ^ spread(word & 0xffffu);
            return check_canaries(engine);
        } else {
            player->next = next;
            result = play_other(player, word);
            next = player->next;
        }
        if (result != FWGEN_OK) {
            return result;
        }
    }
}

enum fwgen_result fwgen_execute(struct fwgen_engine *engine,
                                const struct fwgen_model *model,
                                TickType_t start, TickType_t timeout)
{
    struct player player = {engine, model->program,
                            model->program + model->program_words, start,
                            timeout};
    enum fwgen_result result;

#if FWGEN_PIPELINE > 1
    if (engine->pipelined) {
        player.next = model->pipelined;
        player.end = model->pipelined + model->pipelined_words;
    }
#endif
    engine->operation = FWGEN_NO_OPERATION;
    profile_begin(engine, model);
    fwgen_cpu_barrier(); /* inputs are in memory before the first operation */
    result = play(&player);
    profile(engine);
    return result;
}
