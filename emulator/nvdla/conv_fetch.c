/*
 * conv_fetch.c - CDMA: reads a feature cube or an image, converts and pads it.
 *
 * Converter (CVT_EN): sat8(sat17(RS((x - offset) * scale, truncate))). Feature
 * data are signed. Pixels are unsigned unless PIXEL_SIGN_OVERRIDE, and with
 * MEAN_FORMAT each channel has its own offset. Without CVT_EN bytes pass.
 * Padding comes after the conversion and is not converted.
 *
 * Pixel formats: 8-bit ones only. The name lists channels from the most
 * significant byte on; channels come out as R, G, B, A (or Y, U, V, A).
 */
#include <string.h>

#include "arith.h"
#include "conv.h"
#include "scratch.h"

struct pixel_format {
    uint8_t channels;
    uint8_t source[4]; /* byte of each channel in its plane's pixel */
    bool semi_planar;  /* channel 0 in plane 0, the others in plane 1 */
};

/* The converter as a table: one entry per byte value, for each channel. */
struct converter {
    uint8_t entry[4][256]; /* int8 results, turned into kernels' bytes */
};

/* What turns an int8 into the byte that the kernels want (not WORDS). */
static uint8_t flip_of(const struct conv *conv)
{
    return conv->kernels->kind == KERNEL_BYTES ? 0x80u : 0u;
}

static bool find_format(struct nvdla_job *job, struct pixel_format *format)
{
    static const struct pixel_format single = {1, {0, 0, 0, 0}, false};
    static const struct pixel_format abgr = {4, {0, 1, 2, 3}, false};
    static const struct pixel_format argb = {4, {2, 1, 0, 3}, false};
    static const struct pixel_format bgra = {4, {1, 2, 3, 0}, false};
    static const struct pixel_format rgba = {4, {3, 2, 1, 0}, false};
    static const struct pixel_format y_uv = {3, {0, 1, 0, 0}, true};
    static const struct pixel_format y_vu = {3, {0, 0, 1, 0}, true};

    switch (job_field(job, CDMA_D_DATAIN_FORMAT__PIXEL_FORMAT)) {
    case 0: /* R8 */
        *format = single;
        return true;
    case 12: /* A8B8G8R8 */
    case 16: /* X8B8G8R8 */
        *format = abgr;
        return true;
    case 13: /* A8R8G8B8 */
    case 17: /* X8R8G8B8 */
    case 26: /* A8Y8U8V8 */
        *format = argb;
        return true;
    case 14: /* B8G8R8A8 */
    case 18: /* B8G8R8X8 */
    case 27: /* V8U8Y8A8 */
        *format = bgra;
        return true;
    case 15: /* R8G8B8A8 */
    case 19: /* R8G8B8X8 */
        *format = rgba;
        return true;
    case 28: /* Y8___U8V8_N444 */
        *format = y_uv;
        return true;
    case 29: /* Y8___V8U8_N444 */
        *format = y_vu;
        return true;
    default:
        nvdla_job_reject(job, CDMA_D_DATAIN_FORMAT__PIXEL_FORMAT,
                         "only 8-bit pixels are modelled");
        return false;
    }
}

static void fill_converter(const struct conv *conv, struct converter *converter)
{
    static const uint32_t means[4] = {
        CDMA_D_MEAN_GLOBAL_0__MEAN_RY, CDMA_D_MEAN_GLOBAL_0__MEAN_GU,
        CDMA_D_MEAN_GLOBAL_1__MEAN_BV, CDMA_D_MEAN_GLOBAL_1__MEAN_AX};
    const struct nvdla_job *job = conv->job;
    bool enabled = job_field(job, CDMA_D_CVT_CFG__CVT_EN) != 0;
    bool own_mean =
        conv->image && job_field(job, CDMA_D_MEAN_FORMAT__MEAN_FORMAT) != 0;
    bool is_signed =
        !conv->image ||
        job_field(job, CDMA_D_DATAIN_FORMAT__PIXEL_SIGN_OVERRIDE) != 0;
    unsigned shift = job_field(job, CDMA_D_CVT_CFG__CVT_TRUNCATE);
    int64_t scale =
        nvdla_sign_extend(job_field(job, CDMA_D_CVT_SCALE__CVT_SCALE), 16);

    for (unsigned channel = 0; channel < 4; channel++) {
        int64_t offset = nvdla_sign_extend(
            job_field(job, own_mean ? means[channel]
                                    : CDMA_D_CVT_OFFSET__CVT_OFFSET),
            16);

        for (unsigned byte = 0; byte < 256; byte++) {
            int64_t value =
                is_signed ? nvdla_sign_extend(byte, 8) : (int32_t)byte;

            /* Saturation to 17 bits first changes nothing in 8. */
            uint8_t result = enabled ? (uint8_t)(uint64_t)nvdla_convert(
                                           value, offset, scale, shift, 8)
                                     : (uint8_t)byte;

            converter->entry[channel][byte] = result ^ flip_of(conv);
        }
    }
}

