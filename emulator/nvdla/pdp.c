/*
 * pdp.c - the planar data processor: pooling.
 *
 * Maximum and minimum ignore padding. Average: the sum of the valid values,
 * plus rows_valid * T[columns missing] + kernel width * T[rows missing], where
 * T[n] is the 19-bit signed PAD_VALUE_nX (the table holds n * value, T[0] is
 * 0); kept in 16 bits; then RS(RS(sum * RECIP_WIDTH, 16) * RECIP_HEIGHT, 16)
 * of which the low 8 bits are stored.
 *
 * Split width (SPLIT_NUM + 1 parts FIRST, MID ..., LAST): part i > 0 starts
 * kernel width - stride columns early; left padding belongs to the first part
 * and right padding to the last. All channels of the last atom are pooled.
 *
 * A window without any valid value, and one with more than 7 missing rows or
 * columns, is a guest error: the hardware has no table entry for it.
 */
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "units.h"

enum { METHOD_AVERAGE, METHOD_MAX, METHOD_MIN };

#define MAX_ATOM 32u

struct pdp {
    struct nvdla_job *job;
    uint32_t width, height, surfaces;
    uint32_t out_width, out_height;
    uint32_t kernel_width, kernel_height, stride_x, stride_y;
    uint32_t pad_left, pad_top;
    unsigned method;
    int64_t recip_width, recip_height;
    int64_t pad_table[8];
    struct nvdla_port source, target;
    uint8_t *surface; /* one surface of the input when it is in memory */
    int8_t *line;     /* one output line */
};

/* A range of columns pooled on its own. */
struct part {
    int64_t in_first, in_width;
    uint32_t out_first, out_width;
    uint32_t pad_left;
};

static bool refuse_modes(struct nvdla_job *job, bool from_memory)
{
    if (job_field(job, PDP_D_DATA_FORMAT__INPUT_DATA) != 0) {
        nvdla_job_reject(job, PDP_D_DATA_FORMAT__INPUT_DATA,
                         "only int8 is modelled");
        return false;
    }
    if (job_field(job, PDP_D_OPERATION_MODE_CFG__POOLING_METHOD) > METHOD_MIN) {
        nvdla_job_reject(job, PDP_D_OPERATION_MODE_CFG__POOLING_METHOD,
                         "reserved; average, max and min are 0, 1 and 2");
        return false;
    }
    if (job_field(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_WIDTH) > 7) {
        nvdla_job_reject(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_WIDTH,
                         "a kernel has at most 8 columns");
        return false;
    }
    if (job_field(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_HEIGHT) > 7) {
        nvdla_job_reject(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_HEIGHT,
                         "a kernel has at most 8 rows");
        return false;
    }
    if (from_memory) {
        if (job_field(job, PDP_RDMA_D_DATA_FORMAT__INPUT_DATA) != 0) {
            nvdla_job_reject(job, PDP_RDMA_D_DATA_FORMAT__INPUT_DATA,
                             "only int8 is modelled");
            return false;
        }
    } else if (job_field(job, PDP_D_OPERATION_MODE_CFG__SPLIT_NUM) != 0) {
        nvdla_job_reject(job, PDP_D_OPERATION_MODE_CFG__SPLIT_NUM,
                         "no split of data that comes from SDP");
        return false;
    }
    return true;
}

/* RDMA repeats much of what PDP is told. */
static void check_copies(struct nvdla_job *job)
{
    static const uint32_t pairs[][2] = {
        {PDP_D_DATA_CUBE_IN_WIDTH__CUBE_IN_WIDTH,
         PDP_RDMA_D_DATA_CUBE_IN_WIDTH__CUBE_IN_WIDTH},
        {PDP_D_DATA_CUBE_IN_HEIGHT__CUBE_IN_HEIGHT,
         PDP_RDMA_D_DATA_CUBE_IN_HEIGHT__CUBE_IN_HEIGHT},
        {PDP_D_DATA_CUBE_IN_CHANNEL__CUBE_IN_CHANNEL,
         PDP_RDMA_D_DATA_CUBE_IN_CHANNEL__CUBE_IN_CHANNEL},
        {PDP_D_OPERATION_MODE_CFG__SPLIT_NUM,
         PDP_RDMA_D_OPERATION_MODE_CFG__SPLIT_NUM},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (job_field(job, pairs[i][0]) != job_field(job, pairs[i][1])) {
            nvdla_job_reject(job, pairs[i][1], "PDP has another value");
        }
    }
}

static bool open_target(struct pdp *pdp)
{
    struct nvdla_job *job = pdp->job;

    pdp->target = nvdla_job_output(job);
    pdp->target.name = "PDP.D_DST_BASE_ADDR_LOW";
    pdp->target.line = job_field(job, PDP_D_DST_LINE_STRIDE__DST_LINE_STRIDE);
    pdp->target.surface =
        job_field(job, PDP_D_DST_SURFACE_STRIDE__DST_SURFACE_STRIDE);
    return nvdla_port_select(job, &pdp->target,
                             PDP_D_DST_RAM_CFG__DST_RAM_TYPE);
}

