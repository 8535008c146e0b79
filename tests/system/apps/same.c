/*
 * same.c - an application that does not know which accelerator the board has.
 */
#include "app.h"

static uint8_t input[sizeof(images[0])] __attribute__((aligned(64)));
static uint8_t output[sizeof(scores[0])] __attribute__((aligned(64)));

static bool results(void)
{
    const struct fwgen_model *model = &fwgen_models[0];
    const struct fwgen_tensor *in = fwgen_model_input(model, 0);
    const struct fwgen_tensor *out = fwgen_model_output(model, 0);
    struct nvdla_status status;
    nvdla_handle handle;

    EXPECT(nvdla_create(&handle) == FWGEN_OK);
    EXPECT(nvdla_load(handle, model) == FWGEN_OK);
    EXPECT(in->size == sizeof(input) && out->size == sizeof(output));
    for (uint32_t i = 0; i < CASES; i++) {
        (void)memcpy(input, images[i], sizeof(input));
        EXPECT(fwgen_tensor_write(in, input, in->size) == FWGEN_OK);
        EXPECT(nvdla_submit(handle, 1000) == FWGEN_OK);
        EXPECT(fwgen_tensor_read(out, output, out->size) == FWGEN_OK);
        EXPECT(memcmp(output, scores[i], sizeof(output)) == 0);
    }
    EXPECT(nvdla_get_status(handle, &status) == FWGEN_OK);
    fwgen_log_value("app: version", status.hw_version);
    EXPECT(status.statistics.inferences == CASES);
    return nvdla_destroy(handle) == FWGEN_OK;
}

static void client(void *argument)
{
    (void)argument;
    CHECK(results);
    fwgen_log("app: end");
    vTaskSuspend(NULL);
}

void fwgen_app_start(void)
{
    APP_TASK(client, 3, NULL);
}
