/*
 * conv.c - the convolution pipeline: CDMA, CSC, CMAC and CACC.
 *
 * Output (ox, oy) of kernel k sums weight * input over rows r and columns s at
 * x = ox * stride_x + s * dilation_x - pad_left, y likewise. Outside the input
 * PAD_VALUE counts (signed, not converted). Image mode: the row, padded left
 * and right, is a string of elements, and output ox reads `deep` of them from
 * ox * stride_x * channels on.
 *
 * CACC sums up in 48 bits with saturation. 2^23 products (the most a kernel
 * can have) of 2^14 stay below 2^37, so it never saturates; the result is
 * RS(sum, CLIP_TRUNCATE) saturated to 32 bits, saturations counted.
 *
 * Values that several blocks hold are taken from: CDMA input size, converter,
 * PAD_RIGHT; CSC kernel and output size, strides, dilation, PAD_LEFT and TOP,
 * PAD_VALUE; CACC truncation. Reuse and release flags have no effect: data and
 * weights are read from memory each time.
 */
#include "conv.h"

#include <inttypes.h>
#include <string.h>

#include "arith.h"
#include "scratch.h"

static bool refuse_modes(struct nvdla_job *job)
{
    static const struct {
        uint32_t field;
        const char *text;
    } zero[] = {
        {CDMA_D_MISC_CFG__CONV_MODE, "Winograd is not modelled"},
        {CSC_D_MISC_CFG__CONV_MODE, "Winograd is not modelled"},
        {CMAC_A_D_MISC_CFG__CONV_MODE, "Winograd is not modelled"},
        {CMAC_B_D_MISC_CFG__CONV_MODE, "Winograd is not modelled"},
        {CACC_D_MISC_CFG__CONV_MODE, "Winograd is not modelled"},
        {CDMA_D_MISC_CFG__IN_PRECISION, "only int8 is modelled"},
        {CDMA_D_MISC_CFG__PROC_PRECISION, "only int8 is modelled"},
        {CSC_D_MISC_CFG__IN_PRECISION, "only int8 is modelled"},
        {CSC_D_MISC_CFG__PROC_PRECISION, "only int8 is modelled"},
        {CMAC_A_D_MISC_CFG__PROC_PRECISION, "only int8 is modelled"},
        {CMAC_B_D_MISC_CFG__PROC_PRECISION, "only int8 is modelled"},
        {CACC_D_MISC_CFG__PROC_PRECISION, "only int8 is modelled"},
        {CDMA_D_WEIGHT_FORMAT__WEIGHT_FORMAT,
         "compressed weights are not modelled"},
        {CSC_D_WEIGHT_FORMAT__WEIGHT_FORMAT,
         "compressed weights are not modelled"},
        {CDMA_D_BATCH_NUMBER__BATCHES, "batches are not modelled"},
        {CSC_D_BATCH_NUMBER__BATCHES, "batches are not modelled"},
        {CACC_D_BATCH_NUMBER__BATCHES, "batches are not modelled"},
    };

    for (size_t i = 0; i < sizeof zero / sizeof zero[0]; i++) {
        if (job_field(job, zero[i].field) != 0) {
            nvdla_job_reject(job, zero[i].field, zero[i].text);
            return false;
        }
    }
    if (job_field(job, CDMA_D_DATAIN_FORMAT__DATAIN_FORMAT) !=
        job_field(job, CSC_D_DATAIN_FORMAT__DATAIN_FORMAT)) {
        nvdla_job_reject(job, CSC_D_DATAIN_FORMAT__DATAIN_FORMAT,
                         "CDMA has the other value");
        return false;
    }
    return true;
}

