/*
 * fwgen_model.h - what generated code tells the runtime about models, memory
 * and accelerators.
 *
 * Everything here is constant data that fwgen writes into the project
 * (src/model_*.c, src/board_*.c); the runtime in rtos/ only reads it. The
 * application sees the same data through fwgen_accel.h and nvdla.h.
 */
#ifndef FWGEN_MODEL_H
#define FWGEN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "fwgen_config_defaults.h"

/* Element types of tensors; the numbers are part of the serial protocol. */
enum fwgen_dtype {
    FWGEN_INT8 = 1,
    FWGEN_UINT8 = 2,
    FWGEN_INT16 = 3,
    FWGEN_UINT16 = 4,
    FWGEN_FLOAT16 = 5,
    FWGEN_FLOAT32 = 6,
};

/* Memory orders of tensors; part of the serial protocol. */
enum fwgen_layout {
    FWGEN_NCHW = 1,
    FWGEN_NHWC = 2,
    FWGEN_NCXHWX = 3, /* channels in blocks of `atom` */
};

/* A tensor that the application fills or reads. */
struct fwgen_tensor {
    const char *name;
    uint8_t *address;    /* first byte; 64-byte aligned */
    uint32_t size;       /* bytes to bind */
    uint32_t shape[4];   /* N, C, H, W in elements */
    uint32_t strides[3]; /* bytes: element, line, surface */
    float scale;         /* 0 where the model does not state it */
    int32_t zero_point;
    uint8_t dtype;  /* enum fwgen_dtype */
    uint8_t layout; /* enum fwgen_layout */
    uint16_t atom;
};

/* One compiled model. */
struct fwgen_model {
    const char *name;
    uint8_t layout_hash[8];  /* of the placement of all buffers and tensors */
    const uint32_t *program; /* docs/program.md */
    uint32_t program_words;
    const struct fwgen_tensor *inputs;
    const struct fwgen_tensor *outputs;
    const char *const *operation_names; /* NULL when left out */
    uint16_t input_count;
    uint16_t output_count;
    uint16_t operation_count;
    uint16_t accelerator;    /* index in fwgen_accelerators */
    uint32_t interrupt_mask; /* status bits the program waits for */
    /* The program of a pipelined run; NULL where the build has pipeline_depth
     * 1. `inputs` and `outputs` hold those of the second bank behind those of
     * the first where there are two. */
    const uint32_t *pipelined;
    uint32_t pipelined_words;
    uint8_t pipeline_depth; /* 1, 2 or 4 */
    uint8_t banks;          /* 1 or 2 */
};

/* With model slots the table is in RAM: at start the model of the active slot
 * takes the place of model 0. Nobody else writes to it. */
#if FWGEN_NVMEM
#define FWGEN_MODEL_TABLE
#else
#define FWGEN_MODEL_TABLE const
#endif

extern FWGEN_MODEL_TABLE struct fwgen_model fwgen_models[];
extern const uint32_t fwgen_model_count;

/* The driver of a family: rtos/drivers/<family>.c defines
 * fwgen_<family>_driver; see fwgen_driver.h. */
struct fwgen_accel_driver;

/* How the SoC resets the accelerator: one 32-bit register outside its window.
 * `assert_value` is written, then `release_value`. */
struct fwgen_reset_line {
    uintptr_t address; /* 0: the board has none */
    uint32_t assert_value;
    uint32_t release_value;
};

/* One step of switching an accelerator on. `mask` 0: `value` is written to the
 * register at `address`; otherwise the register is read until its bits of
 * `mask` are `value`. `delay_us` follows. */
struct fwgen_power_step {
    uintptr_t address;
    uint32_t mask;
    uint32_t value;
    uint32_t delay_us;
};

/* What a register of the accelerator's window reads. */
struct fwgen_register_value {
    uint32_t offset;
    uint32_t value;
};

/* One accelerator of the board. */
struct fwgen_accelerator {
    const char *name;   /* as in the board profile, "dla0" */
    const char *family; /* "nvdla" */
    const char *config; /* "nv_small" */
    uintptr_t base;     /* of the register window */
    int32_t irq; /* interrupt number at the controller (NVIC: external); -1
                    where the CPU does the work */
    uint32_t irq_priority; /* FreeRTOS convention: 0 is the highest */
    uint32_t timeout_ms;   /* default of WAIT commands */
    uint32_t identity;     /* value of the version register; 0: any but 0 */
    struct fwgen_reset_line reset;
    const struct fwgen_power_step *power_steps;    /* NULL without any */
    const struct fwgen_register_value *identities; /* besides `identity` */
    uint16_t power_step_count;
    uint16_t identity_count;
    const struct fwgen_accel_driver *driver; /* &fwgen_nvdla_driver */
};

extern const struct fwgen_accelerator fwgen_accelerators[];
extern const uint32_t fwgen_accelerator_count;

/* CPU kernels, indexed by the kernel number of the program's CPU command; NULL
 * where no model uses the kernel. A kernel gets the command's argument words
 * and returns 0, or a code of fwgen_result.h. The numbers are those of the
 * Program. */
typedef int (*fwgen_kernel)(const uint32_t *arguments, uint32_t count);

#define FWGEN_KERNEL_SOFTMAX 1
#define FWGEN_KERNEL_POWER 2

#define FWGEN_KERNEL_CONVOLUTION 3
#define FWGEN_KERNEL_POINTWISE 4
#define FWGEN_KERNEL_POOLING 5
#define FWGEN_KERNEL_NORMALISATION 6

int fwgen_kernel_softmax(const uint32_t *arguments, uint32_t count);
int fwgen_kernel_power(const uint32_t *arguments, uint32_t count);
int fwgen_kernel_convolution(const uint32_t *arguments, uint32_t count);
int fwgen_kernel_pointwise(const uint32_t *arguments, uint32_t count);
int fwgen_kernel_pooling(const uint32_t *arguments, uint32_t count);
int fwgen_kernel_normalisation(const uint32_t *arguments, uint32_t count);

extern const fwgen_kernel fwgen_kernels[];
extern const uint32_t fwgen_kernel_count;

/* Constants that are copied to RAM before the scheduler starts. */
struct fwgen_boot_copy {
    void *destination;
    const void *source;
    uint32_t size;
};

extern const struct fwgen_boot_copy fwgen_boot_copies[];
extern const uint32_t fwgen_boot_copy_count;

/* Ranges that are zeroed before the scheduler starts (tensor arenas). */
struct fwgen_boot_clear {
    void *start;
    uint32_t size;
};

extern const struct fwgen_boot_clear fwgen_boot_clears[];
extern const uint32_t fwgen_boot_clear_count;

/* Guard words between buffers; only in builds with FWGEN_CANARIES. Each word
 * holds FWGEN_CANARY and is checked when an operation ends. */
#define FWGEN_CANARY 0xc0de5afeu

extern uint32_t *const fwgen_canaries[];
extern const uint32_t fwgen_canary_count;

/* Identity that `fwgen run` compares with the build it believes to run. */
extern const char fwgen_board_name[];
extern const char fwgen_version[]; /* of the generator */
extern const uint8_t fwgen_build_id[16];

#endif
