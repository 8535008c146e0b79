/*
 * model.h - the state of one emulated VIP.
 *
 * The host starts the front end at a command buffer. The front end executes
 * commands; a state write may start a job of the NN or the TP engine, and the
 * front end waits until that job has completed. A job takes a copy of
 * everything it depends on at its start; from then on it is a pure function of
 * that copy and of memory, so that it may be computed in a worker thread.
 */
#ifndef FWGEN_VIP_MODEL_H
#define FWGEN_VIP_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "accel_model.h"
#include "config.h"
#include "faults.h"
#include "job.h"
#include "memory.h"

#define VIP_WINDOW 0x4000u /* bytes of the register window */
#define VIP_REGISTERS 0x400u

/* HI.INTR_ACKNOWLEDGE: bits 0..29 are events. */
#define VIP_EVENTS 30u
#define VIP_INTR_AXI_ERROR 0x80000000u

enum vip_unit { VIP_NN, VIP_TP };

enum vip_job_state {
    VIP_JOB_FREE,
    VIP_JOB_LAUNCHED, /* running, not computed yet */
    VIP_JOB_EXECUTED, /* running, results are in memory */
    VIP_JOB_STUCK,    /* fault stuck-busy: never completes */
};

#define VIP_JOB_ERRORS 6u
#define VIP_ERROR_TEXT 240u

struct vip_job {
    atomic_int state;
    enum vip_unit unit;
    uint32_t address; /* of the descriptor */
    uint32_t words[VIP_JOB_WORDS];
    struct vip_job_facts facts;
    struct vip_route route;
    bool in_group; /* more jobs of its group follow */
    uint64_t start, due;
    bool inject_dma_error;

    /* Filled while executing. */
    bool ok;
    bool read_failed, write_failed;
    struct vip_job_cost cost;
    unsigned error_count;
    char errors[VIP_JOB_ERRORS][VIP_ERROR_TEXT];
};

enum vip_fe_state {
    FE_IDLE,
    FE_RUNNING, /* goes on at due */
    FE_JOB,     /* waits for the job */
    FE_STUCK,   /* met an error; only a reset ends it */
};

struct vip_front_end {
    enum vip_fe_state state;
    uint64_t due;
    uint32_t at;   /* address of the next word */
    uint64_t stop; /* address behind the words that were to be fetched */
    uint32_t last[2];
    /* A LOAD_STATE under way. */
    unsigned payload;      /* words left */
    uint32_t payload_addr; /* state address of the next */
    /* CALL: one level, as the hardware. */
    bool called;
    uint32_t return_at;
    uint32_t return_prefetch;
    uint32_t semaphores;    /* a bit per pair, see frontend.c */
    unsigned idle_commands; /* since the last job */
    unsigned jobs;          /* since the start */
    bool group;             /* jobs that run beside each other */
    uint64_t group_start;
    uint32_t nn_config; /* state GL_NN_CONFIG */
};

#define VIP_DELAYED 16u

/* Interrupt bits that will be set later. */
struct vip_delayed {
    bool used;
    bool spurious;
    uint64_t cycle;
    uint32_t bits;
};

struct accel_model {
    const struct vip_config *config;
    struct accel_host host;
    uint64_t now;
    uint64_t error_total;
    uint64_t jobs_completed;
    uint64_t events_raised;
    /* Bounds of what a command stream may cost the host. */
    uint64_t max_macs, max_elements;
    size_t max_bytes;
    unsigned max_idle_commands, max_jobs;

    uint32_t regs[VIP_REGISTERS]; /* plain storage */
    uint32_t axi_status;
    uint32_t intr_pending, intr_enable;
    uint32_t intr_again; /* fault irq-twice: set once more after a read */
    bool spurious;       /* fault irq-spurious: line high, nothing pending */
    bool irq_level;
    struct vip_delayed delayed[VIP_DELAYED];
    struct accel_fault_list faults;
    atomic_bool in_order; /* compute at completion only (fault dma-error) */

    struct vip_route route;
    struct vip_front_end fe;
    struct vip_job job;
    pthread_mutex_t computing; /* held while a job is being computed */
};

/* model.c */
__attribute__((format(printf, 2, 3))) void
vip_guest_error(struct accel_model *model, const char *format, ...);
/* The soft reset: everything but time, faults and what the VIP SRAM holds. */
void vip_model_reset(struct accel_model *model);
/* Test hook (fuzz target): bounds the work of one command stream. */
void vip_model_limit(struct accel_model *model, uint64_t macs,
                     uint64_t elements, size_t bytes, unsigned commands,
                     unsigned jobs);

/* registers.c */
uint32_t vip_register_read(struct accel_model *model, uint32_t offset);
void vip_register_write(struct accel_model *model, uint32_t offset,
                        uint32_t value);
const char *vip_register_name(uint32_t offset);
bool vip_register_resets(uint32_t offset, uint32_t value);
void vip_registers_reset(struct accel_model *model);

/* interrupt.c */
void vip_intr_update(struct accel_model *model);
void vip_intr_raise(struct accel_model *model, uint32_t bits);
/* Reading HI.INTR_ACKNOWLEDGE. */
uint32_t vip_intr_take(struct accel_model *model);
/* A GL_EVENT or an END with an event: subject to the interrupt faults. */
void vip_intr_event(struct accel_model *model, unsigned event);
/* Fault irq-spurious, when the front end starts. */
void vip_intr_start(struct accel_model *model);
uint64_t vip_intr_next(const struct accel_model *model);
/* Handles one delayed interrupt that is due; false when there is none. */
bool vip_intr_due(struct accel_model *model);

/* frontend.c */
void vip_fe_start(struct accel_model *model, uint32_t address,
                  uint32_t prefetch);
/* Executes commands until a job has started, a WAIT or the end. */
void vip_fe_proceed(struct accel_model *model);
/* The front end met an error: it stays busy and the AXI error bit is set. */
__attribute__((format(printf, 2, 3))) void
vip_fe_fail(struct accel_model *model, const char *format, ...);
/* The job has completed. */
void vip_fe_continue(struct accel_model *model);

void vip_fe_semaphore(struct accel_model *model, uint32_t token);

/* states.c: one state write of the command stream. */
void vip_state_write(struct accel_model *model, uint32_t address,
                     uint32_t value);

/* launch.c */
void vip_job_launch(struct accel_model *model, enum vip_unit unit,
                    uint32_t value);
void vip_job_complete(struct accel_model *model);
/* Computes the job if nobody has yet. */
void vip_job_compute(struct accel_model *model);

/* faults.c */
bool vip_fault_arm(struct accel_model *model, const char *spec, char *error,
                   size_t error_size);

extern const struct accel_family vip_family;

#endif
