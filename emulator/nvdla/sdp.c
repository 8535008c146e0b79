/*
 * sdp.c - the single point processor: X1 (BS), X2 (BN), Y (EW), converter.
 *
 * Order of a job: input (int8 from memory or int32 from CACC), X1, X2, Y, C.
 * Data are 32 bit between stages. A stage's BYPASS skips all of it.
 *   X  ALU: max, min or sum with sat32(operand16 << shift); 33 bit result.
 *      MUL: times operand16, RS by the shift, sat32. With MUL_BYPASS the shift
 *      still acts; with PRELU a value >= 0 passes unshifted (low 32 bits).
 *      ReLU last.
 *   Y  MUL first: 32 x 32 bit, RS by EW_TRUNCATE, sat32; not with MUL_BYPASS,
 *      nor with PRELU and a value >= 0. Then ALU: max, min, sum (sat32), or
 *      EQL, which only sets D_STATUS.STATUS_UNEQUAL and writes nothing. Then
 *      the look-up table.
 *   C  RS((x - offset32) * scale16, shift6), saturated to 8 bits.
 * The Y stage is computed in configurations without EW too, as the upstream
 * model does. Multiplier shifts use 6 bits of their register.
 */
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "scratch.h"
#include "sdp_setup.h"

/* Bytes of short lines that are written together; cached well. */
#define LINE_BUFFER ((uint64_t)16384)

struct nvdla_sdp {
    struct nvdla_job *job;
    struct nvdla_cube cube;
    struct x_stage x1, x2;
    struct y_stage y;
    struct sdp_converter converter;
    int64_t input;        /* highest magnitude of the input */
    bool counts;          /* saturations are asked for */
    int64_t plan_surface; /* that the plan was made for, or -1 */
    struct sdp_fast_plan plan;
    bool writes; /* false with EQL */
    struct nvdla_port source, target;
    struct nvdla_cube_buffer *to_pdp;
    uint32_t batch; /* lines that the buffer holds */
    int8_t *line;   /* [batch][width * atom] */
};

static bool open_ports(struct nvdla_sdp *sdp)
{
    struct nvdla_job *job = sdp->job;

    sdp->target = nvdla_job_output(job);
    sdp->target.name = "SDP.D_DST_BASE_ADDR_LOW";
    sdp->target.line = job_field(job, SDP_D_DST_LINE_STRIDE__DST_LINE_STRIDE);
    sdp->target.surface =
        job_field(job, SDP_D_DST_SURFACE_STRIDE__DST_SURFACE_STRIDE);
    if (sdp->to_pdp == NULL && sdp->writes &&
        !nvdla_port_select(job, &sdp->target,
                           SDP_D_DST_DMA_CFG__DST_RAM_TYPE)) {
        return false;
    }
    if (job->has[UNIT_CONV]) {
        return true;
    }
    sdp->source.name = "SDP_RDMA.D_SRC_BASE_ADDR_LOW";
    sdp->source.base =
        job_address(job, SDP_RDMA_D_SRC_BASE_ADDR_HIGH__SRC_BASE_ADDR_HIGH,
                    SDP_RDMA_D_SRC_BASE_ADDR_LOW__SRC_BASE_ADDR_LOW);
    sdp->source.line =
        job_field(job, SDP_RDMA_D_SRC_LINE_STRIDE__SRC_LINE_STRIDE);
    sdp->source.surface =
        job_field(job, SDP_RDMA_D_SRC_SURFACE_STRIDE__SRC_SURFACE_STRIDE);
    return nvdla_port_select(job, &sdp->source,
                             SDP_RDMA_D_SRC_DMA_CFG__SRC_RAM_TYPE);
}

static bool open_buffers(struct nvdla_sdp *sdp)
{
    struct nvdla_job *job = sdp->job;
    uint64_t line = (uint64_t)sdp->cube.width * job->config->atom;
    uint64_t elements = line * sdp->cube.height * sdp->cube.surfaces;

    if (elements > job->max_elements) {
        nvdla_job_error(job, "SDP.D_DATA_CUBE_WIDTH, HEIGHT and CHANNEL ask "
                             "for more elements than are emulated");
        return false;
    }
    sdp->batch = line < LINE_BUFFER ? (uint32_t)(LINE_BUFFER / line) : 1u;
    sdp->line = nvdla_scratch_take(job, line * sdp->batch);
    if (sdp->line == NULL) {
        return false;
    }
    if (sdp->to_pdp != NULL) {
        sdp->to_pdp->cube = sdp->cube;
        sdp->to_pdp->data = nvdla_job_allocate(job, elements);
        return sdp->to_pdp->data != NULL;
    }
    return true;
}

