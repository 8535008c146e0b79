/*
 * power.c - what a board does to an accelerator from outside its window:
 * switching it on, and its reset line. Both are hooks that an application may
 * replace; the defaults follow the tables of the board profile.
 */
#include "fwgen_cpu.h"
#include "fwgen_driver.h"

__attribute__((weak)) bool fwgen_board_accel_reset(uint32_t index)
{
    const struct fwgen_reset_line *line = &fwgen_accelerators[index].reset;
    volatile uint32_t *reg = fwgen_reg(line->address, 0);

    if (line->address == 0u) {
        return false;
    }
    fwgen_reg_write(reg, line->assert_value);
    fwgen_cpu_spin(1000); /* the longest reset pulse a synthesis asks for */
    fwgen_reg_write(reg, line->release_value);
    fwgen_cpu_barrier();
    return true;
}

#if FWGEN_POWER_STEPS
/* Waits until the register of a step has the step's value; false if it has not
 * after `limit` ticks. */
static bool await(const struct fwgen_power_step *step, TickType_t limit)
{
    volatile uint32_t *reg = fwgen_reg(step->address, 0);
    const TickType_t begin = xTaskGetTickCount();

    while ((fwgen_reg_read(reg) & step->mask) != step->value) {
        if (xTaskGetTickCount() - begin >= limit) {
            return false;
        }
    }
    return true;
}

__attribute__((weak)) bool fwgen_board_accel_power_on(uint32_t index)
{
    const struct fwgen_accelerator *hardware = &fwgen_accelerators[index];
    const TickType_t limit = fwgen_ms_to_ticks(hardware->timeout_ms);

    for (uint32_t i = 0; i < hardware->power_step_count; i++) {
        const struct fwgen_power_step *step = &hardware->power_steps[i];

        if (step->mask == 0u) {
            fwgen_reg_write(fwgen_reg(step->address, 0), step->value);
            fwgen_cpu_barrier();
        } else if (!await(step, limit)) {
            return false;
        }
        if (step->delay_us != 0u) {
            fwgen_cpu_spin(step->delay_us *
                           ((uint32_t)configCPU_CLOCK_HZ / 1000000u + 1u));
        }
    }
    return true;
}
#endif
