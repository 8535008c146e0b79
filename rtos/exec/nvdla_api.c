/*
 * nvdla_api.c - the functions of nvdla.h, over fwgen_accel.h.
 */
#include "nvdla.h"

#include <string.h>

#include "task.h"

#include "fwgen_cpu.h"
#include "fwgen_driver.h"

/* GLB.S_NVDLA_HW_VERSION in the NVDLA register manual. */
#define GLB_HW_VERSION 0x1000u

struct nvdla_instance {
    fwgen_device device; /* NULL while it is not handed out */
    const struct fwgen_model *model;
    bool submitting;
    uint8_t depth; /* of the pipeline; 0: what the model has */
    struct fwgen_report last;
};

static struct nvdla_instance instances[FWGEN_ACCEL_COUNT];

static bool is_open(nvdla_handle handle)
{
    return handle != NULL && handle->device != NULL;
}

/* Whether these names serve an accelerator: NVDLA, the CPU in its place, or a
 * VIP, so that an application need not know which one the board has. */
static bool is_served(const struct fwgen_accelerator *accelerator)
{
#if FWGEN_VIP_FAMILY
    if (strcmp(accelerator->family, "vip") == 0) {
        return true;
    }
#endif
#if FWGEN_CPU_FAMILY
    if (strcmp(accelerator->family, "cpu") == 0) {
        return true;
    }
#endif
    return strcmp(accelerator->family, "nvdla") == 0;
}

#if FWGEN_VIP_FAMILY
/* Model and revision, which are the first identity registers; 0 when one of
 * them all is not that of the image. */
static uint32_t vip_version(const struct fwgen_accelerator *hardware)
{
    const struct fwgen_register_value *identity = hardware->identities;

    for (uint32_t i = 0; i < hardware->identity_count; i++) {
        if (fwgen_reg_read(fwgen_reg(hardware->base, identity[i].offset)) !=
            identity[i].value) {
            return 0;
        }
    }
    return (identity[0].value << 16) | identity[1].value;
}
#endif

static uint32_t version(fwgen_device device)
{
#if FWGEN_VIP_FAMILY
    if (fwgen_accel_hardware(device)->identity_count > 1u) {
        return vip_version(fwgen_accel_hardware(device));
    }
#endif
#if FWGEN_CPU_FAMILY
    if (fwgen_accel_hardware(device)->base == 0u) {
        return NVDLA_VERSION_CPU;
    }
#endif
    return fwgen_reg_read(
        fwgen_reg(fwgen_accel_hardware(device)->base, GLB_HW_VERSION));
}

enum fwgen_result nvdla_create(nvdla_handle *handle)
{
    struct nvdla_instance *found = NULL;

    if (handle == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    *handle = NULL;
    vTaskSuspendAll();
    for (uint32_t i = 0; i < FWGEN_ACCEL_COUNT && found == NULL; i++) {
        if (instances[i].device == NULL && is_served(&fwgen_accelerators[i])) {
            found = &instances[i];
            (void)memset(found, 0, sizeof(*found));
            found->device = fwgen_accel_device(i);
        }
    }
    (void)xTaskResumeAll();
    if (found == NULL) {
        return FWGEN_ERROR_NO_INSTANCE;
    }
    const uint32_t expected = fwgen_accel_hardware(found->device)->identity;
    const uint32_t actual = version(found->device);

    if (actual == 0u || (expected != 0u && actual != expected)) {
        found->device = NULL;
        return FWGEN_ERROR_DEVICE;
    }
    *handle = found;
    return FWGEN_OK;
}

enum fwgen_result nvdla_load(nvdla_handle handle,
                             const struct fwgen_model *model)
{
    enum fwgen_result result = FWGEN_OK;

    if (!is_open(handle) || model == NULL ||
        fwgen_accel_device(model->accelerator) != handle->device) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    vTaskSuspendAll();
    if (handle->submitting) {
        result = FWGEN_ERROR_BUSY;
    } else {
        handle->model = model;
    }
    (void)xTaskResumeAll();
    return result;
}

enum fwgen_result nvdla_submit(nvdla_handle handle, uint32_t timeout_ms)
{
    enum fwgen_result result = FWGEN_OK;

    if (!is_open(handle) || handle->model == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    vTaskSuspendAll();
    if (handle->submitting) {
        result = FWGEN_ERROR_BUSY;
    }
    handle->submitting = true;
    (void)xTaskResumeAll();
    if (result != FWGEN_OK) {
        return result;
    }
#if FWGEN_PIPELINE > 1
    struct fwgen_job job;

    fwgen_job_init(&job, handle->model);
    if (handle->depth != 0u) {
        (void)fwgen_job_set_depth(&job, handle->depth);
    }
    job.report.operation = FWGEN_NO_OPERATION;
    result = fwgen_job_run(handle->device, &job, timeout_ms);
    job.report.result = result;
    handle->last = job.report;
#else
    result = fwgen_accel_submit(handle->device, handle->model, timeout_ms,
                                &handle->last);
#endif
    handle->submitting = false;
    return result;
}

enum fwgen_result nvdla_enable_pipeline(nvdla_handle handle,
                                        enum nvdla_pipe_depth depth)
{
    if (!is_open(handle)) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    if (depth != NVDLA_PIPE_DEPTH_1 && depth != NVDLA_PIPE_DEPTH_2 &&
        depth != NVDLA_PIPE_DEPTH_4) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    if (depth != NVDLA_PIPE_DEPTH_1 &&
        !(handle->model != NULL
              ? depth == (enum nvdla_pipe_depth)handle->model->pipeline_depth
              : (uint32_t)depth == FWGEN_PIPELINE)) {
        return FWGEN_ERROR_NOT_SUPPORTED;
    }
    handle->depth = (uint8_t)depth;
    return FWGEN_OK;
}

enum fwgen_result nvdla_get_status(nvdla_handle handle,
                                   struct nvdla_status *status)
{
    if (!is_open(handle) || status == NULL) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    status->state = fwgen_accel_state(handle->device);
    status->model = handle->model;
    status->hw_version = version(handle->device);
    status->last = handle->last;
    fwgen_accel_statistics(handle->device, &status->statistics);
    return FWGEN_OK;
}

enum fwgen_result nvdla_destroy(nvdla_handle handle)
{
    enum fwgen_result result = FWGEN_OK;

    if (!is_open(handle)) {
        FWGEN_MISUSE();
        return FWGEN_ERROR_ARGUMENT;
    }
    vTaskSuspendAll();
    if (handle->submitting) {
        result = FWGEN_ERROR_BUSY;
    } else {
        handle->device = NULL;
        handle->model = NULL;
    }
    (void)xTaskResumeAll();
    return result;
}
