/*
 * cdp.c - the channel data processor: local response normalisation.
 *
 * v = sat9(RS((x - offset8) * scale16, shift5)); channels outside the cube,
 * also the unused ones of the last atom, have v = 0 (their bytes and the
 * offset do not count). s = sum of v^2 over 3, 5, 7 or 9 channels around, or v
 * with SQSUM_BYPASS. The table gives f(s); y = f * v, or f with MUL_BYPASS;
 * out = sat8(RS((y - offset25) * scale16, shift6)). Outputs of unused channels
 * are written too.
 */
#include <stdlib.h>

#include "arith.h"
#include "lut_setup.h"

/* Neighbours on either side at the widest setting. */
#define MARGIN 4u

struct cdp {
    struct nvdla_job *job;
    uint32_t width, height, channels, surfaces;
    bool square_bypass, multiply_bypass;
    uint32_t reach; /* neighbours on either side */
    int64_t in_offset, in_scale, out_offset, out_scale;
    unsigned in_shift, out_shift;
    struct nvdla_lut_config lut;
    struct nvdla_port source, target;
    int8_t *lines;   /* [surface][x][atom]: input, then output */
    int32_t *values; /* v of one pixel with MARGIN zeros on both ends */
};

/* A 38-bit signed number in two registers. */
static int64_t wide_field(const struct nvdla_job *job, uint32_t high,
                          uint32_t low)
{
    return (int64_t)nvdla_sign_extend(job_field(job, high), 6) *
               ((int64_t)1 << 32) +
           job_field(job, low);
}

static void open_lut(const struct nvdla_job *job, struct nvdla_lut_config *lut)
{
    static const struct lut_fields fields = LUT_FIELDS(CDP, 6);

    lut_setup(job, lut, &fields);
    lut->le_start = wide_field(job, CDP_S_LUT_LE_START_HIGH__LUT_LE_START_HIGH,
                               CDP_S_LUT_LE_START_LOW__LUT_LE_START_LOW);
    lut->le_end = wide_field(job, CDP_S_LUT_LE_END_HIGH__LUT_LE_END_HIGH,
                             CDP_S_LUT_LE_END_LOW__LUT_LE_END_LOW);
    lut->lo_start = wide_field(job, CDP_S_LUT_LO_START_HIGH__LUT_LO_START_HIGH,
                               CDP_S_LUT_LO_START_LOW__LUT_LO_START_LOW);
    lut->lo_end = wide_field(job, CDP_S_LUT_LO_END_HIGH__LUT_LO_END_HIGH,
                             CDP_S_LUT_LO_END_LOW__LUT_LO_END_LOW);
    lut->fraction_bits = 16;
    lut->slope_bits = 56;
    lut->result_bits = 16;
    lut->interpolate_delta = true;
    lut->offset_zero_counts = true;
}

static bool open_ports(struct cdp *cdp)
{
    struct nvdla_job *job = cdp->job;

    cdp->source.name = "CDP_RDMA.D_SRC_BASE_ADDR_LOW";
    cdp->source.base =
        job_address(job, CDP_RDMA_D_SRC_BASE_ADDR_HIGH__SRC_BASE_ADDR_HIGH,
                    CDP_RDMA_D_SRC_BASE_ADDR_LOW__SRC_BASE_ADDR_LOW);
    cdp->source.line =
        job_field(job, CDP_RDMA_D_SRC_LINE_STRIDE__SRC_LINE_STRIDE);
    cdp->source.surface =
        job_field(job, CDP_RDMA_D_SRC_SURFACE_STRIDE__SRC_SURFACE_STRIDE);
    cdp->target = nvdla_job_output(job);
    cdp->target.name = "CDP.D_DST_BASE_ADDR_LOW";
    cdp->target.line = job_field(job, CDP_D_DST_LINE_STRIDE__DST_LINE_STRIDE);
    cdp->target.surface =
        job_field(job, CDP_D_DST_SURFACE_STRIDE__DST_SURFACE_STRIDE);
    return nvdla_port_select(job, &cdp->source,
                             CDP_RDMA_D_SRC_DMA_CFG__SRC_RAM_TYPE) &&
           nvdla_port_select(job, &cdp->target,
                             CDP_D_DST_DMA_CFG__DST_RAM_TYPE);
}

