/*
 * model.h - the state of one emulated NVDLA and of its running operations.
 *
 * A job is what the hardware runs in one piece: CONV -> SDP (-> PDP), SDP
 * (-> PDP), PDP, CDP, BDMA or RUBIK. At launch it takes a copy of every
 * register it will look at; from then on it is a pure function of that copy,
 * the configuration and the memory, so that it may be computed in a worker
 * thread.
 */
#ifndef FWGEN_NVDLA_MODEL_H
#define FWGEN_NVDLA_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "accel_model.h"
#include "config.h"
#include "faults.h"
#include "lut.h"
#include "registers.h"

/* Units that report completion, in the order of a chain. */
enum nvdla_unit {
    UNIT_CONV,
    UNIT_SDP,
    UNIT_PDP,
    UNIT_CDP,
    UNIT_BDMA,
    UNIT_RUBIK,
    UNIT_COUNT
};

enum job_state {
    JOB_FREE,
    JOB_LAUNCHED, /* running, not computed yet */
    JOB_EXECUTED, /* running, results are in memory */
    JOB_STUCK,    /* fault stuck-busy: never completes */
};

#define JOB_FIRST_BLOCK BLOCK_CDMA
#define JOB_BLOCKS (BLOCK_CDP - BLOCK_CDMA + 2) /* the last is RBK */
#define JOB_WORDS 64u
#define JOB_ERRORS 6u
#define ERROR_TEXT 200u
#define BDMA_SLOTS 20u /* BDMA.STATUS.FREE_SLOT after reset */
#define BDMA_WORDS 12u /* CFG_SRC_ADDR_LOW ... CFG_DST_SURF */

/* What a job has announced already. A convolution announces that CDMA has
 * loaded and that CACC has delivered before SDP is done. */
enum job_stage { STAGE_STARTED, STAGE_LOADED, STAGE_DELIVERED };

/* Transfers that CFG_OP has stored. */
struct nvdla_transfers {
    unsigned count;
    uint32_t words[BDMA_SLOTS][BDMA_WORDS];
};

struct nvdla_cost {
    uint64_t cycles; /* of the unit's own datapath */
    uint64_t macs;
    uint64_t bytes_read; /* of both memory ports */
    uint64_t bytes_written;
    uint64_t sram_read; /* the part of the second port */
    uint64_t sram_written;
};

struct nvdla_job {
    atomic_int state;
    bool has[UNIT_COUNT];
    uint32_t blocks;            /* bit per block taking part */
    uint8_t group[BLOCK_COUNT]; /* which group of each block */
    uint64_t start, end;        /* model cycles */
    uint64_t due;               /* of the next stage */
    enum job_stage stage;
    /* Faults of the operations, looked up when the first of them is due. */
    bool conv_lost, conv_twice, conv_late;
    uint64_t conv_delay;
    bool flip;
    uint64_t flip_bit;
    struct nvdla_cost cost[UNIT_COUNT];

    uint32_t regs[JOB_BLOCKS][JOB_WORDS];
    struct nvdla_lut_tables lut; /* of SDP or CDP, whichever takes part */
    struct nvdla_transfers transfers;

    /* Filled while executing. */
    const struct nvdla_config *config;
    const struct accel_host *host;
    uint64_t max_macs, max_elements;
    size_t max_bytes;
    bool inject_dma_error;
    unsigned error_count;
    char errors[JOB_ERRORS][ERROR_TEXT];
    uint32_t cacc_saturation;
    uint32_t sdp_saturation;
    uint32_t cdp_saturation;
    bool unequal;
    struct nvdla_lut_counters lut_counters;
};

#define DELAYED_COUNT 16u

/* Something the GLB will do later. */
struct nvdla_delayed {
    bool used;
    bool spurious;
    uint64_t cycle;
    uint32_t bits;
};

struct accel_model {
    const struct nvdla_config *config;
    struct accel_host host;
    uint64_t now;
    uint64_t error_total;
    uint64_t ops_completed;
    uint64_t max_macs, max_elements; /* work one operation may cause */
    size_t max_bytes;                /* one host buffer */