/* `pixels` pieces of `count` bytes; alone for each size that is common. */
static inline void spread_bytes(uint8_t *to, size_t to_step,
                                const uint8_t *from, size_t from_step,
                                uint32_t pixels, uint32_t count, uint8_t flip)
{
    for (uint32_t x = 0; x < pixels; x++, to += to_step, from += from_step) {
        for (uint32_t i = 0; i < count; i++) {
            to[i] = from[i] ^ flip;
        }
    }
}

static void spread_words(uint8_t *to, size_t to_step, const uint8_t *from,
                         size_t from_step, uint32_t pixels, uint32_t count,
                         const uint8_t *table)
{
    for (uint32_t x = 0; x < pixels; x++, to += to_step, from += from_step) {
        for (uint32_t i = 0; i < count; i++) {
            int16_t wide = (int8_t)(table != NULL ? table[from[i]] : from[i]);

            memcpy(to + (size_t)i * 2u, &wide, sizeof wide);
        }
    }
}

/*
 * `count` channels of each of `pixels` pixels of a line, which lie atom bytes
 * apart, into the buffer. table: the converter, or NULL.
 */
static void spread(const struct conv *conv, uint8_t *to, const uint8_t *from,
                   uint32_t pixels, uint32_t count, const uint8_t *table)
{
    size_t to_step = (size_t)conv->pixel_elements * conv->element_bytes;
    size_t from_step = conv->job->config->atom;
    uint8_t flip = flip_of(conv);

    if (conv->kernels->kind == KERNEL_WORDS) {
        spread_words(to, to_step, from, from_step, pixels, count, table);
    } else if (table != NULL) {
        for (uint32_t x = 0; x < pixels; x++) {
            for (uint32_t i = 0; i < count; i++) {
                to[x * to_step + i] = table[from[x * from_step + i]];
            }
        }
    } else if (count == 4u) {
        spread_bytes(to, to_step, from, from_step, pixels, 4u, flip);
    } else if (count == 8u) {
        spread_bytes(to, to_step, from, from_step, pixels, 8u, flip);
    } else if (count == 16u) {
        spread_bytes(to, to_step, from, from_step, pixels, 16u, flip);
    } else if (count == 32u) {
        spread_bytes(to, to_step, from, from_step, pixels, 32u, flip);
    } else {
        spread_bytes(to, to_step, from, from_step, pixels, count, flip);
    }
}

/* Some pixels of padding at the start of the first row. */
static void fill_pixels(const struct conv *conv)
{
    size_t elements = (size_t)conv->row_pixels * conv->pixel_elements;

    if (conv->kernels->kind == KERNEL_WORDS) {
        int16_t wide = conv->pad_value;

        for (size_t i = 0; i < elements; i++) {
            memcpy(conv->data + 2u * i, &wide, sizeof wide);
        }
    } else {
        memset(conv->data, (uint8_t)conv->pad_value ^ flip_of(conv), elements);
    }
}

/*
 * Padding wherever the input will not be: `used` pixels of each of its rows.
 * Channels past the last one have weights 0 and may be anything.
 */
static void fill_padding(const struct conv *conv, uint32_t used)
{
    size_t pixel_bytes = (size_t)conv->pixel_elements * conv->element_bytes;
    size_t left = (size_t)conv->pad_left * pixel_bytes;
    size_t end = left + used * pixel_bytes;
    const uint8_t *first = conv->data;

    fill_pixels(conv);
    for (uint32_t y = 1; y < conv->buffer_rows; y++) {
        uint8_t *row = conv->data + y * conv->row_bytes;

        if (used == 0 || y < conv->pad_top ||
            y - conv->pad_top >= conv->height) {
            memcpy(row, first, conv->row_bytes);
        } else {
            memcpy(row, first, left);
            memcpy(row + end, first + end, conv->row_bytes - end);
        }
    }
}

/*
 * pixels: what a row needs. All rows follow each other without gaps, and a row
 * is a whole number of output pixels long, so that pixels of several rows can
 * be computed as one line (see conv.c).
 */
static bool allocate(struct conv *conv, uint64_t pixels)
{
    /* A run may reach past the row: one unit of the kernels. */
    size_t slack = (size_t)conv->kernels->unit * 4u;
    uint64_t whole =
        (pixels + conv->stride_x - 1u) / conv->stride_x * conv->stride_x;
    uint64_t bytes = whole * conv->pixel_elements * conv->element_bytes;

    conv->row_pixels = (uint32_t)whole;
    conv->row_bytes = (size_t)bytes;
    conv->data =
        nvdla_scratch_take(conv->job, bytes * conv->buffer_rows + slack);
    if (conv->data == NULL) {
        return false;
    }
    memset(conv->data + bytes * conv->buffer_rows, 0, slack);
    return true;
}

