/*
 * bdma.c - the bridge DMA: copies between and within the two memories.
 *
 * Facts: register manual and the order in which NVIDIA's firmware uses the
 * block. There are no register groups. CFG_* describe a transfer of
 * (SURF_REPEAT + 1) surfaces of (LINE_REPEAT + 1) lines of (LINE + 1) * 32
 * bytes; writing CFG_OP.EN = 1 stores it in one of 20 slots. CFG_LAUNCHn makes
 * a group of all that was stored since the last launch and runs it; when all
 * of it is done, interrupt bit BDMA n rises.
 *
 * Where the manual leaves a choice, it is made here:
 * - STATUS.FREE_SLOT counts the slots of a group as taken until the whole
 *   group is done. IDLE is 1 while no group is busy; a group is busy from its
 *   launch on. Groups run in the order of their launches, one at a time.
 * - Storing without a free slot and launching a busy group are guest errors
 *   and dropped. Launching nothing is a guest error and done at once.
 * - Lines are copied one after the other in ascending order, each read whole
 *   before it is written: that decides what overlapping transfers give.
 * - Strides wrap in 64 bits like addresses and may be smaller than a line.
 * - The stall counters read 0.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "units.h"

/* Words of a transfer, in the order of the registers. */
enum {
    SRC_LOW,
    SRC_HIGH,
    DST_LOW,
    DST_HIGH,
    LINE,
    CMD,
    LINE_REPEAT,
    SRC_LINE,
    DST_LINE,
    SURF_REPEAT,
    SRC_SURF,
    DST_SURF,
};

_Static_assert(DST_SURF + 1 == BDMA_WORDS, "one word per register");

static unsigned free_slots(const struct accel_model *model)
{
    unsigned taken = model->bdma_open.count;

    for (unsigned group = 0; group < 2; group++) {
        if (model->bdma_busy[group]) {
            taken += model->bdma_group[group].count;
        }
    }
    return BDMA_SLOTS - taken;
}

void nvdla_bdma_store(struct accel_model *model)
{
    struct nvdla_transfers *open = &model->bdma_open;

    if (free_slots(model) == 0) {
        nvdla_guest_error(model, "write of 1 to BDMA.CFG_OP: no slot is free, "
                                 "the transfer is dropped");
        return;
    }
    for (unsigned i = 0; i < BDMA_WORDS; i++) {
        open->words[open->count][i] = model->regs[0][BLOCK_BDMA][i];
    }
    open->count++;
}

void nvdla_bdma_launch(struct accel_model *model, unsigned group)
{
    if (model->bdma_busy[group]) {
        nvdla_guest_error(
            model, "write of 1 to BDMA.CFG_LAUNCH%u: the group is busy", group);
        return;
    }
    if (model->bdma_open.count == 0) {
        nvdla_guest_error(model,
                          "write of 1 to BDMA.CFG_LAUNCH%u: no transfer is "
                          "stored",
                          group);
    }
    if (!model->bdma_busy[group ^ 1u]) {
        model->bdma_next = (uint8_t)group;
    }
    model->bdma_group[group] = model->bdma_open;
    model->bdma_open.count = 0;
    model->bdma_busy[group] = true;
    nvdla_launch_ready(model);
}

uint32_t nvdla_bdma_status(const struct accel_model *model)
{
    uint32_t busy = (model->bdma_busy[0] ? 1u << 9 : 0u) |
                    (model->bdma_busy[1] ? 1u << 10 : 0u);

    return free_slots(model) | (busy == 0 ? 1u << 8 : 0u) | busy;
}

static bool select_space(struct nvdla_job *job, struct nvdla_port *port,
                         bool main_memory, const char *field)
{
    port->space = main_memory ? ACCEL_DRAM : ACCEL_SRAM;
    if (!main_memory && !job->config->has_sram) {
        nvdla_job_error(job,
                        "BDMA.CFG_CMD.%s = 0: this configuration has no "
                        "CVSRAM port",
                        field);
        return false;
    }
    return true;
}

static bool copy(struct nvdla_job *job, const uint32_t *words, uint8_t *line)
{
    uint64_t bytes = ((uint64_t)words[LINE] + 1u) * 32u;
    uint64_t lines = (uint64_t)words[LINE_REPEAT] + 1u;
    uint64_t surfaces = (uint64_t)words[SURF_REPEAT] + 1u;
    struct nvdla_port from = {.name = "BDMA.CFG_SRC_ADDR_LOW"};
    struct nvdla_port to = {.name = "BDMA.CFG_DST_ADDR_LOW"};

    if (lines > job->max_elements / bytes ||
        surfaces > job->max_elements / (bytes * lines)) {
        nvdla_job_error(job,
                        "BDMA.CFG_LINE_REPEAT and CFG_SURF_REPEAT: %" PRIu64
                        " by %" PRIu64 " lines of %" PRIu64
                        " bytes are more than is emulated",
                        surfaces, lines, bytes);
        return false;
    }
    if (!select_space(job, &from, (words[CMD] & 1u) != 0, "SRC_RAM_TYPE") ||
        !select_space(job, &to, (words[CMD] & 2u) != 0, "DST_RAM_TYPE")) {
        return false;
    }
    from.base = (uint64_t)words[SRC_HIGH] << 32 | words[SRC_LOW];
    to.base = (uint64_t)words[DST_HIGH] << 32 | words[DST_LOW];
    for (uint64_t surface = 0; surface < surfaces; surface++) {
        for (uint64_t y = 0; y < lines; y++) {
            if (!nvdla_dma_read(job, &from,
                                surface * words[SRC_SURF] + y * words[SRC_LINE],
                                line, (size_t)bytes) ||
                !nvdla_dma_write(
                    job, &to, surface * words[DST_SURF] + y * words[DST_LINE],
                    line, (size_t)bytes)) {
                return false;
            }
        }
    }
    return true;
}

bool nvdla_bdma_run(struct nvdla_job *job)
{
    uint8_t *line = nvdla_job_allocate(job, 8192u * 32u);
    bool ok = line != NULL;

    for (unsigned i = 0; ok && i < job->transfers.count; i++) {
        ok = copy(job, job->transfers.words[i], line);
    }
    free(line);
    return ok;
}