static bool open(struct cdp *cdp)
{
    struct nvdla_job *job = cdp->job;
    uint32_t atom = job->config->atom;
    uint64_t line;

    if (job_field(job, CDP_D_DATA_FORMAT__INPUT_DATA_TYPE) != 0) {
        nvdla_job_reject(job, CDP_D_DATA_FORMAT__INPUT_DATA_TYPE,
                         "only int8 is modelled");
        return false;
    }
    if (job_field(job, CDP_RDMA_D_DATA_FORMAT__INPUT_DATA) != 0) {
        nvdla_job_reject(job, CDP_RDMA_D_DATA_FORMAT__INPUT_DATA,
                         "only int8 is modelled");
        return false;
    }
    cdp->width = job_count(job, CDP_RDMA_D_DATA_CUBE_WIDTH__WIDTH);
    cdp->height = job_count(job, CDP_RDMA_D_DATA_CUBE_HEIGHT__HEIGHT);
    cdp->channels = job_count(job, CDP_RDMA_D_DATA_CUBE_CHANNEL__CHANNEL);
    cdp->surfaces = (cdp->channels + atom - 1u) / atom;
    cdp->square_bypass = job_field(job, CDP_D_FUNC_BYPASS__SQSUM_BYPASS) != 0;
    cdp->multiply_bypass = job_field(job, CDP_D_FUNC_BYPASS__MUL_BYPASS) != 0;
    cdp->reach = job_count(job, CDP_D_LRN_CFG__NORMALZ_LEN);
    cdp->in_offset =
        nvdla_sign_extend(job_field(job, CDP_D_DATIN_OFFSET__DATIN_OFFSET), 8);
    cdp->in_scale =
        nvdla_sign_extend(job_field(job, CDP_D_DATIN_SCALE__DATIN_SCALE), 16);
    cdp->in_shift = job_field(job, CDP_D_DATIN_SHIFTER__DATIN_SHIFTER);
    cdp->out_offset = nvdla_sign_extend(
        job_field(job, CDP_D_DATOUT_OFFSET__DATOUT_OFFSET), 25);
    cdp->out_scale =
        nvdla_sign_extend(job_field(job, CDP_D_DATOUT_SCALE__DATOUT_SCALE), 16);
    cdp->out_shift = job_field(job, CDP_D_DATOUT_SHIFTER__DATOUT_SHIFTER);
    open_lut(job, &cdp->lut);
    line = (uint64_t)cdp->width * cdp->surfaces * atom;
    if (line * cdp->height > job->max_elements / 4u) {
        nvdla_job_error(job, "CDP_RDMA.D_DATA_CUBE_*: the operation is larger "
                             "than is emulated");
        return false;
    }
    if (!open_ports(cdp)) {
        return false;
    }
    cdp->lines = nvdla_job_allocate(job, line);
    cdp->values =
        nvdla_job_allocate(job, ((uint64_t)cdp->surfaces * atom + 2u * MARGIN) *
                                    sizeof *cdp->values);
    return cdp->lines != NULL && cdp->values != NULL;
}

static int8_t normalise(struct cdp *cdp, const int32_t *value)
{
    struct nvdla_job *job = cdp->job;
    int64_t key = 0;
    int64_t y;
    int64_t out;
    int64_t clamped;

    if (cdp->square_bypass) {
        key = *value;
    } else {
        const int32_t *at = value - cdp->reach;

        for (uint32_t i = 0; i < 2u * cdp->reach + 1u; i++) {
            key += (int64_t)at[i] * at[i];
        }
    }
    y = nvdla_lut_lookup(&cdp->lut, &job->lut, key, &job->lut_counters);
    if (!cdp->multiply_bypass) {
        y *= *value;
    }
    out = nvdla_round_shift((y - cdp->out_offset) * cdp->out_scale,
                            cdp->out_shift);
    clamped = nvdla_saturate(out, 8);
    job->cdp_saturation += clamped != out ? 1u : 0u;
    return (int8_t)clamped;
}

static void pixel(struct cdp *cdp, uint32_t x)
{
    uint32_t atom = cdp->job->config->atom;
    uint32_t total = cdp->surfaces * atom;
    int32_t *values = cdp->values + MARGIN;

    for (uint32_t i = 0; i < MARGIN; i++) {
        cdp->values[i] = 0;
        values[total + i] = 0;
    }
    for (uint32_t c = 0; c < total; c++) {
        size_t at = ((size_t)(c / atom) * cdp->width + x) * atom + c % atom;

        values[c] =
            c < cdp->channels
                ? (int32_t)nvdla_convert(cdp->lines[at], cdp->in_offset,
                                         cdp->in_scale, cdp->in_shift, 9)
                : 0;
    }
    for (uint32_t c = 0; c < total; c++) {
        size_t at = ((size_t)(c / atom) * cdp->width + x) * atom + c % atom;

        cdp->lines[at] = normalise(cdp, values + c);
    }
}

/* One row of all surfaces, in or out. */
static bool move_row(struct cdp *cdp, uint32_t y, bool write)
{
    size_t size = (size_t)cdp->width * cdp->job->config->atom;
    const struct nvdla_port *port = write ? &cdp->target : &cdp->source;

    for (uint32_t surface = 0; surface < cdp->surfaces; surface++) {
        uint64_t offset =
            (uint64_t)surface * port->surface + (uint64_t)y * port->line;
        int8_t *data = cdp->lines + surface * size;

        if (write ? !nvdla_dma_write(cdp->job, port, offset, data, size)
                  : !nvdla_dma_read(cdp->job, port, offset, data, size)) {
            return false;
        }
    }
    return true;
}

bool nvdla_cdp_run(struct nvdla_job *job)
{
    struct cdp cdp = {.job = job};
    bool ok = open(&cdp);

    for (uint32_t y = 0; ok && y < cdp.height; y++) {
        ok = move_row(&cdp, y, false);
        if (ok) {
            for (uint32_t x = 0; x < cdp.width; x++) {
                pixel(&cdp, x);
            }
            ok = move_row(&cdp, y, true);
        }
    }
    free(cdp.lines);
    free(cdp.values);
    return ok;
}
