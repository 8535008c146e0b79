/*
 * interrupt.c - events, the interrupt line, and faults of both.
 *
 * HI.INTR_ACKNOWLEDGE holds a bit per event; reading it returns the bits and
 * clears them. The line is high while an enabled bit is pending.
 */
#include "model.h"

void vip_intr_update(struct accel_model *model)
{
    bool level =
        (model->intr_pending & model->intr_enable) != 0 || model->spurious;

    if (level != model->irq_level) {
        model->irq_level = level;
        if (model->host.irq != NULL) {
            model->host.irq(model->host.opaque, level);
        }
    }
}

void vip_intr_raise(struct accel_model *model, uint32_t bits)
{
    model->intr_pending |= bits;
    vip_intr_update(model);
}

static void later(struct accel_model *model, uint64_t cycle, uint32_t bits,
                  bool spurious)
{
    for (unsigned i = 0; i < VIP_DELAYED; i++) {
        struct vip_delayed *delayed = &model->delayed[i];

        if (!delayed->used) {
            *delayed = (struct vip_delayed){true, spurious, cycle, bits};
            return;
        }
    }
    vip_intr_raise(model, bits); /* no room: now */
}

uint32_t vip_intr_take(struct accel_model *model)
{
    uint32_t bits = model->intr_pending;
    uint32_t again = bits & model->intr_again;

    model->intr_pending = 0;
    model->spurious = false;
    if (again != 0) {
        model->intr_again &= ~again;
        later(model, model->now + 1u, again, false);
    }
    vip_intr_update(model);
    return bits;
}

void vip_intr_event(struct accel_model *model, unsigned event)
{
    uint64_t index = model->events_raised++;
    uint32_t bits = (uint32_t)1 << event;
    uint64_t delay = 0;

    if (accel_fault_strikes(&model->faults, FAULT_IRQ_LOST, index, NULL)) {
        return;
    }
    if (accel_fault_strikes(&model->faults, FAULT_IRQ_TWICE, index, NULL)) {
        model->intr_again |= bits;
    }
    if (accel_fault_strikes(&model->faults, FAULT_IRQ_LATE, index, &delay)) {
        later(model, model->now + delay, bits, false);
        return;
    }
    vip_intr_raise(model, bits);
}

void vip_intr_start(struct accel_model *model)
{
    if (accel_fault_strikes(&model->faults, FAULT_IRQ_SPURIOUS,
                            model->events_raised, NULL)) {
        later(model, model->now + 1u, 0, true);
    }
}

uint64_t vip_intr_next(const struct accel_model *model)
{
    uint64_t earliest = ACCEL_NO_EVENT;

    for (unsigned i = 0; i < VIP_DELAYED; i++) {
        if (model->delayed[i].used && model->delayed[i].cycle < earliest) {
            earliest = model->delayed[i].cycle;
        }
    }
    return earliest;
}

bool vip_intr_due(struct accel_model *model)
{
    for (unsigned i = 0; i < VIP_DELAYED; i++) {
        struct vip_delayed *delayed = &model->delayed[i];

        if (delayed->used && delayed->cycle <= model->now) {
            delayed->used = false;
            model->spurious = model->spurious || delayed->spurious;
            vip_intr_raise(model, delayed->bits);
            return true;
        }
    }
    return false;
}
