/*
 * harness.c - executor and NVDLA driver on the host, for tests through ctypes.
 *
 * Registers are an array; each write is recorded. The test gives callbacks
 * for writes and for waiting, which may deliver status bits and let time pass.
 */
#define _DEFAULT_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fwgen_cpu.h"
#include "fwgen_driver.h"

#define WINDOW_WORDS 0x100000u
#define PROGRAM_WORDS 65536u
#define LOG_MAX 200000u

struct access {
    uint32_t offset;
    uint32_t value;
};

static uint32_t window[WINDOW_WORDS];
static uint32_t program[PROGRAM_WORDS];
static struct access log_entries[LOG_MAX];
static uint32_t log_count;
static TickType_t now;
static struct fwgen_engine engine;
static bool cancelled;
static bool board_can_reset;
static uint32_t resets;

static void (*on_write)(uint32_t offset, uint32_t value);
static uint32_t (*on_wait)(uint32_t ticks);

/* One model whose program is the buffer; walks end at the first END. */
const struct fwgen_model fwgen_models[] = {
    {.name = "model",
     .program = program,
     .program_words = PROGRAM_WORDS,
     .accelerator = 0,
     .interrupt_mask = 0x00300033u},
};
const uint32_t fwgen_model_count = 1;

const struct fwgen_accelerator fwgen_accelerators[] = {
    {.name = "dla0",
     .family = "nvdla",
     .config = "nv_small",
     .base = (uintptr_t)window,
     .timeout_ms = 100,
     .identity = 0x00303031u,
     .driver = &fwgen_nvdla_driver},
};
const uint32_t fwgen_accelerator_count = 1;

static uint32_t kernel_arguments[16];
static uint32_t kernel_count;

static int record_kernel(const uint32_t *arguments, uint32_t count)
{
    kernel_count = count;
    for (uint32_t i = 0; i < count && i < 16u; i++) {
        kernel_arguments[i] = arguments[i];
    }
    return (int)(count == 3u ? FWGEN_ERROR_NOT_SUPPORTED : FWGEN_OK);
}

const fwgen_kernel fwgen_kernels[] = {NULL, record_kernel};
const uint32_t fwgen_kernel_count = 2;

static struct {
    uintptr_t address;
    uint32_t length;
    uint32_t action;
} cache;

void fwgen_cache_clean(uintptr_t address, uint32_t length)
{
    cache.address = address;
    cache.length = length;
    cache.action = 1;
}

void fwgen_cache_invalidate(uintptr_t address, uint32_t length)
{
    cache.address = address;
    cache.length = length;
    cache.action = 2;
}

void fwgen_cpu_spin(uint32_t cycles)
{
    (void)cycles;
}

uint64_t fwgen_timer_read(void)
{
    return now;
}

void fwgen_host_write(volatile uint32_t *reg, uint32_t value)
{
    const uint32_t offset = (uint32_t)((uintptr_t)reg - (uintptr_t)window);

    if (log_count < LOG_MAX) {
        log_entries[log_count].offset = offset;
        log_entries[log_count].value = value;
        log_count++;
    }
    if (offset == 0x100cu) {
        window[offset / 4u] &= ~value; /* S_INTR_STATUS: ones clear */
    } else if (offset / 4u < WINDOW_WORDS) {
        window[offset / 4u] = value;
    }
    if (on_write != NULL) {
        on_write(offset, value);
    }
}

uint32_t fwgen_host_read(const volatile uint32_t *reg)
{
    return *reg;
}

TickType_t xTaskGetTickCount(void)
{
    return now;
}

uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks)
{
    (void)clear;
    now += on_wait != NULL ? on_wait(ticks) : ticks;
    return 0;
}

void vTaskDelay(TickType_t ticks)
{
    now += ticks;
    if (on_wait != NULL) {
        (void)on_wait(ticks);
    }
}

bool fwgen_engine_cancelled(const struct fwgen_engine *which)
{
    (void)which;
    return cancelled;
}

#if FWGEN_PIPELINE > 1
static uint32_t next_conditions;
static uint32_t asked;

