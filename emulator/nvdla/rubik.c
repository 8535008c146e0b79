/*
 * rubik.c - the data reshape engine, int8.
 *
 * Facts: register manual and the values that NVIDIA's firmware writes.
 *   contract (0)  the end of a deconvolution. The input has a group of
 *                 surfaces per output phase, CONTRACT_STRIDE_0 apart; phase
 *                 (dy, dx) is group dy * (X stride) + dx. Pixel (x, y) of the
 *                 group goes to (x * X stride + dx, y * Y stride + dy).
 *                 CONTRACT_STRIDE_1 is the distance of Y stride output lines.
 *   split (1)     feature cube to planes, one byte a pixel
 *   merge (2)     planes to a feature cube
 *
 * Where the manual leaves a choice, it is made here:
 * - contract moves whole atoms: ceil(DATAOUT_CHANNEL / atom) surfaces a group.
 *   The output is as large as the input's size times the strides.
 * - split and merge take the channels of DATAIN_CHANNEL; another
 *   DATAOUT_CHANNEL is a guest error. A plane's line is exactly the width:
 *   nothing is padded. merge fills channels beyond the last with 0.
 * - Mode 3 and types other than int8 are refused.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

enum { CONTRACT, SPLIT, MERGE };

struct rubik {
    struct nvdla_job *job;
    struct nvdla_port from, to;
    uint32_t width, height, channels, surfaces, atom;
    uint64_t plane; /* distance of planes */
};

static uint32_t word(const struct nvdla_job *job, uint32_t offset)
{
    return job->regs[job_block(BLOCK_RBK)][(offset & 0xfffu) >> 2];
}

uint64_t nvdla_rubik_target(const struct nvdla_job *job)
{
    return (uint64_t)word(job, RBK_D_DAOUT_ADDR_HIGH) << 32 |
           word(job, RBK_D_DAOUT_ADDR_LOW);
}

/* Surfaces of a cube line: byte c of pixel x goes to plane c, or back. */
static void transpose(const struct rubik *rubik, uint8_t *atoms,
                      uint8_t *planes, uint32_t used, bool to_planes)
{
    for (uint32_t c = 0; c < used; c++) {
        for (uint32_t x = 0; x < rubik->width; x++) {
            uint8_t *atom = &atoms[(size_t)x * rubik->atom + c];
            uint8_t *plane = &planes[(size_t)c * rubik->width + x];

            if (to_planes) {
                *plane = *atom;
            } else {
                *atom = *plane;
            }
        }
    }
}

