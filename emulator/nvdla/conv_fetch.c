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
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "conv.h"

struct pixel_format {
    uint8_t channels;
    uint8_t source[4]; /* byte of each channel in its plane's pixel */
    bool semi_planar;  /* channel 0 in plane 0, the others in plane 1 */
};

/* The converter as a table: one entry per byte value, for each channel. */
struct converter {
    uint8_t entry[4][256]; /* int8 results */
};

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
            converter->entry[channel][byte] =
                enabled ? (uint8_t)(uint64_t)nvdla_convert(value, offset, scale,
                                                           shift, 8)
                        : (uint8_t)byte;
        }
    }
}

/* One element in the form of the kernels. */
static inline void put(const struct conv *conv, uint8_t *at, uint8_t value)
{
    if (conv->element_bytes == 1u) {
        *at = value ^ 0x80u;
    } else {
        int16_t wide = (int8_t)value;

        memcpy(at, &wide, sizeof wide);
    }
}

/* Channels c0 ... of one pixel. */
static inline void put_run(const struct conv *conv, uint8_t *at,
                           const uint8_t *from, uint32_t count,
                           const uint8_t *table)
{
    if (conv->element_bytes == 1u && table == NULL) {
        for (uint32_t i = 0; i < count; i++) {
            at[i] = from[i] ^ 0x80u;
        }
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        put(conv, at + (size_t)i * conv->element_bytes,
            table != NULL ? table[from[i]] : from[i]);
    }
}

/* Every row: padding in the used channels, 0 in the others. */
static void fill_padding(struct conv *conv, uint32_t channels)
{
    size_t pixel_bytes = (size_t)conv->pixel_elements * conv->element_bytes;
    uint8_t *first = conv->data;
    size_t at = 0;

    for (; at + pixel_bytes <= conv->row_bytes; at += pixel_bytes) {
        for (uint32_t c = 0; c < conv->pixel_elements; c++) {
            put(conv, first + at + (size_t)c * conv->element_bytes,
                c < channels ? (uint8_t)conv->pad_value : 0u);
        }
    }
    memset(first + at, 0, conv->row_bytes - at);
    for (uint32_t y = 1; y < conv->buffer_rows; y++) {
        memcpy(conv->data + y * conv->row_bytes, first, conv->row_bytes);
    }
}

static bool allocate(struct conv *conv, uint64_t row_elements)
{
    /* A run of an image row may end with up to 3 elements of its neighbour
     * (their weights are 0). */
    uint64_t bytes = (row_elements + 4u) * conv->element_bytes;

    conv->row_bytes = (size_t)bytes;
    conv->data = nvdla_job_allocate(conv->job, bytes * conv->buffer_rows + 8u);
    return conv->data != NULL;
}

/* The row of the buffer that holds input row y, or NULL when none does. */
static uint8_t *buffer_row(const struct conv *conv, uint32_t y)
{
    uint64_t row = (uint64_t)y + conv->pad_top;

    return row < conv->buffer_rows ? conv->data + row * conv->row_bytes : NULL;
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
        !allocate(conv, (uint64_t)buffer_pixels * conv->pixel_elements)) {
        return false;
    }
    fill_converter(conv, &converter);
    fill_padding(conv,
                 conv->channels < conv->deep ? conv->channels : conv->deep);
    line = nvdla_job_allocate(job, (uint64_t)conv->width * atom);
    if (line == NULL) {
        return false;
    }
    for (uint32_t surface = 0; ok && surface < surfaces; surface++) {
        uint32_t first = surface * atom;
        uint32_t left = conv->channels - first;
        uint32_t count = left < atom ? left : atom;
        size_t pixel_bytes = (size_t)conv->pixel_elements * conv->element_bytes;

        if (first >= conv->deep) {
            break;
        }
        count = count < conv->deep - first ? count : conv->deep - first;
        for (uint32_t y = 0; ok && y < conv->height; y++) {
            uint8_t *row = buffer_row(conv, y);

            if (row == NULL || used == 0) {
                break;
            }
            ok = nvdla_dma_read(job, &port,
                                (uint64_t)surface * port.surface +
                                    (uint64_t)y * port.line,
                                line, (size_t)conv->width * atom);
            row += conv->pad_left * pixel_bytes +
                   (size_t)first * conv->element_bytes;
            for (uint32_t x = 0; ok && x < used; x++) {
                put_run(conv, row + x * pixel_bytes, line + (size_t)x * atom,
                        count, table);
            }
        }
    }
    free(line);
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
    if (!allocate(conv, buffer_pixels * conv->channels)) {
        return false;
    }
    fill_converter(conv, &converter);
    fill_padding(conv, conv->channels);
    used = buffer_pixels > conv->pad_left ? buffer_pixels - conv->pad_left : 0u;
    used = used < conv->width ? used : conv->width;
    pixels = nvdla_job_allocate(job, (uint64_t)conv->width * 6u);
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
        for (uint32_t x = 0; ok && x < used; x++) {
            for (uint32_t c = 0; c < conv->channels; c++) {
                uint8_t byte =
                    format.semi_planar && c > 0
                        ? second[2u * x + format.source[c]]
                        : pixels[(size_t)first_bytes * x + format.source[c]];

                put(conv,
                    row +
                        ((size_t)x * conv->channels + c) * conv->element_bytes,
                    converter.entry[c][byte]);
            }
        }
    }
    free(pixels);
    return ok;
}

bool conv_fetch(struct conv *conv)
{
    uint64_t rows = (uint64_t)(conv->out_height - 1u) * conv->stride_y +
                    (uint64_t)(conv->rows - 1u) * conv->dilation_y + 1u;

    conv->buffer_rows = (uint32_t)rows;
    return conv->image ? fetch_image(conv) : fetch_feature(conv);
}