uint32_t fwgen_engine_next(struct fwgen_engine *which)
{
    (void)which;
    asked++;
    return next_conditions;
}

/* What holds of the run, and what will hold when a next run is asked for. */
void harness_conditions(uint32_t now_holds, uint32_t with_next)
{
    engine.conditions = now_holds;
    next_conditions = with_next;
    asked = 0;
}

uint32_t harness_asked(void)
{
    return asked;
}

/* Which of the model's two programs is played. */
int harness_run_pipelined(const uint32_t *serial, const uint32_t *pipelined,
                          uint32_t words, bool which)
{
    struct fwgen_model model = fwgen_models[0];

    model.program = serial;
    model.program_words = words;
    model.pipelined = pipelined;
    model.pipelined_words = words;
    engine.pipelined = which;
    return (int)fwgen_execute(&engine, &model, now, portMAX_DELAY);
}
#endif

bool fwgen_board_accel_reset(uint32_t index)
{
    (void)index;
    if (board_can_reset) {
        resets++;
        memset(window, 0, sizeof(window));
        window[0x1000u / 4u] = 0x00303031u;
    }
    return board_can_reset;
}

/* ---- what the test calls ---- */

void harness_reset(void (*write)(uint32_t, uint32_t),
                   uint32_t (*wait)(uint32_t))
{
    on_write = write;
    on_wait = wait;
    memset(window, 0, sizeof(window));
    memset(program, 0, sizeof(program));
    memset(&engine, 0, sizeof(engine));
    window[0x1000u / 4u] = 0x00303031u;
    engine.hardware = &fwgen_accelerators[0];
    engine.wait_ticks = 100;
    log_count = 0;
    now = 0xfffffff0u; /* the tick counter wraps in most tests */
    cancelled = false;
    board_can_reset = false;
    resets = 0;
    kernel_count = 0;
}

/*
 * Runs `words` of `source`, copied to the end of a page that is followed by one
 * that cannot be read: reading beyond the program ends the test process.
 */
int harness_run(const uint32_t *source, uint32_t words, uint32_t timeout)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t size = (words * 4u + page - 1u) / page * page;
    uint8_t *memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct fwgen_model model = fwgen_models[0];
    int result;

    if (memory == MAP_FAILED || mprotect(memory + size, page, PROT_NONE) != 0) {
        return -1;
    }
    memcpy(memory + size - words * 4u, source, words * 4u);
    model.program = (const uint32_t *)(memory + size - words * 4u);
    model.program_words = words;
    result = (int)fwgen_execute(&engine, &model, now, timeout);
    munmap(memory, size + page);
    return result;
}

void harness_program(const uint32_t *source, uint32_t words)
{
    memcpy(program, source, words * 4u);
}

int harness_recover(void)
{
    return (int)fwgen_nvdla_driver.recover(&engine);
}

void harness_prepare(void)
{
    fwgen_nvdla_driver.prepare(&engine, &fwgen_models[0]);
}

/* As the interrupt handler does it. */
uint32_t harness_interrupt(void)
{
    const uint32_t bits = fwgen_nvdla_driver.interrupt(&engine);

    engine.status |= bits;
    return bits;
}

void harness_deliver(uint32_t bits)
{
    engine.status |= bits;
}

uint32_t harness_get(uint32_t what)
{
    switch (what) {
    case 0:
        return engine.operation;
    case 1:
        return engine.parity;
    case 2:
        return engine.status;
    case 3:
        return log_count;
    case 4:
        return now;
    case 5:
        return kernel_count;
    case 6:
        return cache.action;
    case 7:
        return (uint32_t)cache.address;
    case 8:
        return cache.length;
    case 9:
        return resets;
    default:
        return 0;
    }
}

uint32_t harness_argument(uint32_t index)
{
    return kernel_arguments[index];
}

void harness_cancel(void)
{
    cancelled = true;
}

void harness_allow_reset(void)
{
    board_can_reset = true;
}

void harness_set(uint32_t offset, uint32_t value)
{
    window[offset / 4u] = value;
}

uint32_t harness_read(uint32_t offset)
{
    return window[offset / 4u];
}

const struct access *harness_log(void)
{
    return log_entries;
}