static bool move_planes(const struct rubik *rubik, uint8_t *atoms,
                        uint8_t *planes, bool to_planes)
{
    const struct nvdla_port *cube = to_planes ? &rubik->from : &rubik->to;
    const struct nvdla_port *flat = to_planes ? &rubik->to : &rubik->from;
    size_t size = (size_t)rubik->width * rubik->atom;

    memset(atoms, 0, size);
    for (uint32_t surface = 0; surface < rubik->surfaces; surface++) {
        uint32_t first = surface * rubik->atom;
        uint32_t left = rubik->channels - first;
        uint32_t used = left < rubik->atom ? left : rubik->atom;

        for (uint32_t y = 0; y < rubik->height; y++) {
            uint64_t at = surface * cube->surface + y * cube->line;

            if (to_planes) {
                if (!nvdla_dma_read(rubik->job, cube, at, atoms, size)) {
                    return false;
                }
                transpose(rubik, atoms, planes, used, true);
            }
            for (uint32_t c = 0; c < used; c++) {
                uint64_t line = (first + c) * rubik->plane + y * flat->line;
                uint8_t *row = planes + (size_t)c * rubik->width;

                if (!(to_planes ? nvdla_dma_write(rubik->job, flat, line, row,
                                                  rubik->width)
                                : nvdla_dma_read(rubik->job, flat, line, row,
                                                 rubik->width))) {
                    return false;
                }
            }
            if (!to_planes) {
                if (used < rubik->atom) {
                    memset(atoms, 0, size);
                }
                transpose(rubik, atoms, planes, used, false);
                if (!nvdla_dma_write(rubik->job, cube, at, atoms, size)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* One output line: the phases of a row side by side. */
static bool contract_line(const struct rubik *rubik, uint32_t surface,
                          uint32_t y, uint32_t dy, uint8_t *in, uint8_t *out)
{
    struct nvdla_job *job = rubik->job;
    uint32_t across = job_count(job, RBK_D_DECONV_STRIDE__DECONV_X_STRIDE);
    uint64_t group = word(job, RBK_D_CONTRACT_STRIDE_0);
    uint64_t lines = word(job, RBK_D_CONTRACT_STRIDE_1);
    size_t size = (size_t)rubik->width * rubik->atom;

    for (uint32_t dx = 0; dx < across; dx++) {
        uint64_t from = ((uint64_t)dy * across + dx) * group +
                        surface * rubik->from.surface + y * rubik->from.line;

        if (!nvdla_dma_read(job, &rubik->from, from, in, size)) {
            return false;
        }
        for (size_t x = 0; x < rubik->width; x++) {
            memcpy(out + (x * across + dx) * rubik->atom, in + x * rubik->atom,
                   rubik->atom);
        }
    }
    return nvdla_dma_write(job, &rubik->to,
                           surface * rubik->to.surface + y * lines +
                               dy * rubik->to.line,
                           out, size * across);
}

static bool contract(const struct rubik *rubik, uint8_t *in, uint8_t *out)
{
    uint32_t down = job_count(rubik->job, RBK_D_DECONV_STRIDE__DECONV_Y_STRIDE);

    for (uint32_t surface = 0; surface < rubik->surfaces; surface++) {
        for (uint32_t y = 0; y < rubik->height; y++) {
            for (uint32_t dy = 0; dy < down; dy++) {
                if (!contract_line(rubik, surface, y, dy, in, out)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool check(const struct rubik *rubik, unsigned mode, uint64_t phases)
{
    struct nvdla_job *job = rubik->job;
    uint64_t elements =
        (uint64_t)rubik->surfaces * rubik->atom * rubik->width * rubik->height;

    if (mode > MERGE) {
        nvdla_job_reject(job, RBK_D_MISC_CFG__RUBIK_MODE, "reserved");
        return false;
    }
    if (job_field(job, RBK_D_MISC_CFG__IN_PRECISION) != 0) {
        nvdla_job_reject(job, RBK_D_MISC_CFG__IN_PRECISION,
                         "only int8 is modelled");
        return false;
    }
    if (elements > job->max_elements / phases) {
        nvdla_job_error(job,
                        "RBK.D_DATAIN_SIZE_0: %" PRIu64
                        " elements are more than is emulated",
                        elements * phases);
        return false;
    }
    if (mode != CONTRACT &&
        job_field(job, RBK_D_DATAOUT_SIZE_1__DATAOUT_CHANNEL) + 1u !=
            rubik->channels) {
        nvdla_job_reject(job, RBK_D_DATAOUT_SIZE_1__DATAOUT_CHANNEL,
                         "the input has another number of channels");
    }
    return true;
}

bool nvdla_rubik_run(struct nvdla_job *job)
{
    struct rubik rubik = {.job = job, .atom = job->config->atom};
    unsigned mode = job_field(job, RBK_D_MISC_CFG__RUBIK_MODE);
    uint32_t across = 1;
    uint32_t down = 1;
    uint8_t *first;
    uint8_t *second;
    bool ok = false;

    rubik.width = job_count(job, RBK_D_DATAIN_SIZE_0__DATAIN_WIDTH);
    rubik.height = job_count(job, RBK_D_DATAIN_SIZE_0__DATAIN_HEIGHT);
    rubik.channels = job_count(job, RBK_D_DATAIN_SIZE_1__DATAIN_CHANNEL);
    if (mode == CONTRACT) {
        rubik.channels = job_count(job, RBK_D_DATAOUT_SIZE_1__DATAOUT_CHANNEL);
        across = job_count(job, RBK_D_DECONV_STRIDE__DECONV_X_STRIDE);
        down = job_count(job, RBK_D_DECONV_STRIDE__DECONV_Y_STRIDE);
    }
    rubik.surfaces = (rubik.channels + rubik.atom - 1u) / rubik.atom;
    rubik.from = (struct nvdla_port){
        .name = "RBK.D_DAIN_ADDR_LOW",
        .base = (uint64_t)word(job, RBK_D_DAIN_ADDR_HIGH) << 32 |
                word(job, RBK_D_DAIN_ADDR_LOW),
        .line = word(job, RBK_D_DAIN_LINE_STRIDE),
        .surface = word(job, RBK_D_DAIN_SURF_STRIDE),
    };
    rubik.to = (struct nvdla_port){
        .name = "RBK.D_DAOUT_ADDR_LOW",
        .base = nvdla_rubik_target(job),
        .line = word(job, RBK_D_DAOUT_LINE_STRIDE),
        .surface = word(job, RBK_D_DAOUT_SURF_STRIDE),
    };
    rubik.plane = word(job, mode == SPLIT ? RBK_D_DAOUT_PLANAR_STRIDE
                                          : RBK_D_DAIN_PLANAR_STRIDE);
    if (!check(&rubik, mode, (uint64_t)across * down) ||
        !nvdla_port_select(job, &rubik.from,
                           RBK_D_DAIN_RAM_TYPE__DATAIN_RAM_TYPE) ||
        !nvdla_port_select(job, &rubik.to,
                           RBK_D_DAOUT_RAM_TYPE__DATAOUT_RAM_TYPE)) {
        return false;
    }
    first = nvdla_job_allocate(job, (uint64_t)rubik.width * rubik.atom);
    second =
        nvdla_job_allocate(job, (uint64_t)rubik.width * rubik.atom * across);
    if (first != NULL && second != NULL) {
        ok = mode == CONTRACT
                 ? contract(&rubik, first, second)
                 : move_planes(&rubik, first, second, mode == SPLIT);
    }
    free(first);
    free(second);
    return ok;
}
