/*
 * dma.h - memory access of a job, with bounds left to the owner of the model.
 */
#ifndef FWGEN_NVDLA_DMA_H
#define FWGEN_NVDLA_DMA_H

#include "model.h"

/* A cube in memory: byte of channel c, row y, column x lies at
 * base + (c / atom) * surface + y * line + x * atom + c % atom. */
struct nvdla_port {
    const char *name; /* for messages: register that holds the base */
    enum accel_space space;
    uint64_t base;
    uint64_t line;
    uint64_t surface;
};

/* ram_type is the field of the *_RAM_TYPE register: 1 main memory, 0 CVSRAM,
 * which must exist; false (and an error) otherwise. */
bool nvdla_port_select(struct nvdla_job *job, struct nvdla_port *port,
                       uint32_t ram_type_field);
/* Both report a guest error and return false outside the memory. */
bool nvdla_dma_read(struct nvdla_job *job, const struct nvdla_port *port,
                    uint64_t offset, void *data, size_t size);
bool nvdla_dma_write(struct nvdla_job *job, const struct nvdla_port *port,
                     uint64_t offset, const void *data, size_t size);
/* NULL and an error when more than max_bytes or no memory is left. */
void *nvdla_job_allocate(struct nvdla_job *job, uint64_t size);
/* That error. */
void nvdla_job_no_memory(struct nvdla_job *job, uint64_t size);
/* Where the last unit of a job writes. */
struct nvdla_port nvdla_job_output(const struct nvdla_job *job);

#endif
