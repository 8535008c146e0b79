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
#include "sdp_fast.h"

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

/* Fields of one X stage. */
struct x_fields {
    uint32_t bypass, alu_bypass, algo, mul_bypass, prelu, relu_bypass;
    uint32_t alu_src, alu_shift, alu_operand, mul_src, mul_shift, mul_operand;
};

static const struct x_fields bs_fields = {
    SDP_D_DP_BS_CFG__BS_BYPASS,
    SDP_D_DP_BS_CFG__BS_ALU_BYPASS,
    SDP_D_DP_BS_CFG__BS_ALU_ALGO,
    SDP_D_DP_BS_CFG__BS_MUL_BYPASS,
    SDP_D_DP_BS_CFG__BS_MUL_PRELU,
    SDP_D_DP_BS_CFG__BS_RELU_BYPASS,
    SDP_D_DP_BS_ALU_CFG__BS_ALU_SRC,
    SDP_D_DP_BS_ALU_CFG__BS_ALU_SHIFT_VALUE,
    SDP_D_DP_BS_ALU_SRC_VALUE__BS_ALU_OPERAND,
    SDP_D_DP_BS_MUL_CFG__BS_MUL_SRC,
    SDP_D_DP_BS_MUL_CFG__BS_MUL_SHIFT_VALUE,
    SDP_D_DP_BS_MUL_SRC_VALUE__BS_MUL_OPERAND,
};

static const struct x_fields bn_fields = {
    SDP_D_DP_BN_CFG__BN_BYPASS,
    SDP_D_DP_BN_CFG__BN_ALU_BYPASS,
    SDP_D_DP_BN_CFG__BN_ALU_ALGO,
    SDP_D_DP_BN_CFG__BN_MUL_BYPASS,
    SDP_D_DP_BN_CFG__BN_MUL_PRELU,
    SDP_D_DP_BN_CFG__BN_RELU_BYPASS,
    SDP_D_DP_BN_ALU_CFG__BN_ALU_SRC,
    SDP_D_DP_BN_ALU_CFG__BN_ALU_SHIFT_VALUE,
    SDP_D_DP_BN_ALU_SRC_VALUE__BN_ALU_OPERAND,
    SDP_D_DP_BN_MUL_CFG__BN_MUL_SRC,
    SDP_D_DP_BN_MUL_CFG__BN_MUL_SHIFT_VALUE,
    SDP_D_DP_BN_MUL_SRC_VALUE__BN_MUL_OPERAND,
};

#define PORT_FIELDS(letter, unit)                                              \
    {                                                                          \
        SDP_RDMA_D_##letter##RDMA_CFG__##letter##RDMA_DISABLE,                 \
            SDP_RDMA_D_##letter##RDMA_CFG__##letter##RDMA_DATA_USE,            \
            SDP_RDMA_D_##letter##RDMA_CFG__##letter##RDMA_DATA_SIZE,           \
            SDP_RDMA_D_##letter##RDMA_CFG__##letter##RDMA_DATA_MODE,           \
            SDP_RDMA_D_##letter##RDMA_CFG__##letter##RDMA_RAM_TYPE,            \
            SDP_RDMA_D_##unit##_BASE_ADDR_HIGH__##unit##_BASE_ADDR_HIGH,       \
            SDP_RDMA_D_##unit##_BASE_ADDR_LOW__##unit##_BASE_ADDR_LOW,         \
            SDP_RDMA_D_##unit##_LINE_STRIDE__##unit##_LINE_STRIDE,             \
            SDP_RDMA_D_##unit##_SURFACE_STRIDE__##unit##_SURFACE_STRIDE,       \
    }

static const struct sdp_port_fields b_port = PORT_FIELDS(B, BS);
static const struct sdp_port_fields n_port = PORT_FIELDS(N, BN);
static const struct sdp_port_fields e_port = PORT_FIELDS(E, EW);