/* The row of the buffer that holds input row y, or NULL when none does. */
static uint8_t *buffer_row(const struct conv *conv, uint32_t y)
{
    uint64_t row = (uint64_t)y + conv->pad_top;

    return row < conv->buffer_rows ? conv->data + row * conv->row_bytes : NULL;
}

/* Channels that the kernels have and the input lacks count as 0. */
static void clear_missing(const struct conv *conv)
{
    size_t step = (size_t)conv->pixel_elements * conv->element_bytes;
    size_t missing =
        (size_t)(conv->pixel_elements - conv->channels) * conv->element_bytes;
    uint8_t *at = conv->data + (size_t)conv->channels * conv->element_bytes;

    for (uint32_t y = 0; y < conv->buffer_rows; y++) {
        for (uint32_t x = 0; x < conv->row_pixels; x++, at += step) {
            memset(at, flip_of(conv), missing);
        }
    }
}

static bool fetch_feature(struct conv *conv)
{
    struct nvdla_job *job = conv->job;
    uint32_t atom = job->config->atom;
    uint32_t surfaces = (conv->channels + atom - 1u) / atom;
    struct nvdla_port port = {
        .name = "CDMA.D_DAIN_ADDR_LOW_0",
        .base = job_address(job, CDMA_D_DAIN_ADDR_HIGH_0__DATAIN_ADDR_HIGH_0,
                            CDMA_D_DAIN_ADDR_LOW_0__DATAIN_ADDR_LOW_0),
        .line = job_field(job, CDMA_D_LINE_STRIDE__LINE_STRIDE),
        .surface = job_field(job, CDMA_D_SURF_STRIDE__SURF_STRIDE),
    };
    struct converter converter;
    bool converts = job_field(job, CDMA_D_CVT_CFG__CVT_EN) != 0;
    const uint8_t *table = converts ? converter.entry[0] : NULL;
    uint32_t buffer_pixels = (conv->out_width - 1u) * conv->stride_x +
                             (conv->columns - 1u) * conv->dilation_x + 1u;
    uint32_t needed =
        buffer_pixels > conv->pad_left ? buffer_pixels - conv->pad_left : 0u;
    uint32_t used = needed < conv->width ? needed : conv->width;
    uint8_t *line;
    bool ok = true;

    conv->pixel_elements = (conv->deep + 3u) & ~3u;
    if (!nvdla_port_select(job, &port, CDMA_D_DAIN_RAM_TYPE__DATAIN_RAM_TYPE) ||
        !allocate(conv, buffer_pixels)) {
        return false;
    }
    if (converts) {
        fill_converter(conv, &converter);
    }
    fill_padding(conv, used);
    line = nvdla_scratch_take(job, (uint64_t)conv->width * atom);
    if (line == NULL) {
        return false;
    }
    for (uint32_t surface = 0; ok && surface < surfaces; surface++) {
        uint32_t first = surface * atom;
        uint32_t left;

        if (first >= conv->pixel_elements) {
            break;
        }
        /* The last channels together with those that round them up. */
        left = conv->pixel_elements - first;
        for (uint32_t y = 0; ok && y < conv->height; y++) {
            uint8_t *row = buffer_row(conv, y);

            if (row == NULL || used == 0) {
                break;
            }
            ok = nvdla_dma_read(job, &port,
                                (uint64_t)surface * port.surface +
                                    (uint64_t)y * port.line,
                                line, (size_t)conv->width * atom);
            if (ok) {
                row += ((size_t)conv->pad_left * conv->pixel_elements + first) *
                       conv->element_bytes;
                spread(conv, row, line, used, left < atom ? left : atom, table);
            }
        }
    }
    nvdla_scratch_give(line);
    if (conv->channels < conv->deep) {
        clear_missing(conv);
    }
    return ok;
}

/* One plane of one image row into `pixels` ([x][bytes]). */
static bool read_plane(struct conv *conv, const struct nvdla_port *port,
                       uint32_t y, uint32_t bytes, uint8_t *pixels)
{
    uint32_t skip =
        job_field(conv->job, CDMA_D_PIXEL_OFFSET__PIXEL_X_OFFSET) * bytes;

    return nvdla_dma_read(conv->job, port, (uint64_t)y * port->line + skip,
                          pixels, (size_t)conv->width * bytes);
}

