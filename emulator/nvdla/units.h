/*
 * units.h - the datapaths and how they are chained.
 *
 * A consumer takes lines: one row y of one surface (atom channels), W pixels,
 * each atom values apart from `stride` values.
 */
#ifndef FWGEN_NVDLA_UNITS_H
#define FWGEN_NVDLA_UNITS_H

#include "dma.h"
#include "model.h"

struct nvdla_cube {
    uint32_t width, height, channels, surfaces;
};

struct nvdla_sdp;

/* A whole int8 cube in host memory, [surface][y][x][atom]. */
struct nvdla_cube_buffer {
    struct nvdla_cube cube;
    int8_t *data;
};

/* Each returns false after a job error; nothing more is written then. */

/* conv.c: computes all results and hands them to SDP. */
bool nvdla_conv_run(struct nvdla_job *job, struct nvdla_sdp *sdp);

/* sdp.c */
struct nvdla_sdp *nvdla_sdp_create(struct nvdla_job *job,
                                   struct nvdla_cube_buffer *to_pdp);
struct nvdla_cube nvdla_sdp_cube(const struct nvdla_sdp *sdp);
/* A promise: no value of a line will be larger, nor smaller than minus that. */
void nvdla_sdp_limit(struct nvdla_sdp *sdp, int64_t magnitude);
void nvdla_sdp_destroy(struct nvdla_sdp *sdp);
/* `count` lines of CACC results from y on; channel k of pixel x of the i-th is
 * values[i * row_stride + x * stride + k]. */
bool nvdla_sdp_lines(struct nvdla_sdp *sdp, uint32_t surface, uint32_t y,
                     uint32_t count, const int32_t *values, size_t stride,
                     size_t row_stride);
/* Reads the whole source cube from memory. */
bool nvdla_sdp_run_memory(struct nvdla_sdp *sdp);

/* pdp.c: input is NULL for a source in memory. */
bool nvdla_pdp_run(struct nvdla_job *job,
                   const struct nvdla_cube_buffer *input);

/* cdp.c */
bool nvdla_cdp_run(struct nvdla_job *job);

/* bdma.c */
bool nvdla_bdma_run(struct nvdla_job *job);

/* rubik.c */
bool nvdla_rubik_run(struct nvdla_job *job);
uint64_t nvdla_rubik_target(const struct nvdla_job *job);

#endif
