/*
 * glb.c - the interrupt controller (GLB block).
 *
 * The rule of the hardware: a status bit is set by a done event or a write of
 * 1 to S_INTR_SET, and cleared by a write of 1 to S_INTR_STATUS. Masked events
 * latch as well. The line is the level OR(status & ~mask).
 */
#include "model.h"

void nvdla_glb_update(struct accel_model *model)
{
    bool level =
        (model->intr_status & ~model->intr_mask) != 0 || model->spurious;

    if (level != model->irq_level) {
        model->irq_level = level;
        if (model->host.irq != NULL) {
            model->host.irq(model->host.opaque, level);
        }
    }
}

void nvdla_glb_raise(struct accel_model *model, uint32_t bits)
{
    model->intr_status |= bits;
    nvdla_glb_update(model);
}

void nvdla_glb_clear(struct accel_model *model, uint32_t bits)
{
    uint32_t again = model->intr_again & bits & model->intr_status;

    model->intr_status &= ~bits;
    if (again != 0) {
        model->intr_again &= ~again;
        nvdla_glb_later(model, model->now + 1u, again, false);
    }
    nvdla_glb_update(model);
}

uint32_t nvdla_glb_read_status(struct accel_model *model)
{
    /* A spurious interrupt lasts until somebody looks for its cause. */
    if (model->spurious) {
        model->spurious = false;
        nvdla_glb_update(model);
    }
    return model->intr_status;
}

void nvdla_glb_later(struct accel_model *model, uint64_t cycle, uint32_t bits,
                     bool spurious)
{
    for (unsigned i = 0; i < DELAYED_COUNT; i++) {
        if (!model->delayed[i].used) {
            model->delayed[i] =
                (struct nvdla_delayed){true, spurious, cycle, bits};
            return;
        }
    }
}
