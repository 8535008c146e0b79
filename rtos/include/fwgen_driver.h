/*
 * fwgen_driver.h - between the executor and the driver of an accelerator
 * family. Not for applications.
 *
 * A family is one file in rtos/drivers/ that defines a struct
 * fwgen_accel_driver. The executor plays programs; the driver knows how the
 * hardware is identified, how its interrupt is read and acknowledged, and how
 * it is brought back after a timeout.
 */
#ifndef FWGEN_DRIVER_H
#define FWGEN_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_config_defaults.h"
#include "fwgen_model.h"
#include "fwgen_result.h"

struct fwgen_job;

/* State of one accelerator. */
struct fwgen_engine {
    const struct fwgen_accelerator *hardware;
    TaskHandle_t task;         /* plays the programs; notified by the ISR */
    volatile uint32_t status;  /* bits reported and not yet waited for */
    volatile uint32_t waiting; /* bits that the task sleeps for: the ISR wakes
                                  it when all of them are there */
    uint32_t parity;           /* docs/program.md, "Repeated runs"; pair n is
                                  bit 2n here, the place of its status bits */
    uint32_t operation;        /* of the last MARK */
    TickType_t wait_ticks;     /* default of WAIT and POLL */
    struct fwgen_job *volatile current;
    struct fwgen_job *first; /* of those that wait, in the order they run */
    uint32_t inferences;
    uint32_t errors;
    volatile uint32_t interrupts;
    volatile uint32_t spurious;
    uint32_t resets;
    uint32_t last_operation;
    uint8_t last_result;
    volatile bool broken;
#if FWGEN_PIPELINE > 1
    bool pipelined;      /* which of the model's programs is played */
    bool ahead;          /* the claimed job's first commands have been played */
    uint32_t conditions; /* FWGEN_IF_*: bit n says that condition n holds */
#endif
#if FWGEN_PROFILE
    const struct fwgen_model *profile_model;
    uint32_t profile_start;
    uint32_t profile[FWGEN_MAX_OPERATIONS];
#endif
};

struct fwgen_accel_driver {
    /* Brings the hardware into the state that programs expect, at start and
     * after a run that did not reach its end: identity checked, at rest, its
     * interrupts masked and acknowledged, the parity word set to what
     * the hardware will do next. Called by the engine's task; bounded by the
     * default timeout. FWGEN_OK or FWGEN_ERROR_DEVICE. */
    enum fwgen_result (*recover)(struct fwgen_engine *engine);
    /* Lets the interrupts of the model's mask through, forgets old ones;
     * before each run. */
    void (*prepare)(struct fwgen_engine *engine,
                    const struct fwgen_model *model);
    /* Reads and acknowledges the interrupt; returns the status bits. Bits of
     * FWGEN_FAULT_BITS say that the hardware failed: the run ends with
     * FWGEN_ERROR_DEVICE. */
    uint32_t (*interrupt)(struct fwgen_engine *engine);
};

extern const struct fwgen_accel_driver fwgen_nvdla_driver;
extern const struct fwgen_accel_driver fwgen_vip_driver;
extern const struct fwgen_accel_driver fwgen_cpu_driver;

/*
 * Plays a program once. Called by the engine's task with the hardware at rest.
 * timeout: ticks for the whole run, counted from `start`; portMAX_DELAY: only
 * the timeouts of the single waits.
 * Returns FWGEN_OK, FWGEN_ERROR_TIMEOUT, FWGEN_ERROR_PROGRAM,
 * FWGEN_ERROR_CANCELLED, FWGEN_ERROR_NOT_SUPPORTED, FWGEN_ERROR_CANARY or a
 * code of a CPU kernel. engine->operation then tells where.
 */
enum fwgen_result fwgen_execute(struct fwgen_engine *engine,
                                const struct fwgen_model *model,
                                TickType_t start, TickType_t timeout);

/* Words of the command at `word`, itself included; 0 for END and for reserved
 * opcodes. Lets drivers walk over a program. */
uint32_t fwgen_command_words(uint32_t word);