static void read_registers(struct conv *conv)
{
    struct nvdla_job *job = conv->job;

    conv->image = job_field(job, CDMA_D_DATAIN_FORMAT__DATAIN_FORMAT) != 0;
    conv->width = job_count(job, CDMA_D_DATAIN_SIZE_0__DATAIN_WIDTH);
    conv->height = job_count(job, CDMA_D_DATAIN_SIZE_0__DATAIN_HEIGHT);
    conv->channels = job_count(job, CDMA_D_DATAIN_SIZE_1__DATAIN_CHANNEL);
    conv->rows = job_count(job, CSC_D_WEIGHT_SIZE_EXT_0__WEIGHT_HEIGHT_EXT);
    conv->columns = job_count(job, CSC_D_WEIGHT_SIZE_EXT_0__WEIGHT_WIDTH_EXT);
    conv->deep = job_count(job, CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_CHANNEL_EXT);
    conv->kernel_count = job_count(job, CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_KERNEL);
    conv->merge = job_field(job, CSC_D_POST_Y_EXTENSION__Y_EXTENSION);
    conv->out_width = job_count(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_WIDTH);
    conv->out_height = job_count(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_HEIGHT);
    conv->stride_x = job_count(job, CSC_D_CONV_STRIDE_EXT__CONV_X_STRIDE_EXT);
    conv->stride_y = job_count(job, CSC_D_CONV_STRIDE_EXT__CONV_Y_STRIDE_EXT);
    conv->dilation_x = job_count(job, CSC_D_DILATION_EXT__X_DILATION_EXT);
    conv->dilation_y = job_count(job, CSC_D_DILATION_EXT__Y_DILATION_EXT);
    conv->pad_left = job_field(job, CSC_D_ZERO_PADDING__PAD_LEFT);
    conv->pad_top = job_field(job, CSC_D_ZERO_PADDING__PAD_TOP);
    conv->pad_right = job_field(job, CDMA_D_ZERO_PADDING__PAD_RIGHT);
    conv->pad_value = (int8_t)nvdla_sign_extend(
        job_field(job, CSC_D_ZERO_PADDING_VALUE__PAD_VALUE), 8);
    conv->truncate = job_field(job, CACC_D_CLIP_CFG__CLIP_TRUNCATE);
}

static bool refuse_shapes(struct conv *conv)
{
    struct nvdla_job *job = conv->job;
    uint32_t merged = conv->deep << conv->merge;

    if (conv->image && conv->columns != 1u) {
        nvdla_job_reject(job, CSC_D_WEIGHT_SIZE_EXT_0__WEIGHT_WIDTH_EXT,
                         "image mode counts columns as channels: must be 0");
        return false;
    }
    if (conv->image &&
        job_field(job, CDMA_D_DATAIN_FORMAT__PIXEL_MAPPING) != 0) {
        nvdla_job_reject(job, CDMA_D_DATAIN_FORMAT__PIXEL_MAPPING, "reserved");
        return false;
    }
    if (conv->merge == 3u || (conv->merge != 0 && !conv->image)) {
        nvdla_job_reject(job, CSC_D_POST_Y_EXTENSION__Y_EXTENSION,
                         "0, 1 or 2, and only for images");
        return false;
    }
    if (conv->merge != 0 && merged > job->config->atomic_c) {
        nvdla_job_reject(job, CSC_D_POST_Y_EXTENSION__Y_EXTENSION,
                         "the merged rows pass one channel step");
        return false;
    }
    return true;
}