static bool open(struct nvdla_sdp *sdp)
{
    struct nvdla_job *job = sdp->job;
    uint32_t atom = job->config->atom;

    sdp->cube.width = job_count(job, SDP_D_DATA_CUBE_WIDTH__WIDTH);
    sdp->cube.height = job_count(job, SDP_D_DATA_CUBE_HEIGHT__HEIGHT);
    sdp->cube.channels = job_count(job, SDP_D_DATA_CUBE_CHANNEL__CHANNEL);
    sdp->cube.surfaces = (sdp->cube.channels + atom - 1u) / atom;
    if (!sdp_setup(job, &sdp->x1, &sdp->x2, &sdp->y, &sdp->converter)) {
        return false;
    }
    sdp->counts = job_field(job, SDP_D_PERF_ENABLE__PERF_SAT_EN) != 0;
    sdp->input = job->has[UNIT_CONV] ? INT64_C(1) << 31 : 128;
    sdp->plan_surface = -1;
    sdp->writes = sdp->y.bypass || sdp->y.alu_bypass || sdp->y.algo != ALGO_EQL;
    return open_ports(sdp) && open_buffers(sdp);
}

struct nvdla_sdp *nvdla_sdp_create(struct nvdla_job *job,
                                   struct nvdla_cube_buffer *to_pdp)
{
    struct nvdla_sdp *sdp = calloc(1, sizeof *sdp);

    if (sdp == NULL) {
        nvdla_job_error(job, "the host is out of memory");
        return NULL;
    }
    sdp->job = job;
    sdp->to_pdp = to_pdp;
    if (!open(sdp)) {
        nvdla_sdp_destroy(sdp);
        return NULL;
    }
    return sdp;
}

struct nvdla_cube nvdla_sdp_cube(const struct nvdla_sdp *sdp)
{
    return sdp->cube;
}

void nvdla_sdp_limit(struct nvdla_sdp *sdp, int64_t magnitude)
{
    sdp->input = magnitude < sdp->input ? magnitude : sdp->input;
}

void nvdla_sdp_destroy(struct nvdla_sdp *sdp)
{
    if (sdp != NULL) {
        nvdla_scratch_give(sdp->line);
        free(sdp);
    }
}

static bool fetch_operands(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y,
                           uint32_t x, uint32_t pixels)
{
    struct nvdla_job *job = sdp->job;

    return sdp_operands_fetch(job, &sdp->x1.operands, surface, y, x, pixels) &&
           sdp_operands_fetch(job, &sdp->x2.operands, surface, y, x, pixels) &&
           sdp_operands_fetch(job, &sdp->y.operands, surface, y, x, pixels);
}

/* For the surface whose operands were fetched. */
static void make_plan(struct nvdla_sdp *sdp, uint32_t surface)
{
    if (sdp->plan_surface == (int64_t)surface) {
        return;
    }
    sdp_fast_open(&sdp->plan, sdp->input, &sdp->x1, &sdp->x2, &sdp->converter,
                  sdp->job->config->atom);
    sdp->plan.usable = sdp->plan.usable && sdp->y.bypass && !sdp->counts;
    sdp->plan_surface = (int64_t)surface;
}

/* Operands are those of the chunk. */
static void full_chunk(struct nvdla_sdp *sdp, const int32_t *values,
                       uint32_t surface, int8_t *out, unsigned count)
{
    struct nvdla_job *job = sdp->job;
    uint32_t first = surface * job->config->atom;
    int64_t wide[SDP_CHUNK];

    for (unsigned i = 0; i < count; i++) {
        wide[i] = values[i];
    }
    sdp_x_chunk(&sdp->x1, wide, count);
    sdp_x_chunk(&sdp->x2, wide, count);
    sdp_y_chunk(&sdp->y, job, wide, count, sdp->cube.channels - first);
    job->sdp_saturation +=
        sdp_output_chunk(out, wide, sdp->converter.offset, sdp->converter.scale,
                         sdp->converter.shift, count);
}

/* `pixels` pixels (a chunk at most) of a line, from x on. */
static bool chunk(struct nvdla_sdp *sdp, int32_t *values, uint32_t surface,
                  uint32_t y, uint32_t x, uint32_t pixels)
{
    uint32_t atom = sdp->job->config->atom;
    int8_t *out = sdp->line + (size_t)x * atom;

    if (!fetch_operands(sdp, surface, y, x, pixels)) {
        return false;
    }
    make_plan(sdp, surface);
    if (sdp->plan.usable) {
        sdp_fast_chunk(&sdp->plan, out, values, pixels * atom);
    } else {
        full_chunk(sdp, values, surface, out, pixels * atom);
    }
    return true;
}

/* One line from the buffer. */
static bool put_line(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y,
                     const int8_t *line)
{
    size_t size = (size_t)sdp->cube.width * sdp->job->config->atom;

    if (sdp->to_pdp != NULL) {
        size_t at = ((size_t)surface * sdp->cube.height + y) * size;

        memcpy(sdp->to_pdp->data + at, line, size);
        return true;
    }
    return !sdp->writes ||
           nvdla_dma_write(sdp->job, &sdp->target,
                           (uint64_t)surface * sdp->target.surface +
                               (uint64_t)y * sdp->target.line,
                           line, size);
}