static bool open_planes(struct conv *conv, struct nvdla_port *planes)
{
    struct nvdla_job *job = conv->job;

    planes[0] = (struct nvdla_port){
        .name = "CDMA.D_DAIN_ADDR_LOW_0",
        .base = job_address(job, CDMA_D_DAIN_ADDR_HIGH_0__DATAIN_ADDR_HIGH_0,
                            CDMA_D_DAIN_ADDR_LOW_0__DATAIN_ADDR_LOW_0),
        .line = job_field(job, CDMA_D_LINE_STRIDE__LINE_STRIDE),
    };
    planes[1] = (struct nvdla_port){
        .name = "CDMA.D_DAIN_ADDR_LOW_1",
        .base = job_address(job, CDMA_D_DAIN_ADDR_HIGH_1__DATAIN_ADDR_HIGH_1,
                            CDMA_D_DAIN_ADDR_LOW_1__DATAIN_ADDR_LOW_1),
        .line = job_field(job, CDMA_D_LINE_UV_STRIDE__UV_LINE_STRIDE),
    };
    if (!nvdla_port_select(job, &planes[0],
                           CDMA_D_DAIN_RAM_TYPE__DATAIN_RAM_TYPE)) {
        return false;
    }
    planes[1].space = planes[0].space;
    return true;
}

/* One channel of `pixels` pixels, whose bytes lie `step` apart. */
static void convert_channel(const struct conv *conv, uint8_t *to,
                            const uint8_t *from, size_t step, uint32_t pixels,
                            const uint8_t *table)
{
    size_t to_step = (size_t)conv->channels * conv->element_bytes;

    if (conv->kernels->kind == KERNEL_WORDS) {
        for (uint32_t x = 0; x < pixels; x++) {
            int16_t wide = (int8_t)table[from[x * step]];

            memcpy(to + x * to_step, &wide, sizeof wide);
        }
        return;
    }
    for (uint32_t x = 0; x < pixels; x++) {
        to[x * to_step] = table[from[x * step]];
    }
}

static bool fetch_image(struct conv *conv)
{
    struct nvdla_job *job = conv->job;
    struct pixel_format format;
    struct converter converter;
    struct nvdla_port planes[2];
    uint64_t row_elements;
    uint64_t buffer_pixels;
    uint64_t used;
    uint32_t first_bytes;
    uint8_t *pixels;
    bool ok = true;

    if (!find_format(job, &format) || !open_planes(conv, planes)) {
        return false;
    }
    if (format.channels != conv->channels) {
        nvdla_job_reject(job, CDMA_D_DATAIN_SIZE_1__DATAIN_CHANNEL,
                         "the pixel format has another number of channels");
        return false;
    }
    conv->pixel_elements = conv->channels;
    row_elements =
        (uint64_t)(conv->out_width - 1u) * conv->stride_x * conv->channels +
        conv->deep;
    buffer_pixels = (row_elements + conv->channels - 1u) / conv->channels;
    if (!allocate(conv, buffer_pixels)) {
        return false;
    }
    fill_converter(conv, &converter);
    used = buffer_pixels > conv->pad_left ? buffer_pixels - conv->pad_left : 0u;
    used = used < conv->width ? used : conv->width;
    fill_padding(conv, (uint32_t)used);
    pixels = nvdla_scratch_take(job, (uint64_t)conv->width * 6u);
    if (pixels == NULL) {
        return false;
    }
    first_bytes = format.semi_planar ? 1u : conv->channels;
    for (uint32_t y = 0; ok && y < conv->height; y++) {
        uint8_t *row = buffer_row(conv, y);
        uint8_t *second = pixels + (size_t)conv->width * 4u;

        if (row == NULL || used == 0) {
            break;
        }
        ok = read_plane(conv, &planes[0], y, first_bytes, pixels) &&
             (!format.semi_planar ||
              read_plane(conv, &planes[1], y, 2u, second));
        row += (size_t)conv->pad_left * conv->channels * conv->element_bytes;
        for (uint32_t c = 0; ok && c < conv->channels; c++) {
            bool from_second = format.semi_planar && c > 0;

            convert_channel(conv, row + (size_t)c * conv->element_bytes,
                            (from_second ? second : pixels) + format.source[c],
                            from_second ? 2u : first_bytes, (uint32_t)used,
                            converter.entry[c]);
        }
    }
    nvdla_scratch_give(pixels);
    return ok;
}

bool conv_fetch(struct conv *conv)
{
    uint64_t rows = (uint64_t)(conv->out_height - 1u) * conv->stride_y +
                    (uint64_t)(conv->rows - 1u) * conv->dilation_y + 1u;

    conv->buffer_rows = (uint32_t)rows;
    return conv->image ? fetch_image(conv) : fetch_feature(conv);
}