/* Two copies of a value that must agree. */
static void check_copies(struct nvdla_job *job)
{
    static const uint32_t pairs[][2] = {
        {CDMA_D_DATAIN_SIZE_EXT_0__DATAIN_WIDTH_EXT,
         CSC_D_DATAIN_SIZE_EXT_0__DATAIN_WIDTH_EXT},
        {CDMA_D_DATAIN_SIZE_EXT_0__DATAIN_HEIGHT_EXT,
         CSC_D_DATAIN_SIZE_EXT_0__DATAIN_HEIGHT_EXT},
        {CDMA_D_DATAIN_SIZE_1__DATAIN_CHANNEL,
         CSC_D_DATAIN_SIZE_EXT_1__DATAIN_CHANNEL_EXT},
        {CDMA_D_ENTRY_PER_SLICE__ENTRIES, CSC_D_ENTRY_PER_SLICE__ENTRIES},
        {CDMA_D_WEIGHT_SIZE_1__WEIGHT_KERNEL,
         CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_KERNEL},
        {CDMA_D_WEIGHT_BYTES__WEIGHT_BYTES, CSC_D_WEIGHT_BYTES__WEIGHT_BYTES},
        {CDMA_D_CONV_STRIDE__CONV_X_STRIDE,
         CSC_D_CONV_STRIDE_EXT__CONV_X_STRIDE_EXT},
        {CDMA_D_CONV_STRIDE__CONV_Y_STRIDE,
         CSC_D_CONV_STRIDE_EXT__CONV_Y_STRIDE_EXT},
        {CDMA_D_ZERO_PADDING__PAD_LEFT, CSC_D_ZERO_PADDING__PAD_LEFT},
        {CDMA_D_ZERO_PADDING__PAD_TOP, CSC_D_ZERO_PADDING__PAD_TOP},
        {CDMA_D_ZERO_PADDING_VALUE__PAD_VALUE,
         CSC_D_ZERO_PADDING_VALUE__PAD_VALUE},
        {CDMA_D_BANK__DATA_BANK, CSC_D_BANK__DATA_BANK},
        {CDMA_D_BANK__WEIGHT_BANK, CSC_D_BANK__WEIGHT_BANK},
        {CSC_D_DATAOUT_SIZE_0__DATAOUT_WIDTH,
         CACC_D_DATAOUT_SIZE_0__DATAOUT_WIDTH},
        {CSC_D_DATAOUT_SIZE_0__DATAOUT_HEIGHT,
         CACC_D_DATAOUT_SIZE_0__DATAOUT_HEIGHT},
        {CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_KERNEL,
         CSC_D_DATAOUT_SIZE_1__DATAOUT_CHANNEL},
        {CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_KERNEL,
         CACC_D_DATAOUT_SIZE_1__DATAOUT_CHANNEL},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (job_field(job, pairs[i][0]) != job_field(job, pairs[i][1])) {
            const struct nvdla_register *other =
                nvdla_register_find(nvdla_field_offset(pairs[i][0]));

            nvdla_job_error(job, "%s.%s = %u: %s.%s is %u",
                            nvdla_csb_name(nvdla_field_offset(pairs[i][1])),
                            nvdla_field_name(pairs[i][1]),
                            (unsigned)job_field(job, pairs[i][1]), other->name,
                            nvdla_field_name(pairs[i][0]),
                            (unsigned)job_field(job, pairs[i][0]));
        }
    }
}

/* Buffer entries that a row of a feature cube takes. */
static uint32_t feature_entries(const struct conv *conv)
{
    const struct nvdla_config *config = conv->job->config;
    uint32_t atoms = (conv->channels + config->atom - 1u) / config->atom;
    uint32_t per_entry = config->cbuf_width / config->atom;
    uint32_t rest = atoms % per_entry;
    uint32_t extra = 0;

    if (rest * 2u > per_entry) {
        extra = conv->width;
    } else if (rest * 2u == per_entry) {
        extra = (conv->width + 1u) / 2u;
    } else if (rest * 4u == per_entry) {
        extra = (conv->width + 3u) / 4u;
    }
    return atoms / per_entry * conv->width + extra;
}

static void check_buffer(struct conv *conv)
{
    struct nvdla_job *job = conv->job;
    const struct nvdla_config *config = job->config;
    uint32_t entries = job_count(job, CDMA_D_ENTRY_PER_SLICE__ENTRIES);
    uint32_t data_banks = job_count(job, CDMA_D_BANK__DATA_BANK);
    uint32_t weight_banks = job_count(job, CDMA_D_BANK__WEIGHT_BANK);
    bool packed = job_field(job, CDMA_D_DAIN_MAP__LINE_PACKED) != 0;
    bool fits_line = job_field(job, CDMA_D_LINE_STRIDE__LINE_STRIDE) ==
                     conv->width * config->atom;

    if (data_banks + weight_banks > config->cbuf_banks) {
        nvdla_job_reject(job, CDMA_D_BANK__WEIGHT_BANK,
                         "more banks than the buffer has");
    }
    if ((uint64_t)entries * conv->height >
        (uint64_t)data_banks * config->cbuf_depth) {
        nvdla_job_reject(job, CDMA_D_BANK__DATA_BANK,
                         "the input does not fit into these banks");
    }
    if (conv->image) {
        return;
    }
    if (entries != feature_entries(conv)) {
        nvdla_job_reject(job, CDMA_D_ENTRY_PER_SLICE__ENTRIES,
                         "a row of this cube takes another number of entries");
    }
    if (packed != fits_line) {
        nvdla_job_reject(job, CDMA_D_DAIN_MAP__LINE_PACKED,
                         "must say whether LINE_STRIDE is width * atom");
    }
    if (!packed && job_field(job, CDMA_D_FETCH_GRAIN__GRAINS) != 0) {
        nvdla_job_reject(job, CDMA_D_FETCH_GRAIN__GRAINS,
                         "must be 0 for rows that are not packed");
    }
}

