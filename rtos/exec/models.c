/*
 * models.c - models and their tensors by number and by name (fwgen_accel.h).
 */
#include "fwgen_accel.h"

#include <string.h>

#include "fwgen_driver.h"

const struct fwgen_model *fwgen_model_find(const char *name)
{
    if (name == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    for (uint32_t i = 0; i < fwgen_model_count; i++) {
        if (strcmp(fwgen_models[i].name, name) == 0) {
            return &fwgen_models[i];
        }
    }
    return NULL;
}

const struct fwgen_tensor *fwgen_model_input(const struct fwgen_model *model,
                                             uint32_t index)
{
    if (model == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return index < model->input_count ? &model->inputs[index] : NULL;
}

/* The second bank's lie behind the first one's. */
const struct fwgen_tensor *
fwgen_model_input_bank(const struct fwgen_model *model, uint32_t index,
                       uint32_t bank)
{
    if (model == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return index < model->input_count && (bank == 0u || bank < model->banks)
               ? &model->inputs[bank * model->input_count + index]
               : NULL;
}

const struct fwgen_tensor *
fwgen_model_output_bank(const struct fwgen_model *model, uint32_t index,
                        uint32_t bank)
{
    if (model == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return index < model->output_count && (bank == 0u || bank < model->banks)
               ? &model->outputs[bank * model->output_count + index]
               : NULL;
}

const struct fwgen_tensor *fwgen_model_output(const struct fwgen_model *model,
                                              uint32_t index)
{
    if (model == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return index < model->output_count ? &model->outputs[index] : NULL;
}

static const struct fwgen_tensor *find(const struct fwgen_tensor *tensors,
                                       uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(tensors[i].name, name) == 0) {
            return &tensors[i];
        }
    }
    return NULL;
}

const struct fwgen_tensor *
fwgen_model_find_input(const struct fwgen_model *model, const char *name)
{
    if (model == NULL || name == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return find(model->inputs, model->input_count, name);
}

const struct fwgen_tensor *
fwgen_model_find_output(const struct fwgen_model *model, const char *name)
{
    if (model == NULL || name == NULL) {
        FWGEN_MISUSE();
        return NULL;
    }
    return find(model->outputs, model->output_count, name);
}
