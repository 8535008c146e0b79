/*
 * vip.c - driver of the VeriSilicon VIP: identity, interrupt, recovery.
 *
 * Facts from the Linux etnaviv driver's register headers. The front end plays
 * a command buffer; an event in it sets its bit in INTR_ACKNOWLEDGE, and so do
 * a bus error (bit 31) and an exception of the MMU (bit 30). Reading that
 * register clears the bits and lets the line fall; INTR_ENBL is the mask. The
 * MMU stays off: addresses in command buffers are those of the bus.
 *
 * Recovery is a soft reset in CLOCK_CONTROL. It takes effect while the core is
 * isolated, and may have to be repeated until the front end is idle.
 */
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_driver.h"

#define CLOCK_CONTROL 0x000u
#define IDLE_STATE 0x004u
#define AXI_STATUS 0x00cu
#define INTR_ACKNOWLEDGE 0x010u
#define INTR_ENBL 0x014u
#define AHB_CONTROL 0x3a8u
#define DMA_ADDRESS 0x664u

/* CLOCK_CONTROL */
#define CLOCK_SCALE (64u << 2) /* the full clock */
#define CLOCK_SCALE_LOAD (1u << 9)
#define CLOCK_DEBUG_OFF (1u << 11)
#define SOFT_RESET (1u << 12)
#define IS_IDLE (3u << 16)
#define ISOLATE (1u << 19)

#define FRONT_END_IDLE 1u
#define AHB_NON_SECURE 2u

/* The etnaviv driver holds the reset for 10 to 20 us; at most a GHz here. */
#define RESET_CYCLES 20000u

static volatile uint32_t *reg(const struct fwgen_engine *engine,
                              uint32_t offset)
{
    return fwgen_reg(engine->hardware->base, offset);
}

static uint32_t vip_interrupt(struct fwgen_engine *engine)
{
    const uint32_t bits = fwgen_reg_read(reg(engine, INTR_ACKNOWLEDGE));

    /* The line must have fallen before the exception returns. */
    fwgen_cpu_barrier();
    return bits;
}

static void enable_interrupts(struct fwgen_engine *engine, uint32_t mask)
{
    taskENTER_CRITICAL();
    fwgen_reg_write(reg(engine, INTR_ENBL), mask);
    (void)vip_interrupt(engine);
    engine->status = 0;
    taskEXIT_CRITICAL();
}

static void vip_prepare(struct fwgen_engine *engine,
                        const struct fwgen_model *model)
{
    enable_interrupts(engine, model->interrupt_mask | FWGEN_FAULT_BITS);
}

/* Resets the core; true when it is idle afterwards. */
static bool soft_reset(const struct fwgen_engine *engine)
{
    volatile uint32_t *clock = reg(engine, CLOCK_CONTROL);
    const uint32_t running = CLOCK_SCALE | CLOCK_DEBUG_OFF;

    fwgen_reg_write(clock, running | CLOCK_SCALE_LOAD);
    fwgen_reg_write(clock, running);
    fwgen_reg_write(clock, running | ISOLATE);
    fwgen_reg_write(clock, running | ISOLATE | SOFT_RESET);
    fwgen_cpu_spin(RESET_CYCLES);
    fwgen_reg_write(clock, running | ISOLATE);
    fwgen_reg_write(clock, running);
    return (fwgen_reg_read(reg(engine, IDLE_STATE)) & FRONT_END_IDLE) != 0u &&
           (fwgen_reg_read(clock) & IS_IDLE) == IS_IDLE;
}

/* Compares the identity registers with what the image was made for. */
static bool identify(const struct fwgen_engine *engine)
{
    const struct fwgen_accelerator *hardware = engine->hardware;

    for (uint32_t i = 0; i < hardware->identity_count; i++) {
        const struct fwgen_register_value *expected = &hardware->identities[i];
        const uint32_t found = fwgen_reg_read(reg(engine, expected->offset));

        if (found != expected->value) {
            fwgen_console_lock();
            fwgen_print(hardware->name);
            fwgen_print(": identity register ");
            fwgen_print_hex(expected->offset);
            fwgen_print(" reads ");
            fwgen_print_hex(found);
            fwgen_print(", this image is for ");
            fwgen_print(hardware->config);
            fwgen_print(" with ");
            fwgen_print_hex(expected->value);
            fwgen_print("\n");
            fwgen_console_unlock();
            return false;
        }
    }
    return true;
}

/* Tells where the front end is when a run did not reach its end. */
static void tell_state(const struct fwgen_engine *engine)
{
    fwgen_console_lock();
    fwgen_print(engine->hardware->name);
    fwgen_print(": idle ");
    fwgen_print_hex(fwgen_reg_read(reg(engine, IDLE_STATE)));
    fwgen_print(", AXI ");
    fwgen_print_hex(fwgen_reg_read(reg(engine, AXI_STATUS)));
    fwgen_print(", front end at ");
    fwgen_print_hex(fwgen_reg_read(reg(engine, DMA_ADDRESS)));
    fwgen_print("\n");
    fwgen_console_unlock();
}

static enum fwgen_result vip_recover(struct fwgen_engine *engine)
{
    const uint32_t index = (uint32_t)(engine->hardware - fwgen_accelerators);
    const TickType_t begin = xTaskGetTickCount();

    if (engine->current != NULL) {
        tell_state(engine);
    }
    (void)fwgen_board_accel_reset(index);
    if (!identify(engine)) {
        return FWGEN_ERROR_DEVICE;
    }
    while (!soft_reset(engine)) {
        if (xTaskGetTickCount() - begin >= engine->wait_ticks) {
            return FWGEN_ERROR_DEVICE;
        }
    }
    fwgen_reg_write(reg(engine, AHB_CONTROL), AHB_NON_SECURE);
    enable_interrupts(engine, 0);
    engine->parity = 0;
    return FWGEN_OK;
}

const struct fwgen_accel_driver fwgen_vip_driver = {
    .recover = vip_recover,
    .prepare = vip_prepare,
    .interrupt = vip_interrupt,
};