/* True when the hardware has reported an error (FWGEN_FAULT_BITS). */
static inline bool fwgen_engine_failed(const struct fwgen_engine *engine)
{
#if FWGEN_FAULT_BITS != 0
    return (engine->status & FWGEN_FAULT_BITS) != 0u;
#else
    (void)engine;
    return false;
#endif
}

/* True when the running job is to end early; asked by the executor. */
bool fwgen_engine_cancelled(const struct fwgen_engine *engine);

/* Waits for a job that was submitted, until its own deadline: then it is
 * withdrawn, or ends by itself. Returns its result. */
enum fwgen_result fwgen_job_finish(struct fwgen_job *job);

/*
 * The job that runs next if it may start now and may begin while `before`
 * runs, else NULL. It is claimed with this: it stays at the head of the queue,
 * nobody can withdraw or overtake it, and what it waited for is taken. Lets the
 * executor begin the next inference while this one runs. Its `begin` has not
 * been called yet (fwgen_accel.h). Called by the engine's task.
 */
struct fwgen_job *fwgen_engine_claim(struct fwgen_engine *engine,
                                     const struct fwgen_job *before);

#if FWGEN_PIPELINE > 1
/*
 * Asks for a run that follows the one that is played, so that its first
 * commands can be played now. Returns the conditions that hold because of it, 0
 * for none. Called by the executor, once in a run.
 */
uint32_t fwgen_engine_next(struct fwgen_engine *engine);
#endif

#if FWGEN_WATCHDOG
/* Signs of life of the engines' tasks: they change while a task runs, plays a
 * program or is notified. */
extern volatile uint32_t fwgen_engine_beats[FWGEN_ACCEL_COUNT];
#endif

/* The engine of accelerator `index`, NULL beyond the last. */
struct fwgen_engine *fwgen_engine_at(uint32_t index);

/* Kernel ticks that last at least `ms` milliseconds; never
 * portMAX_DELAY. */
TickType_t fwgen_ms_to_ticks(uint32_t ms);

/*
 * Board hook: resets accelerator `index` (all its units, pointers, and pending
 * interrupts). The default writes the reset register of the board
 * (fwgen_accelerator.reset). Returns false when the board cannot.
 */
bool fwgen_board_accel_reset(uint32_t index);

#if FWGEN_POWER_STEPS
/*
 * Board hook: switches accelerator `index` on: its power domain, clocks and
 * resets. Called once, by the engine's task before its first recover(). The
 * default follows the steps of the board (fwgen_accelerator.power_steps), each
 * bounded by the default timeout. Returns false when one does not succeed.
 */
bool fwgen_board_accel_power_on(uint32_t index);
#endif

/* Misuse of the interface: an assertion in test builds. Whoever says so also
 * returns a code, for the others. */
#if FWGEN_TEST_BUILD
#define FWGEN_MISUSE() configASSERT(0)
#else
#define FWGEN_MISUSE() ((void)0)
#endif

/* Encoding of commands, docs/program.md. */
#define FWGEN_OP_END 0u
#define FWGEN_OP_RUN 1u
#define FWGEN_OP_PORT 2u
#define FWGEN_OP_SET 3u
#define FWGEN_OP_GROUP 4u
#define FWGEN_OP_WAIT 5u
#define FWGEN_OP_POLL 6u
#define FWGEN_OP_CPU 7u
#define FWGEN_OP_CACHE 8u
#define FWGEN_OP_MARK 9u
#define FWGEN_OP_ONLY 10u

/* Conditions of ONLY. */
#define FWGEN_IF_BANK_A 0u
#define FWGEN_IF_BANK_B 1u
#define FWGEN_IF_COLD 2u
#define FWGEN_IF_NEXT 3u
#define FWGEN_IF_NEXT_BANK_A 4u
#define FWGEN_IF_NEXT_BANK_B 5u
#define FWGEN_IF_AHEAD 6u

#define FWGEN_COMMAND_OP(word) ((word) >> 28)
#define FWGEN_COMMAND_SMALL(word) (((word) >> 20) & 0xffu)
#define FWGEN_COMMAND_LOW(word) ((word)&0xfffffu)

#endif