static bool open_source(struct pdp *pdp)
{
    struct nvdla_job *job = pdp->job;

    pdp->source.name = "PDP_RDMA.D_SRC_BASE_ADDR_LOW";
    pdp->source.base =
        job_address(job, PDP_RDMA_D_SRC_BASE_ADDR_HIGH__SRC_BASE_ADDR_HIGH,
                    PDP_RDMA_D_SRC_BASE_ADDR_LOW__SRC_BASE_ADDR_LOW);
    pdp->source.line =
        job_field(job, PDP_RDMA_D_SRC_LINE_STRIDE__SRC_LINE_STRIDE);
    pdp->source.surface =
        job_field(job, PDP_RDMA_D_SRC_SURFACE_STRIDE__SRC_SURFACE_STRIDE);
    if (!nvdla_port_select(job, &pdp->source,
                           PDP_RDMA_D_SRC_RAM_CFG__SRC_RAM_TYPE)) {
        return false;
    }
    pdp->surface = nvdla_job_allocate(job, (uint64_t)pdp->width * pdp->height *
                                               job->config->atom);
    return pdp->surface != NULL;
}

static void read_registers(struct pdp *pdp)
{
    static const uint32_t table[7] = {
        PDP_D_POOLING_PADDING_VALUE_1_CFG__PAD_VALUE_1X,
        PDP_D_POOLING_PADDING_VALUE_2_CFG__PAD_VALUE_2X,
        PDP_D_POOLING_PADDING_VALUE_3_CFG__PAD_VALUE_3X,
        PDP_D_POOLING_PADDING_VALUE_4_CFG__PAD_VALUE_4X,
        PDP_D_POOLING_PADDING_VALUE_5_CFG__PAD_VALUE_5X,
        PDP_D_POOLING_PADDING_VALUE_6_CFG__PAD_VALUE_6X,
        PDP_D_POOLING_PADDING_VALUE_7_CFG__PAD_VALUE_7X,
    };
    struct nvdla_job *job = pdp->job;
    uint32_t atom = job->config->atom;

    pdp->width = job_count(job, PDP_D_DATA_CUBE_IN_WIDTH__CUBE_IN_WIDTH);
    pdp->height = job_count(job, PDP_D_DATA_CUBE_IN_HEIGHT__CUBE_IN_HEIGHT);
    pdp->surfaces =
        (job_count(job, PDP_D_DATA_CUBE_IN_CHANNEL__CUBE_IN_CHANNEL) + atom -
         1u) /
        atom;
    pdp->out_width = job_count(job, PDP_D_DATA_CUBE_OUT_WIDTH__CUBE_OUT_WIDTH);
    pdp->out_height =
        job_count(job, PDP_D_DATA_CUBE_OUT_HEIGHT__CUBE_OUT_HEIGHT);
    pdp->kernel_width = job_count(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_WIDTH);
    pdp->kernel_height =
        job_count(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_HEIGHT);
    pdp->stride_x =
        job_count(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_STRIDE_WIDTH);
    pdp->stride_y =
        job_count(job, PDP_D_POOLING_KERNEL_CFG__KERNEL_STRIDE_HEIGHT);
    pdp->pad_left = job_field(job, PDP_D_POOLING_PADDING_CFG__PAD_LEFT);
    pdp->pad_top = job_field(job, PDP_D_POOLING_PADDING_CFG__PAD_TOP);
    pdp->method = job_field(job, PDP_D_OPERATION_MODE_CFG__POOLING_METHOD);
    pdp->recip_width =
        job_field(job, PDP_D_RECIP_KERNEL_WIDTH__RECIP_KERNEL_WIDTH);
    pdp->recip_height =
        job_field(job, PDP_D_RECIP_KERNEL_HEIGHT__RECIP_KERNEL_HEIGHT);
    for (unsigned n = 1; n < 8; n++) {
        pdp->pad_table[n] =
            nvdla_sign_extend(job_field(job, table[n - 1u]), 19);
    }
}

static struct part part_of(const struct pdp *pdp, uint32_t index)
{
    struct nvdla_job *job = pdp->job;
    uint32_t last = job_field(job, PDP_D_OPERATION_MODE_CFG__SPLIT_NUM);
    int64_t overlap = (int64_t)pdp->kernel_width - pdp->stride_x;
    int64_t first =
        job_count(job, PDP_D_PARTIAL_WIDTH_IN__PARTIAL_WIDTH_IN_FIRST);
    int64_t mid = job_count(job, PDP_D_PARTIAL_WIDTH_IN__PARTIAL_WIDTH_IN_MID);
    uint32_t out_first =
        job_count(job, PDP_D_PARTIAL_WIDTH_OUT__PARTIAL_WIDTH_OUT_FIRST);
    uint32_t out_mid =
        job_count(job, PDP_D_PARTIAL_WIDTH_OUT__PARTIAL_WIDTH_OUT_MID);
    struct part part;

