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
 * will use: the pair's parity is bit 2 * pair of the word. This is also the
 * number of the group's status bit. */
static inline uint32_t actual_group(const struct fwgen_engine *engine,
                                    uint32_t small)
{
    small &= 0x1fu;
    return small ^ ((engine->parity >> (small & 0x1eu)) & 1u);
}

/* Drops status bits that have been reported. */
static inline void forget(struct fwgen_engine *engine, uint32_t bits)
{
    if ((engine->status & bits) != 0u) {
        taskENTER_CRITICAL();
        engine->status &= ~bits;
        taskEXIT_CRITICAL();
    }
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

/* Ticks that a wait of `limit` ticks may take within the run. */
static TickType_t bounded(TickType_t limit, TickType_t start,
                          TickType_t timeout)
{
    if (timeout != portMAX_DELAY) {
        const TickType_t elapsed = xTaskGetTickCount() - start;
        const TickType_t left = elapsed < timeout ? timeout - elapsed : 0u;

        if (left < limit) {
            return left;
        }
    }
    return limit;
}

static enum fwgen_result wait_for(struct fwgen_engine *engine, uint32_t mask,
                                  TickType_t limit)
{
    if ((engine->status & mask) != mask) {
        const TickType_t begin = xTaskGetTickCount();

        /* The task is notified for other reasons too (new jobs), and each
         * interrupt may bring only a part of the bits. */
        do {
            const TickType_t elapsed = xTaskGetTickCount() - begin;

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
    return FWGEN_OK;
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

static enum fwgen_result play(struct fwgen_engine *engine,
                              const struct fwgen_model *model, TickType_t start,
                              TickType_t timeout)
{
    const uintptr_t base = engine->hardware->base;
    const uint32_t *next = model->program;
    const uint32_t *const end = next + model->program_words;
    enum fwgen_result result = FWGEN_OK;

    while (next < end) {
        const uint32_t word = *next++;
        const uint32_t low = FWGEN_COMMAND_LOW(word);
        const uint32_t left = (uint32_t)(end - next);
        volatile uint32_t *reg = fwgen_reg(base, low << 2);
        uint32_t small = FWGEN_COMMAND_SMALL(word);

        switch (FWGEN_COMMAND_OP(word)) {
        case FWGEN_OP_END:
            engine->parity ^= spread(low & 0xffffu);
            return check_canaries(engine);
        case FWGEN_OP_RUN:
            if (small == 0u || small > left) {
                return FWGEN_ERROR_PROGRAM;
            }
            do {
                fwgen_reg_write(reg++, *next++);
            } while (--small != 0u);
            break;
        case FWGEN_OP_PORT:
            if (small == 0u || small > left) {
                return FWGEN_ERROR_PROGRAM;
            }
            do {
                fwgen_reg_write(reg, *next++);
            } while (--small != 0u);
            break;
        case FWGEN_OP_SET:
            fwgen_reg_write(reg, small);
            break;
        case FWGEN_OP_GROUP:
            small = actual_group(engine, small);
            fwgen_reg_write(reg, small & 1u);
            forget(engine, 1u << small);
            break;
        case FWGEN_OP_WAIT: {
            TickType_t limit = engine->wait_ticks;

            if (left < 1u) {
                return FWGEN_ERROR_PROGRAM;
            }
            if (low != 0u) {
                limit = fwgen_ms_to_ticks(low);
            }
            result = wait_for(engine, swap(*next++, engine->parity),
                              bounded(limit, start, timeout));
            break;
        }
        case FWGEN_OP_POLL:
            if (left < 2u) {
                return FWGEN_ERROR_PROGRAM;
            }
            result = poll(engine, reg, next,
                          bounded(engine->wait_ticks, start, timeout));
            next += 2;
            break;
        case FWGEN_OP_CPU:
            if (low > left) {
                return FWGEN_ERROR_PROGRAM;
            }
            if (small >= fwgen_kernel_count || fwgen_kernels[small] == NULL) {
                return FWGEN_ERROR_NOT_SUPPORTED;
            }
            result = (enum fwgen_result)fwgen_kernels[small](next, low);
            next += low;
            fwgen_cpu_barrier();
            break;
        case FWGEN_OP_CACHE:
            if (left < 2u || small < 1u || small > 2u) {
                return FWGEN_ERROR_PROGRAM;
            }
            if (small == 1u) {
                fwgen_cache_clean((uintptr_t)next[0], next[1]);
            } else {
                fwgen_cache_invalidate((uintptr_t)next[0], next[1]);
            }
            next += 2;
            break;
        case FWGEN_OP_MARK:
            profile(engine);
            result = check_canaries(engine);
            engine->operation = low;
            break;
        default:
            return FWGEN_ERROR_PROGRAM;
        }
        if (result != FWGEN_OK) {
            return result;
        }
    }
    return FWGEN_ERROR_PROGRAM; /* the words ran out before END */
}

enum fwgen_result fwgen_execute(struct fwgen_engine *engine,
                                const struct fwgen_model *model,
                                TickType_t start, TickType_t timeout)
{
    enum fwgen_result result;

    engine->operation = FWGEN_NO_OPERATION;
    profile_begin(engine, model);
    fwgen_cpu_barrier(); /* inputs are in memory before the first operation */
    result = play(engine, model, start, timeout);
    profile(engine);
    return result;
}