static bool open_x(struct nvdla_job *job, struct x_stage *stage,
                   const struct x_fields *fields,
                   const struct sdp_port_fields *port)
{
    struct sdp_operands *operands = &stage->operands;

    stage->bypass = job_field(job, fields->bypass) != 0;
    if (stage->bypass) {
        return true;
    }
    stage->alu_bypass = job_field(job, fields->alu_bypass) != 0;
    stage->mul_bypass = job_field(job, fields->mul_bypass) != 0;
    stage->prelu = job_field(job, fields->prelu) != 0;
    stage->relu_bypass = job_field(job, fields->relu_bypass) != 0;
    stage->algo = job_field(job, fields->algo);
    stage->mul_shift = job_field(job, fields->mul_shift) & 63u;
    if (!stage->alu_bypass && stage->algo == ALGO_EQL) {
        nvdla_job_reject(job, fields->algo,
                         "reserved; max, min and sum are 0, 1 and 2");
        return false;
    }
    operands->alu.from_memory =
        !stage->alu_bypass && job_field(job, fields->alu_src) != 0;
    operands->alu.left_shift = job_field(job, fields->alu_shift);
    operands->alu.constant =
        nvdla_sign_extend(job_field(job, fields->alu_operand), 16);
    operands->mul.from_memory =
        !stage->mul_bypass && job_field(job, fields->mul_src) != 0;
    operands->mul.constant =
        nvdla_sign_extend(job_field(job, fields->mul_operand), 16);
    return sdp_operands_open(job, operands, port);
}

static struct nvdla_lut_slope slope(const struct nvdla_job *job, uint32_t scale,
                                    uint32_t shift)
{
    return (struct nvdla_lut_slope){
        nvdla_sign_extend(job_field(job, scale), 16),
        nvdla_sign_extend(job_field(job, shift), 5)};
}

static void open_lut(const struct nvdla_job *job, struct nvdla_lut_config *lut)
{
    lut->le_linear = job_field(job, SDP_S_LUT_CFG__LUT_LE_FUNCTION) != 0;
    lut->underflow_lo = job_field(job, SDP_S_LUT_CFG__LUT_UFLOW_PRIORITY) != 0;
    lut->overflow_lo = job_field(job, SDP_S_LUT_CFG__LUT_OFLOW_PRIORITY) != 0;
    lut->hybrid_lo = job_field(job, SDP_S_LUT_CFG__LUT_HYBRID_PRIORITY) != 0;
    lut->le_offset = nvdla_sign_extend(
        job_field(job, SDP_S_LUT_INFO__LUT_LE_INDEX_OFFSET), 8);
    lut->le_select = nvdla_sign_extend(
        job_field(job, SDP_S_LUT_INFO__LUT_LE_INDEX_SELECT), 8);
    lut->lo_select = nvdla_sign_extend(
        job_field(job, SDP_S_LUT_INFO__LUT_LO_INDEX_SELECT), 8);
    lut->le_start =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LE_START__LUT_LE_START), 32);
    lut->le_end =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LE_END__LUT_LE_END), 32);
    lut->lo_start =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LO_START__LUT_LO_START), 32);
    lut->lo_end =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LO_END__LUT_LO_END), 32);
    lut->le_underflow =
        slope(job, SDP_S_LUT_LE_SLOPE_SCALE__LUT_LE_SLOPE_UFLOW_SCALE,
              SDP_S_LUT_LE_SLOPE_SHIFT__LUT_LE_SLOPE_UFLOW_SHIFT);
    lut->le_overflow =
        slope(job, SDP_S_LUT_LE_SLOPE_SCALE__LUT_LE_SLOPE_OFLOW_SCALE,
              SDP_S_LUT_LE_SLOPE_SHIFT__LUT_LE_SLOPE_OFLOW_SHIFT);
    lut->lo_underflow =
        slope(job, SDP_S_LUT_LO_SLOPE_SCALE__LUT_LO_SLOPE_UFLOW_SCALE,
              SDP_S_LUT_LO_SLOPE_SHIFT__LUT_LO_SLOPE_UFLOW_SHIFT);
    lut->lo_overflow =
        slope(job, SDP_S_LUT_LO_SLOPE_SCALE__LUT_LO_SLOPE_OFLOW_SCALE,
              SDP_S_LUT_LO_SLOPE_SHIFT__LUT_LO_SLOPE_OFLOW_SHIFT);
    lut->fraction_bits = 35;
    lut->slope_bits = 32;
    lut->result_bits = 32;
    lut->interpolate_delta = false;
    lut->offset_zero_counts = false;
}