    if (last == 0) {
        return (struct part){0, pdp->width, 0, pdp->out_width, pdp->pad_left};
    }
    if (index == 0) {
        return (struct part){0, first, 0, out_first, pdp->pad_left};
    }
    part.in_first = first + (int64_t)(index - 1u) * mid - overlap;
    part.in_width =
        overlap + (index == last
                       ? (int64_t)job_count(
                             job, PDP_D_PARTIAL_WIDTH_IN__PARTIAL_WIDTH_IN_LAST)
                       : mid);
    part.out_first = out_first + (index - 1u) * out_mid;
    part.out_width =
        index == last
            ? job_count(job, PDP_D_PARTIAL_WIDTH_OUT__PARTIAL_WIDTH_OUT_LAST)
            : out_mid;
    part.pad_left = 0;
    return part;
}

/* Parts inside the cube, both ways. */
static bool check_parts(struct pdp *pdp)
{
    struct nvdla_job *job = pdp->job;
    uint32_t last = job_field(job, PDP_D_OPERATION_MODE_CFG__SPLIT_NUM);

    for (uint32_t i = 0; i <= last; i++) {
        struct part part = part_of(pdp, i);

        if (part.in_first < 0 || part.in_width < 1 ||
            part.in_first + part.in_width > pdp->width) {
            nvdla_job_error(job,
                            "PDP.D_PARTIAL_WIDTH_IN: part %u is not inside "
                            "the %u columns of the cube",
                            (unsigned)i, (unsigned)pdp->width);
            return false;
        }
        if (part.out_first + part.out_width > pdp->out_width) {
            nvdla_job_error(job,
                            "PDP.D_PARTIAL_WIDTH_OUT: part %u is not inside "
                            "the %u columns of the output",
                            (unsigned)i, (unsigned)pdp->out_width);
            return false;
        }
    }
    return true;
}

static bool check_work(struct pdp *pdp)
{
    struct nvdla_job *job = pdp->job;
    uint64_t atom = job->config->atom;
    uint64_t work = (uint64_t)pdp->out_width * pdp->out_height * pdp->surfaces *
                        atom * pdp->kernel_width * pdp->kernel_height +
                    (uint64_t)pdp->width * pdp->height * pdp->surfaces * atom;

    if (work > job->max_elements * 8u) {
        nvdla_job_error(job, "PDP.D_DATA_CUBE_*: the operation is larger than "
                             "is emulated");
        return false;
    }
    return true;
}

static bool read_surface(struct pdp *pdp, uint32_t surface)
{
    size_t line = (size_t)pdp->width * pdp->job->config->atom;

    for (uint32_t y = 0; y < pdp->height; y++) {
        if (!nvdla_dma_read(pdp->job, &pdp->source,
                            (uint64_t)surface * pdp->source.surface +
                                (uint64_t)y * pdp->source.line,
                            pdp->surface + y * line, line)) {
            return false;
        }
    }
    return true;
}

/* The part of a window that is not padding. */
struct window {
    int64_t x0, x1, y0, y1; /* valid columns and rows, x1 and y1 excluded */
    unsigned columns_missing, rows_missing;
};

static bool find_window(struct pdp *pdp, const struct part *part, uint32_t ox,
                        uint32_t oy, struct window *window)
{
    int64_t left = (int64_t)ox * pdp->stride_x - part->pad_left;
    int64_t top = (int64_t)oy * pdp->stride_y - pdp->pad_top;
    int64_t right = left + pdp->kernel_width;
    int64_t bottom = top + pdp->kernel_height;

    window->x0 = left > 0 ? left : 0;
    window->x1 = right < part->in_width ? right : part->in_width;
    window->y0 = top > 0 ? top : 0;
    window->y1 = bottom < pdp->height ? bottom : pdp->height;
    if (window->x0 >= window->x1 || window->y0 >= window->y1) {
        nvdla_job_error(pdp->job,
                        "PDP.D_DATA_CUBE_OUT_*: the window of output column "
                        "%u, row %u lies in padding",
                        (unsigned)(part->out_first + ox), (unsigned)oy);
        return false;
    }
    window->columns_missing =
        pdp->kernel_width - (unsigned)(window->x1 - window->x0);
    window->rows_missing =
        pdp->kernel_height - (unsigned)(window->y1 - window->y0);
    window->x0 += part->in_first;
    window->x1 += part->in_first;
    return true;
}