static void check_geometry(struct conv *conv)
{
    struct nvdla_job *job = conv->job;
    uint64_t reach = (uint64_t)(conv->out_width - 1u) * conv->stride_x;
    uint64_t below = (uint64_t)(conv->out_height - 1u) * conv->stride_y +
                     (uint64_t)(conv->rows - 1u) * conv->dilation_y + 1u;
    uint64_t row = (uint64_t)conv->pad_left + conv->width + conv->pad_right;
    uint32_t pad_bottom = job_field(job, CDMA_D_ZERO_PADDING__PAD_BOTTOM);

    if (conv->image) {
        reach = reach * conv->channels + conv->deep;
        row *= conv->channels;
    } else {
        reach += (uint64_t)(conv->columns - 1u) * conv->dilation_x + 1u;
        if (conv->deep != conv->channels) {
            nvdla_job_reject(job, CSC_D_WEIGHT_SIZE_EXT_1__WEIGHT_CHANNEL_EXT,
                             "the input has another number of channels");
        }
    }
    if (reach > row) {
        nvdla_job_reject(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_WIDTH,
                         "the last column lies right of the padded input");
    }
    if (below > (uint64_t)conv->pad_top + conv->height + pad_bottom) {
        nvdla_job_reject(job, CSC_D_DATAOUT_SIZE_0__DATAOUT_HEIGHT,
                         "the last row lies below the padded input");
    }
}

static bool check_work(struct conv *conv, struct nvdla_cube wanted)
{
    struct nvdla_job *job = conv->job;
    uint32_t atom = job->config->atom;
    uint64_t outputs = (uint64_t)conv->out_width * conv->out_height;
    uint64_t products =
        (uint64_t)conv->rows * conv->columns * conv->deep * conv->kernel_count;

    if (wanted.width != conv->out_width || wanted.height != conv->out_height ||
        wanted.surfaces != (conv->kernel_count + atom - 1u) / atom) {
        nvdla_job_error(job, "SDP.D_DATA_CUBE_*: CSC delivers a cube of "
                             "another size");
        return false;
    }
    if (wanted.channels != conv->kernel_count) {
        nvdla_job_reject(job, SDP_D_DATA_CUBE_CHANNEL__CHANNEL,
                         "CSC has another number of kernels");
    }
    if (products > job->max_macs / outputs) {
        nvdla_job_error(job,
                        "CSC.D_DATAOUT_SIZE_0 and D_WEIGHT_SIZE_EXT: %" PRIu64
                        " outputs of %" PRIu64 " products are more than is "
                        "emulated",
                        outputs, products);
        return false;
    }
    return true;
}

/*
 * Results of some rows for one group of kernels, [row][pitch][CONV_GROUP].
 *
 * Where that takes fewer steps, the rows are computed as one long line of
 * pixels: those between the end of a row and the start of the next one are
 * computed as well and ignored.
 */
struct strip {
    uint32_t first_row, row_count;
    uint32_t pitch; /* pixels */
    bool joined;
    int32_t *sums;
    int64_t *wide; /* NULL when one segment is enough */
};

static size_t strip_pixels(const struct conv *conv, const struct strip *strip)
{
    return (size_t)(strip->row_count - 1u) * strip->pitch + conv->out_width;
}

/* Runs that can be summed in 32 bits: from `first`, returns the end. */
static size_t segment_end(const struct conv *conv, size_t first)
{
    size_t per_group = conv->kernels->kind == KERNEL_WORDS ? 2u : 4u;
    size_t limit = TILE_MAX_ELEMENTS / per_group;
    size_t total = conv->runs[first].groups;
    size_t end = first + 1u;

    while (end < conv->run_count && total + conv->runs[end].groups <= limit) {
        total += conv->runs[end].groups;
        end++;
    }
    return end;
}