static bool open_y(struct nvdla_job *job, struct y_stage *stage)
{
    struct sdp_operands *operands = &stage->operands;

    stage->bypass = job_field(job, SDP_D_DP_EW_CFG__EW_BYPASS) != 0;
    if (stage->bypass) {
        return true;
    }
    stage->alu_bypass = job_field(job, SDP_D_DP_EW_CFG__EW_ALU_BYPASS) != 0;
    stage->mul_bypass = job_field(job, SDP_D_DP_EW_CFG__EW_MUL_BYPASS) != 0;
    stage->prelu = job_field(job, SDP_D_DP_EW_CFG__EW_MUL_PRELU) != 0;
    stage->lut_bypass = job_field(job, SDP_D_DP_EW_CFG__EW_LUT_BYPASS) != 0;
    stage->algo = job_field(job, SDP_D_DP_EW_CFG__EW_ALU_ALGO);
    stage->truncate = job_field(job, SDP_D_DP_EW_TRUNCATE_VALUE__EW_TRUNCATE);
    operands->alu.from_memory =
        !stage->alu_bypass &&
        job_field(job, SDP_D_DP_EW_ALU_CFG__EW_ALU_SRC) != 0;
    operands->alu.constant = nvdla_sign_extend(
        job_field(job, SDP_D_DP_EW_ALU_SRC_VALUE__EW_ALU_OPERAND), 32);
    operands->alu.convert =
        operands->alu.from_memory &&
        job_field(job, SDP_D_DP_EW_ALU_CFG__EW_ALU_CVT_BYPASS) == 0;
    operands->alu.offset = nvdla_sign_extend(
        job_field(job, SDP_D_DP_EW_ALU_CVT_OFFSET_VALUE__EW_ALU_CVT_OFFSET),
        32);
    operands->alu.scale = nvdla_sign_extend(
        job_field(job, SDP_D_DP_EW_ALU_CVT_SCALE_VALUE__EW_ALU_CVT_SCALE), 16);
    operands->alu.truncate =
        job_field(job, SDP_D_DP_EW_ALU_CVT_TRUNCATE_VALUE__EW_ALU_CVT_TRUNCATE);
    operands->mul.from_memory =
        !stage->mul_bypass &&
        job_field(job, SDP_D_DP_EW_MUL_CFG__EW_MUL_SRC) != 0;
    operands->mul.constant = nvdla_sign_extend(
        job_field(job, SDP_D_DP_EW_MUL_SRC_VALUE__EW_MUL_OPERAND), 32);
    operands->mul.convert =
        operands->mul.from_memory &&
        job_field(job, SDP_D_DP_EW_MUL_CFG__EW_MUL_CVT_BYPASS) == 0;
    operands->mul.offset = nvdla_sign_extend(
        job_field(job, SDP_D_DP_EW_MUL_CVT_OFFSET_VALUE__EW_MUL_CVT_OFFSET),
        32);
    operands->mul.scale = nvdla_sign_extend(
        job_field(job, SDP_D_DP_EW_MUL_CVT_SCALE_VALUE__EW_MUL_CVT_SCALE), 16);
    operands->mul.truncate =
        job_field(job, SDP_D_DP_EW_MUL_CVT_TRUNCATE_VALUE__EW_MUL_CVT_TRUNCATE);
    if (!stage->lut_bypass) {
        open_lut(job, &stage->lut);
    }
    return sdp_operands_open(job, operands, &e_port);
}