    uint32_t regs[2][BLOCK_COUNT][BLOCK_WORDS];
    bool armed[BLOCK_COUNT][2];
    bool running[BLOCK_COUNT];
    uint8_t producer[BLOCK_COUNT];
    uint8_t consumer[BLOCK_COUNT];
    struct nvdla_lut_tables sdp_lut, cdp_lut;
    struct nvdla_transfers bdma_open;     /* stored, not launched */
    struct nvdla_transfers bdma_group[2]; /* launched, while busy */
    bool bdma_busy[2];
    uint8_t bdma_next; /* of two busy groups, the one launched first */

    uint32_t intr_status, intr_mask;
    uint32_t intr_again; /* fault irq-twice: set once more after a clear */
    bool spurious;       /* fault irq-spurious: line high, status 0 */
    bool irq_level;
    struct nvdla_delayed delayed[DELAYED_COUNT];
    struct accel_fault_list faults;
    atomic_bool in_order; /* compute at completion only (fault dma-error) */

    /* One slot per unit that can head a job. The mutex is held while a job
     * is being computed. */
    struct nvdla_job jobs[UNIT_COUNT];
    pthread_mutex_t computing;
};

/* csb.c */
uint32_t nvdla_csb_read(struct accel_model *model, uint32_t offset);
void nvdla_csb_write(struct accel_model *model, uint32_t offset,
                     uint32_t value);
bool nvdla_csb_resets(uint32_t offset, uint32_t value);
const char *nvdla_csb_name(uint32_t offset);
__attribute__((format(printf, 2, 3))) void
nvdla_guest_error(struct accel_model *model, const char *format, ...);

/* glb.c */
void nvdla_glb_update(struct accel_model *model);
void nvdla_glb_raise(struct accel_model *model, uint32_t bits);
void nvdla_glb_clear(struct accel_model *model, uint32_t bits);
uint32_t nvdla_glb_read_status(struct accel_model *model);
void nvdla_glb_later(struct accel_model *model, uint64_t cycle, uint32_t bits,
                     bool spurious);

/* launch.c */
void nvdla_launch_ready(struct accel_model *model);
/* The job's next stage is due. */
void nvdla_proceed(struct accel_model *model, struct nvdla_job *job);
/* BDMA.CFG_OP and CFG_LAUNCHn, and the value of STATUS. */
void nvdla_bdma_store(struct accel_model *model);
void nvdla_bdma_launch(struct accel_model *model, unsigned group);
uint32_t nvdla_bdma_status(const struct accel_model *model);

/* job.c */
void nvdla_job_compute(struct nvdla_job *job);
__attribute__((format(printf, 2, 3))) void
nvdla_job_error(struct nvdla_job *job, const char *format, ...);
/* Reports "BLOCK.REGISTER.FIELD = value: text". */
void nvdla_job_reject(struct nvdla_job *job, uint32_t field, const char *text);

static inline unsigned job_block(unsigned block)
{
    return block == BLOCK_RBK ? JOB_BLOCKS - 1u : block - JOB_FIRST_BLOCK;
}

static inline uint32_t job_field(const struct nvdla_job *job, uint32_t field)
{
    uint32_t offset = nvdla_field_offset(field);

    return nvdla_field_get(
        field, job->regs[job_block(offset >> 12)][(offset & 0xfffu) >> 2]);
}

/* Most sizes are stored minus one. */
static inline uint32_t job_count(const struct nvdla_job *job, uint32_t field)
{
    return job_field(job, field) + 1u;
}

static inline uint64_t job_address(const struct nvdla_job *job, uint32_t high,
                                   uint32_t low)
{
    return (uint64_t)job_field(job, high) << 32 | job_field(job, low);
}

/* faults.c */
bool nvdla_fault_arm(struct accel_model *model, const char *spec, char *error,
                     size_t error_size);
/* The armed fault of that kind that strikes operation index; a fault with an
 * index is disarmed by this. */
bool nvdla_fault_strikes(struct accel_model *model, enum fault_kind kind,
                         uint64_t index, uint64_t *argument);

/* Test hook (fuzz target): bounds the work of one operation. */
void nvdla_model_limit(struct accel_model *model, uint64_t macs,
                       uint64_t elements, size_t bytes);

extern const struct accel_family nvdla_family;

#endif