/* With elements that are 128 too large, sums start that much lower. */
static void start_sums(const struct conv *conv, size_t first, size_t end,
                       int32_t *start)
{
    memset(start, 0, CONV_GROUP * sizeof *start);
    if (conv->weight_sum == NULL) {
        return;
    }
    for (size_t r = first; r < end; r++) {
        for (size_t k = 0; k < CONV_GROUP; k++) {
            /* Modulo 2^32, as the sums are on the way. */
            start[k] =
                (int32_t)((uint32_t)start[k] -
                          128u *
                              (uint32_t)conv->weight_sum[r * CONV_GROUP + k]);
        }
    }
}

/* Rounds and saturates `count` results of CACC; returns how many saturated. */
FWGEN_CLONES
static uint32_t round_sums(int32_t *sums, const int64_t *wide, unsigned shift,
                           size_t count)
{
    int64_t half = (int64_t)(((uint64_t)1 << shift) >> 1);
    uint32_t saturated = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t r = nvdla_round_shift_line(wide != NULL ? wide[i] : sums[i],
                                           shift, half);
        int64_t clamped = r > INT32_MAX   ? INT32_MAX
                          : r < INT32_MIN ? INT32_MIN
                                          : r;

        saturated += clamped != r ? 1u : 0u;
        sums[i] = (int32_t)clamped;
    }
    return saturated;
}

/* CACC: RS and saturation of everything in the strip. */
static void deliver(struct conv *conv, const struct strip *strip,
                    unsigned blocks)
{
    size_t count = (size_t)blocks * TILE_BLOCK;

    if (strip->wide == NULL && conv->truncate == 0) {
        return;
    }
    for (uint32_t row = 0; row < strip->row_count; row++) {
        for (uint32_t x = 0; x < conv->out_width; x++) {
            size_t at = ((size_t)row * strip->pitch + x) * CONV_GROUP;

            conv->job->cacc_saturation += round_sums(
                strip->sums + at, strip->wide != NULL ? strip->wide + at : NULL,
                conv->truncate, count);
        }
    }
}

static void compute_strip(struct conv *conv, const struct strip *strip,
                          unsigned blocks)
{
    size_t count = strip_pixels(conv, strip) * CONV_GROUP;
    int32_t start[CONV_GROUP];
    size_t before = 0;
    struct conv_panel panel = {
        .input = conv->data +
                 (size_t)strip->first_row * conv->stride_y * conv->row_bytes,
        .pixel_step =
            (size_t)conv->stride_x * conv->pixel_elements * conv->element_bytes,
        .row_step = conv->stride_y * conv->row_bytes,
        .columns = strip->joined ? strip_pixels(conv, strip) : conv->out_width,
        .rows = strip->joined ? 1u : strip->row_count,
        .block_bytes = conv->block_bytes,
        .blocks = blocks,
        .start = start,
        .out = strip->sums,
    };

    if (strip->wide != NULL) {
        memset(strip->wide, 0, count * sizeof *strip->wide);
        /* The lanes of no block are added up as well. */
        memset(strip->sums, 0, count * sizeof *strip->sums);
    }
    for (size_t first = 0; first < conv->run_count;) {
        size_t end = segment_end(conv, first);

        start_sums(conv, first, end, start);
        panel.runs = conv->runs + first;
        panel.run_count = end - first;
        panel.weights = conv->packed + before * TILE_BLOCK * 4u;
        conv->kernels->panel(&panel);
        for (size_t i = 0; strip->wide != NULL && i < count; i++) {
            strip->wide[i] += strip->sums[i];
        }
        for (; first < end; first++) {
            before += conv->runs[first].groups;
        }
    }
    deliver(conv, strip, blocks);
}