/* Refuses a field that is not 0. */
static bool must_be_zero(struct nvdla_job *job, uint32_t field,
                         const char *text)
{
    if (job_field(job, field) == 0) {
        return true;
    }
    nvdla_job_reject(job, field, text);
    return false;
}

static bool check_modes(struct nvdla_job *job)
{
    static const char int8_only[] = "only int8 is modelled";
    bool ok = must_be_zero(job, SDP_D_FEATURE_MODE_CFG__WINOGRAD,
                           "Winograd is not modelled") &&
              must_be_zero(job, SDP_D_FEATURE_MODE_CFG__BATCH_NUMBER,
                           "batches are not modelled") &&
              must_be_zero(job, SDP_D_DATA_FORMAT__PROC_PRECISION, int8_only) &&
              must_be_zero(job, SDP_D_DATA_FORMAT__OUT_PRECISION, int8_only);

    if ((job->blocks & 1u << BLOCK_SDP_RDMA) == 0) {
        return ok;
    }
    if (ok && job_field(job, SDP_RDMA_D_FEATURE_MODE_CFG__FLYING_MODE) !=
                  job_field(job, SDP_D_FEATURE_MODE_CFG__FLYING_MODE)) {
        nvdla_job_reject(job, SDP_RDMA_D_FEATURE_MODE_CFG__FLYING_MODE,
                         "SDP.D_FEATURE_MODE_CFG says otherwise");
        return false;
    }
    return ok &&
           must_be_zero(job, SDP_RDMA_D_FEATURE_MODE_CFG__WINOGRAD,
                        "Winograd is not modelled") &&
           must_be_zero(job, SDP_RDMA_D_FEATURE_MODE_CFG__BATCH_NUMBER,
                        "batches are not modelled") &&
           must_be_zero(job, SDP_RDMA_D_FEATURE_MODE_CFG__IN_PRECISION,
                        int8_only) &&
           must_be_zero(job, SDP_RDMA_D_FEATURE_MODE_CFG__PROC_PRECISION,
                        int8_only);
}

static void check_sizes(struct nvdla_job *job)
{
    static const uint32_t pairs[][2] = {
        {SDP_D_DATA_CUBE_WIDTH__WIDTH, SDP_RDMA_D_DATA_CUBE_WIDTH__WIDTH},
        {SDP_D_DATA_CUBE_HEIGHT__HEIGHT, SDP_RDMA_D_DATA_CUBE_HEIGHT__HEIGHT},
        {SDP_D_DATA_CUBE_CHANNEL__CHANNEL,
         SDP_RDMA_D_DATA_CUBE_CHANNEL__CHANNEL},
    };

    if ((job->blocks & 1u << BLOCK_SDP_RDMA) == 0) {
        return;
    }
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (job_field(job, pairs[i][0]) != job_field(job, pairs[i][1])) {
            nvdla_job_reject(job, pairs[i][1], "SDP has another size");
        }
    }
}

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
    sdp->converter.offset =
        nvdla_sign_extend(job_field(job, SDP_D_CVT_OFFSET__CVT_OFFSET), 32);
    sdp->converter.scale =
        nvdla_sign_extend(job_field(job, SDP_D_CVT_SCALE__CVT_SCALE), 16);
    sdp->converter.shift = job_field(job, SDP_D_CVT_SHIFT__CVT_SHIFT);
    if (!check_modes(job) || !open_x(job, &sdp->x1, &bs_fields, &b_port) ||
        !open_x(job, &sdp->x2, &bn_fields, &n_port) || !open_y(job, &sdp->y)) {
        return false;
    }
    sdp->counts = job_field(job, SDP_D_PERF_ENABLE__PERF_SAT_EN) != 0;
    sdp->input = job->has[UNIT_CONV] ? INT64_C(1) << 31 : 128;
    sdp->plan_surface = -1;
    sdp->writes = sdp->y.bypass || sdp->y.alu_bypass || sdp->y.algo != ALGO_EQL;
    check_sizes(job);
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
