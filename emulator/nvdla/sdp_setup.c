/*
 * sdp_setup.c - registers of SDP to decoded stages, and what they may not say.
 */
#include "sdp_setup.h"

#include "arith.h"
#include "lut_setup.h"

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

static void open_lut(const struct nvdla_job *job, struct nvdla_lut_config *lut)
{
    static const struct lut_fields fields = LUT_FIELDS(SDP, 8);

    lut_setup(job, lut, &fields);
    lut->le_start =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LE_START__LUT_LE_START), 32);
    lut->le_end =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LE_END__LUT_LE_END), 32);
    lut->lo_start =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LO_START__LUT_LO_START), 32);
    lut->lo_end =
        nvdla_sign_extend(job_field(job, SDP_S_LUT_LO_END__LUT_LO_END), 32);
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

bool sdp_setup(struct nvdla_job *job, struct x_stage *x1, struct x_stage *x2,
               struct y_stage *y, struct sdp_converter *converter)
{
    converter->offset =
        nvdla_sign_extend(job_field(job, SDP_D_CVT_OFFSET__CVT_OFFSET), 32);
    converter->scale =
        nvdla_sign_extend(job_field(job, SDP_D_CVT_SCALE__CVT_SCALE), 16);
    converter->shift = job_field(job, SDP_D_CVT_SHIFT__CVT_SHIFT);
    if (!check_modes(job) || !open_x(job, x1, &bs_fields, &b_port) ||
        !open_x(job, x2, &bn_fields, &n_port) || !open_y(job, y)) {
        return false;
    }
    check_sizes(job);
    return true;
}
