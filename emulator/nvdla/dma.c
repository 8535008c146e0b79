/*
 * dma.c - memory access of a job (see dma.h).
 *
 * Addresses are 64 bit and wrap like the hardware's adders; the owner of the
 * model decides which of them are memory.
 */
#include "dma.h"

#include <inttypes.h>
#include <stdlib.h>

#include "units.h"

bool nvdla_port_select(struct nvdla_job *job, struct nvdla_port *port,
                       uint32_t ram_type_field)
{
    if (job_field(job, ram_type_field) != 0) {
        port->space = ACCEL_DRAM;
        return true;
    }
    port->space = ACCEL_SRAM;
    if (!job->config->has_sram) {
        nvdla_job_reject(job, ram_type_field,
                         "this configuration has no CVSRAM port");
        return false;
    }
    return true;
}

static void outside(struct nvdla_job *job, const struct nvdla_port *port,
                    const char *verb, uint64_t address, size_t size)
{
    nvdla_job_error(job,
                    "%s: DMA %s of %zu bytes at 0x%" PRIx64 " of %s is "
                    "outside the memory",
                    port->name, verb, size, address,
                    port->space == ACCEL_DRAM ? "DRAM" : "CVSRAM");
}

bool nvdla_dma_read(struct nvdla_job *job, const struct nvdla_port *port,
                    uint64_t offset, void *data, size_t size)
{
    uint64_t address = port->base + offset;

    if (job->inject_dma_error) {
        nvdla_job_error(job, "%s: DMA error (injected fault)", port->name);
        return false;
    }
    if (!job->host->read(job->host->opaque, port->space, address, data, size)) {
        outside(job, port, "read", address, size);
        return false;
    }
    return true;
}

bool nvdla_dma_write(struct nvdla_job *job, const struct nvdla_port *port,
                     uint64_t offset, const void *data, size_t size)
{
    uint64_t address = port->base + offset;

    if (!job->host->write(job->host->opaque, port->space, address, data,
                          size)) {
        outside(job, port, "write", address, size);
        return false;
    }
    return true;
}

void nvdla_job_no_memory(struct nvdla_job *job, uint64_t size)
{
    nvdla_job_error(job,
                    "the operation needs a buffer of %" PRIu64
                    " bytes: too large to emulate",
                    size);
}

void *nvdla_job_allocate(struct nvdla_job *job, uint64_t size)
{
    void *result = NULL;

    if (size <= job->max_bytes) {
        /* aligned_alloc wants a multiple of the alignment. */
        result = aligned_alloc(64, ((size_t)size + 63u) / 64u * 64u + 64u);
    }
    if (result == NULL) {
        nvdla_job_no_memory(job, size);
    }
    return result;
}

struct nvdla_port nvdla_job_output(const struct nvdla_job *job)
{
    struct nvdla_port port = {.name = "output"};
    uint32_t main_memory;

    if (job->has[UNIT_BDMA]) {
        const uint32_t *words = job->transfers.words[0];

        main_memory = words[5] >> 1 & 1u; /* CFG_CMD.DST_RAM_TYPE */
        port.base = (uint64_t)words[3] << 32 | words[2];
    } else if (job->has[UNIT_RUBIK]) {
        main_memory = job_field(job, RBK_D_DAOUT_RAM_TYPE__DATAOUT_RAM_TYPE);
        port.base = nvdla_rubik_target(job);
    } else if (job->has[UNIT_CDP]) {
        main_memory = job_field(job, CDP_D_DST_DMA_CFG__DST_RAM_TYPE);
        port.base =
            job_address(job, CDP_D_DST_BASE_ADDR_HIGH__DST_BASE_ADDR_HIGH,
                        CDP_D_DST_BASE_ADDR_LOW__DST_BASE_ADDR_LOW);
    } else if (job->has[UNIT_PDP]) {
        main_memory = job_field(job, PDP_D_DST_RAM_CFG__DST_RAM_TYPE);
        port.base =
            job_address(job, PDP_D_DST_BASE_ADDR_HIGH__DST_BASE_ADDR_HIGH,
                        PDP_D_DST_BASE_ADDR_LOW__DST_BASE_ADDR_LOW);
    } else {
        main_memory = job_field(job, SDP_D_DST_DMA_CFG__DST_RAM_TYPE);
        port.base =
            job_address(job, SDP_D_DST_BASE_ADDR_HIGH__DST_BASE_ADDR_HIGH,
                        SDP_D_DST_BASE_ADDR_LOW__DST_BASE_ADDR_LOW);
    }
    port.space = main_memory != 0 ? ACCEL_DRAM : ACCEL_SRAM;
    return port;
}