/* Lines that lie one after the other in memory, as one access; false when
 * they do not, or when not all of it is memory: nothing is written then. */
static bool put_together(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y,
                         uint32_t count)
{
    const struct nvdla_port *target = &sdp->target;
    size_t size = (size_t)sdp->cube.width * sdp->job->config->atom;
    uint64_t address = target->base + (uint64_t)surface * target->surface +
                       (uint64_t)y * target->line;

    return sdp->to_pdp == NULL && sdp->writes && target->line == size &&
           sdp->job->host->write(sdp->job->host->opaque, target->space, address,
                                 sdp->line, size * count);
}

static bool put_lines(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y,
                      uint32_t count)
{
    size_t size = (size_t)sdp->cube.width * sdp->job->config->atom;

    if (count > 1u && put_together(sdp, surface, y, count)) {
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!put_line(sdp, surface, y + i, sdp->line + i * size)) {
            return false;
        }
    }
    return true;
}

/* Some lines (a batch at most) into the buffer; false when the host cannot. */
static bool fast_lines(struct nvdla_sdp *sdp, const int32_t *values,
                       size_t stride, size_t row_stride, uint32_t count)
{
    uint32_t atom = sdp->job->config->atom;
    uint32_t width = sdp->cube.width;

    if (row_stride == width * stride) {
        return sdp_fast_line(&sdp->plan, sdp->line, values, stride,
                             width * count, atom);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!sdp_fast_line(&sdp->plan, sdp->line + (size_t)i * width * atom,
                           values + i * row_stride, stride, width, atom)) {
            return false;
        }
    }
    return true;
}

static bool chunked_line(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y,
                         const int32_t *values, size_t stride)
{
    uint32_t atom = sdp->job->config->atom;
    uint32_t step = SDP_CHUNK / atom;
    int32_t piece[SDP_CHUNK];

    for (uint32_t x = 0; x < sdp->cube.width; x += step) {
        uint32_t left = sdp->cube.width - x;
        uint32_t pixels = left < step ? left : step;

        for (uint32_t i = 0; i < pixels; i++) {
            memcpy(piece + (size_t)i * atom, values + (x + i) * stride,
                   atom * sizeof *piece);
        }
        if (!chunk(sdp, piece, surface, y, x, pixels)) {
            return false;
        }
    }
    return put_line(sdp, surface, y, sdp->line);
}

/* Fetches the operands of the surface's first chunk and makes the plan. */
static bool open_surface(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y)
{
    uint32_t step = SDP_CHUNK / sdp->job->config->atom;
    uint32_t pixels = sdp->cube.width < step ? sdp->cube.width : step;

    if (sdp->plan_surface != (int64_t)surface) {
        if (!fetch_operands(sdp, surface, y, 0, pixels)) {
            return false;
        }
        make_plan(sdp, surface);
    }
    return true;
}

bool nvdla_sdp_lines(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y,
                     uint32_t count, const int32_t *values, size_t stride,
                     size_t row_stride)
{
    uint32_t here;

    if (!open_surface(sdp, surface, y)) {
        return false;
    }
    for (uint32_t done = 0; done < count; done += here) {
        const int32_t *from = values + done * row_stride;

        here = count - done < sdp->batch ? count - done : sdp->batch;
        if (sdp->plan.usable && !sdp->plan.per_element &&
            fast_lines(sdp, from, stride, row_stride, here)) {
            if (!put_lines(sdp, surface, y + done, here)) {
                return false;
            }
        } else {
            here = 1;
            if (!chunked_line(sdp, surface, y + done, from, stride)) {
                return false;
            }
        }
    }
    return true;
}

static bool memory_line(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y)
{
    uint32_t atom = sdp->job->config->atom;
    uint32_t step = SDP_CHUNK / atom;
    int32_t piece[SDP_CHUNK];

    /* The line buffer holds the input first and, chunk by chunk, the output. */
    if (!nvdla_dma_read(sdp->job, &sdp->source,
                        (uint64_t)surface * sdp->source.surface +
                            (uint64_t)y * sdp->source.line,
                        sdp->line, (size_t)sdp->cube.width * atom)) {
        return false;
    }
    for (uint32_t x = 0; x < sdp->cube.width; x += step) {
        uint32_t left = sdp->cube.width - x;
        uint32_t pixels = left < step ? left : step;

        for (uint32_t i = 0; i < pixels * atom; i++) {
            piece[i] = sdp->line[(size_t)x * atom + i];
        }
        if (!chunk(sdp, piece, surface, y, x, pixels)) {
            return false;
        }
    }
    return put_line(sdp, surface, y, sdp->line);
}

bool nvdla_sdp_run_memory(struct nvdla_sdp *sdp)
{
    for (uint32_t surface = 0; surface < sdp->cube.surfaces; surface++) {
        for (uint32_t y = 0; y < sdp->cube.height; y++) {
            if (!memory_line(sdp, surface, y)) {
                return false;
            }
        }
    }
    return true;
}
