/*
 * start.c - non-volatile memory when the firmware starts, its lock, and the
 * self-test of a model on trial (fwgen_start.h).
 */
#include "fwgen_start.h"

#include <string.h>

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "bytes.h"
#include "fwgen_accel.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_sha256.h"
#include "fwgen_slots.h"

#if FWGEN_NVMEM

static StaticSemaphore_t lock_storage;
static SemaphoreHandle_t lock;

void fwgen_nvmem_lock(void)
{
    if (xTaskGetSchedulerState() == taskSCHEDULER_RUNNING) {
        (void)xSemaphoreTake(lock, portMAX_DELAY);
    }
}

void fwgen_nvmem_unlock(void)
{
    if (xTaskGetSchedulerState() == taskSCHEDULER_RUNNING) {
        (void)xSemaphoreGive(lock);
    }
}

void fwgen_nvmem_start(void)
{
    const struct fwgen_slots_state *state = fwgen_slots_state();

    lock = xSemaphoreCreateMutexStatic(&lock_storage);
    if (fwgen_slots_start(&fwgen_slots_board) != FWGEN_OK) {
        fwgen_log("slots: the non-volatile memory fails");
    }
    if (state->running == FWGEN_NO_SLOT) {
        fwgen_log("slots: the model of the image runs");
    } else {
        fwgen_log_value(state->running == state->trial
                            ? "slots: on trial runs slot"
                            : "slots: running slot",
                        state->running);
    }
}

/* Fills the inputs from the package; false when their sizes differ. */
static bool fill_inputs(const struct fwgen_model *model, const uint8_t *test)
{
    const uint8_t *data = &test[36];
    uint32_t left = fwgen_get32(test);

    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct fwgen_tensor *tensor = &model->inputs[i];

        if (tensor->size > left) {
            return false;
        }
        (void)memcpy(tensor->address, data, tensor->size);
        fwgen_cache_clean((uintptr_t)tensor->address, tensor->size);
        data += tensor->size;
        left -= tensor->size;
    }
    return left == 0u;
}

static bool outputs_are(const struct fwgen_model *model,
                        const uint8_t *expected)
{
    uint8_t digest[FWGEN_SHA256_SIZE];
    struct fwgen_sha256 sha;

    fwgen_sha256_start(&sha);
    for (uint32_t i = 0; i < model->output_count; i++) {
        const struct fwgen_tensor *tensor = &model->outputs[i];

        fwgen_cache_invalidate((uintptr_t)tensor->address, tensor->size);
        fwgen_sha256_take(&sha, tensor->address, tensor->size);
    }
    fwgen_sha256_end(&sha, digest);
    return memcmp(digest, expected, sizeof(digest)) == 0;
}

void fwgen_slots_self_test(void)
{
    static uint8_t header[FWGEN_PACKAGE_HEADER];
    const struct fwgen_slots_state *state = fwgen_slots_state();
    const struct fwgen_bound_model *bound = fwgen_slots_model();
    struct fwgen_package package;
    const uint8_t *test;

    if (bound == NULL || state->running != state->trial ||
        fwgen_slots_look(state->running, header, &package) !=
            FWGEN_PACKAGE_GOOD ||
        package.self_test == 0u) {
        return;
    }
    test = (const uint8_t *)(bound->base + package.self_test);
    if (fill_inputs(&bound->model, test) &&
        fwgen_accel_submit(fwgen_accel_device(bound->model.accelerator),
                           &bound->model, 0, NULL) == FWGEN_OK &&
        outputs_are(&bound->model, &test[4])) {
        fwgen_nvmem_lock();
        (void)fwgen_slots_confirm();
        fwgen_nvmem_unlock();
        fwgen_log("slots: self-test passed, confirmed");
        return;
    }
    fwgen_log("slots: self-test failed, going back");
    fwgen_nvmem_lock();
    (void)fwgen_slots_reject(FWGEN_PACKAGE_SELF_TEST);
    fwgen_nvmem_unlock();
    fwgen_reset();
}

#endif