/* Kernels `first` ... of the group: surfaces go to SDP row by row. */
static bool run_group(struct conv *conv, struct nvdla_sdp *sdp,
                      struct strip *strip, uint32_t rows_at_once,
                      uint32_t first)
{
    uint32_t atom = conv->job->config->atom;
    uint32_t left = conv->kernel_count - first;
    uint32_t kernels = left < CONV_GROUP ? left : CONV_GROUP;
    uint32_t surfaces = (kernels + atom - 1u) / atom;
    unsigned blocks = (surfaces * atom + TILE_BLOCK - 1u) / TILE_BLOCK;

    conv_weights_pack(conv, first, blocks);
    for (uint32_t y = 0; y < conv->out_height; y += rows_at_once) {
        uint32_t rest = conv->out_height - y;

        strip->first_row = y;
        strip->row_count = rest < rows_at_once ? rest : rows_at_once;
        compute_strip(conv, strip, blocks);
        for (uint32_t surface = 0; surface < surfaces; surface++) {
            if (!nvdla_sdp_lines(
                    sdp, first / atom + surface, y, strip->row_count,
                    strip->sums + (size_t)surface * atom, CONV_GROUP,
                    (size_t)strip->pitch * CONV_GROUP)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether rows are joined to one line, and what follows from it. */
static void plan_strip(const struct conv *conv, uint32_t rows,
                       struct strip *strip)
{
    const uint64_t step = 32; /* pixels that kernels like to compute at once */
    uint64_t pitch =
        (uint64_t)conv->row_pixels / conv->stride_x * conv->stride_y;
    uint64_t joined = (rows - 1u) * pitch + conv->out_width;
    uint64_t apart = rows * ((conv->out_width + step - 1u) / step);

    strip->joined = (joined + step - 1u) / step < apart;
    strip->pitch = strip->joined ? (uint32_t)pitch : conv->out_width;
}

static bool run(struct conv *conv, struct nvdla_sdp *sdp)
{
    struct nvdla_job *job = conv->job;
    /* Results that stay in a second level cache. */
    uint32_t rows_at_once = 512u / conv->out_width + 1u;
    struct strip strip = {.sums = NULL};
    uint64_t values;
    bool ok = true;

    if (rows_at_once > conv->out_height) {
        rows_at_once = conv->out_height;
    }
    plan_strip(conv, rows_at_once, &strip);
    /* The largest product is 2^14. */
    nvdla_sdp_limit(sdp,
                    nvdla_round_shift(
                        (int64_t)conv->rows * conv->columns * conv->deep << 14,
                        conv->truncate));
    values = ((uint64_t)(rows_at_once - 1u) * strip.pitch + conv->out_width) *
             CONV_GROUP;
    strip.sums =
        nvdla_scratch_take(job, (values + PANEL_SLACK) * sizeof *strip.sums);
    ok = strip.sums != NULL;
    if (ok && segment_end(conv, 0) < conv->run_count) {
        strip.wide = nvdla_scratch_take(job, values * sizeof *strip.wide);
        ok = strip.wide != NULL;
    }
    for (uint32_t first = 0; ok && first < conv->kernel_count;
         first += CONV_GROUP) {
        ok = run_group(conv, sdp, &strip, rows_at_once, first);
    }
    nvdla_scratch_give(strip.sums);
    nvdla_scratch_give(strip.wide);
    return ok;
}

bool nvdla_conv_run(struct nvdla_job *job, struct nvdla_sdp *sdp)
{
    struct conv conv = {.job = job, .kernels = conv_kernels_select()};
    bool ok;

    if (!refuse_modes(job)) {
        return false;
    }
    read_registers(&conv);
    conv.element_bytes = conv.kernels->kind == KERNEL_WORDS ? 2u : 1u;
    if (!refuse_shapes(&conv)) {
        return false;
    }
    check_copies(job);
    check_buffer(&conv);
    check_geometry(&conv);
    ok = check_work(&conv, nvdla_sdp_cube(sdp)) && conv_fetch(&conv) &&
         conv_weights_open(&conv) && run(&conv, sdp);
    nvdla_scratch_give(conv.data);
    nvdla_scratch_give(conv.runs);
    nvdla_scratch_give(conv.stored);
    nvdla_scratch_give(conv.stage);
    nvdla_scratch_give(conv.packed);
    nvdla_scratch_give(conv.weight_sum);
    return ok;
}
