/*
 * nvdla.c - driver of NVDLA: identity, interrupt, recovery.
 *
 * Facts from the NVDLA register manual (nv_small ... nv_large address map):
 * GLB holds the version and the interrupt registers. A done event sets its
 * bit in S_INTR_STATUS whether masked or not; writing ones clears; the line is
 * high while an unmasked bit is set. A unit with register groups works through
 * them strictly alternately: S_POINTER bit 16 (CONSUMER) tells which is next,
 * and S_STATUS, the word before S_POINTER, is 0 when neither group is busy.
 *
 * NVDLA has no software reset, and an armed operation cannot be taken back.
 * Recovery is therefore: the SoC's reset where the board has one, else wait
 * until the units are idle; in both cases the parity word is read back from
 * the CONSUMER bits. The pointer registers are those that the programs name in
 * their GROUP commands, so this file needs no list of units.
 */
#include "fwgen_cpu.h"
#include "fwgen_driver.h"

#define GLB_HW_VERSION 0x1000u
#define GLB_INTR_MASK 0x1004u
#define GLB_INTR_STATUS 0x100cu

#define POINTER_CONSUMER_SHIFT 16u

/* Done bits of CDMA (data, weights) and CACC. The units of the convolution
 * start and end together, so a program need not name a pointer for each. */
#define PAIR_CDMA_DATA 8u
#define PAIR_CDMA_WEIGHT 9u
#define PAIR_CACC 10u

static volatile uint32_t *glb(const struct fwgen_engine *engine,
                              uint32_t offset)
{
    return fwgen_reg(engine->hardware->base, offset);
}

static uint32_t nvdla_interrupt(struct fwgen_engine *engine)
{
    volatile uint32_t *status = glb(engine, GLB_INTR_STATUS);
    const uint32_t bits = fwgen_reg_read(status);

    fwgen_reg_write(status, bits);
    /* The line must have fallen before the exception returns. */
    fwgen_cpu_barrier();
    return bits;
}

static void forget_interrupts(struct fwgen_engine *engine)
{
    taskENTER_CRITICAL();
    (void)nvdla_interrupt(engine);
    engine->status = 0;
    taskEXIT_CRITICAL();
}

static void nvdla_prepare(struct fwgen_engine *engine,
                          const struct fwgen_model *model)
{
    fwgen_reg_write(glb(engine, GLB_INTR_MASK), ~model->interrupt_mask);
    forget_interrupts(engine);
}

/* What recovery found so far, bit 2n for pair n as in engine->parity. */
struct pointers {
    uint32_t seen;
    uint32_t parity;
};

/*
 * Reads the unit whose pointer register is `pointer`; false when it is busy
 * for longer than the default timeout, or disagrees with a unit of its pair.
 */
static bool read_pointer(const struct fwgen_engine *engine, uint32_t offset,
                         uint32_t bit, TickType_t begin, struct pointers *found)
{
    volatile uint32_t *pointer = glb(engine, offset);
    uint32_t parity;

    while (fwgen_reg_read(pointer - 1) != 0u) {
        if (xTaskGetTickCount() - begin >= engine->wait_ticks) {
            return false;
        }
        vTaskDelay(1);
    }
    parity = ((fwgen_reg_read(pointer) >> POINTER_CONSUMER_SHIFT) & 1u) *
             (1u << bit);
    if ((found->seen & (1u << bit)) != 0u) {
        return ((found->parity >> bit) & 1u) == (parity >> bit);
    }
    found->seen |= 1u << bit;
    found->parity |= parity;
    return true;
}

/* Visits the pointers of all GROUP commands of a program. */
static bool read_pointers(const struct fwgen_engine *engine,
                          const struct fwgen_model *model, TickType_t begin,
                          struct pointers *found)
{
    const uint32_t *word = model->program;
    const uint32_t *const end = word + model->program_words;
    uint32_t size;

    while (word < end && (size = fwgen_command_words(*word)) != 0u) {
        if (FWGEN_COMMAND_OP(*word) == FWGEN_OP_GROUP &&
            !read_pointer(engine, FWGEN_COMMAND_LOW(*word) << 2,
                          FWGEN_COMMAND_SMALL(*word) & 0x1eu, begin, found)) {
            return false;
        }
        if (size > (uint32_t)(end - word)) {
            break;
        }
        word += size;
    }
    return true;
}

static enum fwgen_result nvdla_recover(struct fwgen_engine *engine)
{
    const uint32_t index = (uint32_t)(engine->hardware - fwgen_accelerators);
    const uint32_t expected = engine->hardware->identity;
    const TickType_t begin = xTaskGetTickCount();
    const uint32_t cdma =
        (1u << (2u * PAIR_CDMA_DATA)) | (1u << (2u * PAIR_CDMA_WEIGHT));
    const uint32_t cacc = 1u << (2u * PAIR_CACC);
    struct pointers found = {0, 0};
    uint32_t version;

    if (fwgen_board_accel_reset(index)) {
        engine->parity = 0;
    }
    version = fwgen_reg_read(glb(engine, GLB_HW_VERSION));
    if (version == 0u || (expected != 0u && version != expected)) {
        return FWGEN_ERROR_DEVICE;
    }
    fwgen_reg_write(glb(engine, GLB_INTR_MASK), 0xffffffffu);
    for (uint32_t i = 0; i < fwgen_model_count; i++) {
        if (fwgen_models[i].accelerator == index &&
            !read_pointers(engine, &fwgen_models[i], begin, &found)) {
            return FWGEN_ERROR_DEVICE;
        }
    }
    if ((found.seen & cacc) != 0u) {
        if ((found.parity & cacc) != 0u) {
            found.parity |= cdma & ~found.seen;
        }
        found.seen |= cdma;
    }
    engine->parity = (engine->parity & ~found.seen) | found.parity;
    forget_interrupts(engine);
    return FWGEN_OK;
}

const struct fwgen_accel_driver fwgen_nvdla_driver = {
    .recover = nvdla_recover,
    .prepare = nvdla_prepare,
    .interrupt = nvdla_interrupt,
};