static void average(const struct pdp *pdp, const struct window *window,
                    const int32_t *sums, int8_t *out)
{
    int64_t padding =
        (window->y1 - window->y0) * pdp->pad_table[window->columns_missing] +
        (int64_t)pdp->kernel_width * pdp->pad_table[window->rows_missing];

    for (uint32_t c = 0; c < pdp->job->config->atom; c++) {
        int64_t sum =
            nvdla_sign_extend((uint32_t)(uint64_t)(sums[c] + padding), 16);
        int64_t scaled = nvdla_round_shift(
            nvdla_round_shift(sum * pdp->recip_width, 16) * pdp->recip_height,
            16);

        out[c] = (int8_t)nvdla_sign_extend((uint32_t)(uint64_t)scaled, 8);
    }
}

/* One output pixel, all channels of the atom. */
static void pool(const struct pdp *pdp, const struct window *window,
                 const int8_t *surface, int8_t *out)
{
    uint32_t atom = pdp->job->config->atom;
    int32_t values[MAX_ATOM];

    for (uint32_t c = 0; c < atom; c++) {
        values[c] = pdp->method == METHOD_MAX   ? INT8_MIN
                    : pdp->method == METHOD_MIN ? INT8_MAX
                                                : 0;
    }
    for (int64_t y = window->y0; y < window->y1; y++) {
        for (int64_t x = window->x0; x < window->x1; x++) {
            const int8_t *pixel =
                surface + ((size_t)y * pdp->width + (size_t)x) * atom;

            for (uint32_t c = 0; c < atom; c++) {
                int32_t value = pixel[c];

                if (pdp->method == METHOD_AVERAGE) {
                    values[c] += value;
                } else if (pdp->method == METHOD_MAX) {
                    values[c] = values[c] > value ? values[c] : value;
                } else {
                    values[c] = values[c] < value ? values[c] : value;
                }
            }
        }
    }
    if (pdp->method == METHOD_AVERAGE) {
        average(pdp, window, values, out);
        return;
    }
    for (uint32_t c = 0; c < atom; c++) {
        out[c] = (int8_t)values[c];
    }
}

static bool pool_part(struct pdp *pdp, const struct part *part,
                      const int8_t *data, uint32_t surface)
{
    uint32_t atom = pdp->job->config->atom;

    for (uint32_t oy = 0; oy < pdp->out_height; oy++) {
        for (uint32_t ox = 0; ox < part->out_width; ox++) {
            struct window window;

            if (!find_window(pdp, part, ox, oy, &window)) {
                return false;
            }
            pool(pdp, &window, data, pdp->line + (size_t)ox * atom);
        }
        if (!nvdla_dma_write(pdp->job, &pdp->target,
                             (uint64_t)surface * pdp->target.surface +
                                 (uint64_t)oy * pdp->target.line +
                                 (uint64_t)part->out_first * atom,
                             pdp->line, (size_t)part->out_width * atom)) {
            return false;
        }
    }
    return true;
}

static bool run(struct pdp *pdp, const struct nvdla_cube_buffer *input)
{
    uint32_t last = job_field(pdp->job, PDP_D_OPERATION_MODE_CFG__SPLIT_NUM);
    size_t surface_size =
        (size_t)pdp->width * pdp->height * pdp->job->config->atom;

    for (uint32_t surface = 0; surface < pdp->surfaces; surface++) {
        const int8_t *data;

        if (input != NULL) {
            data = input->data + surface * surface_size;
        } else if (read_surface(pdp, surface)) {
            data = (const int8_t *)pdp->surface;
        } else {
            return false;
        }
        for (uint32_t i = 0; i <= last; i++) {
            struct part part = part_of(pdp, i);

            if (!pool_part(pdp, &part, data, surface)) {
                return false;
            }
        }
    }
    return true;
}

bool nvdla_pdp_run(struct nvdla_job *job, const struct nvdla_cube_buffer *input)
{
    struct pdp pdp = {.job = job};
    bool ok = false;

    if (!refuse_modes(job, input == NULL)) {
        return false;
    }
    read_registers(&pdp);
    if (input == NULL) {
        check_copies(job);
    } else if (pdp.width != input->cube.width ||
               pdp.height != input->cube.height ||
               pdp.surfaces != input->cube.surfaces) {
        nvdla_job_error(job, "PDP.D_DATA_CUBE_IN_*: SDP delivers a cube of "
                             "another size");
        return false;
    }
    if (!check_parts(&pdp) || !check_work(&pdp) || !open_target(&pdp)) {
        return false;
    }
    pdp.line =
        nvdla_job_allocate(job, (uint64_t)pdp.out_width * job->config->atom);
    if (pdp.line != NULL && (input != NULL || open_source(&pdp))) {
        ok = run(&pdp, input);
    }
    free(pdp.surface);
    free(pdp.line);
    return ok;
}
