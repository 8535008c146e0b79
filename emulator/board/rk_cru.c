/*
 * rk_cru.c - clock and reset unit (CRU) of Rockchip SoCs, as firmware that
 * opens gates, releases resets and asks for the cause of a reset sees it.
 *
 * Facts: U-Boot arch/arm/include/asm/arch-rockchip/cru*.h (struct rv1126_cru,
 * struct px30_cru, the bits of CRU_GLB_RST_ST) and Linux
 * drivers/clk/rockchip/clk.h (hiword-mask writes).
 *
 * Option "status" is the offset of GLB_RST_ST. Around it lie GLB_CNT_TH
 * (-4), GLB_SRST_FST (+4), GLB_SRST_SND (+8) and GLB_RST_CON (+12):
 * - writing 0xfdb9 to GLB_SRST_FST or 0xeca8 to GLB_SRST_SND resets the
 *   machine, other values do nothing;
 * - GLB_RST_ST gets one bit per cause. The bits survive further resets until
 *   written as ones; that writing ones clears them is assumed, as in later
 *   parts of the family;
 * - GLB_RST_CON bit 1 says whether the watchdog resets first (1) or second
 *   (0); assumed, as in earlier parts of the family.
 *
 * All other registers are 16 bits with hiword-mask writes and nothing behind
 * them: clocks run whatever the gates say, PLLs need no time to lock.
 */
#include <stddef.h>
#include <stdio.h>

#include "hiword.h"
#include "peripheral.h"

#define WINDOW 0x1000u
#define FIRST_MAGIC 0xfdb9u
#define SECOND_MAGIC 0xeca8u
#define STATUS_FIRST (1u << 0)
#define STATUS_SECOND (1u << 1)
#define STATUS_WATCHDOG_FIRST (1u << 4)
#define STATUS_WATCHDOG_SECOND (1u << 5)
#define STATUS_BITS 0x3fu
#define CON_WATCHDOG_FIRST (1u << 1)

struct rk_cru {
    uint64_t status_offset; /* option "status" */
    const struct peripheral_host *host;
    uint32_t words[WINDOW / 4];
    uint32_t status;
};

static const struct peripheral_option options[] = {
    {"status", offsetof(struct rk_cru, status_offset)},
    {NULL, 0},
};

static bool init(void *state, const struct peripheral_host *host, char *error,
                 size_t size)
{
    struct rk_cru *cru = state;

    cru->host = host;
    if (cru->status_offset < 4 || cru->status_offset % 4 != 0 ||
        cru->status_offset > WINDOW - 16) {
        snprintf(error, size,
                 "status= must be given, the offset of GLB_RST_ST");
        return false;
    }
    return true;
}

static uint32_t cause_bits(const struct rk_cru *cru, enum reset_cause cause)
{
    uint32_t con = cru->words[(cru->status_offset + 12) / 4];

    switch (cause) {
    case RESET_SOFTWARE_FIRST:
        return STATUS_FIRST;
    case RESET_SOFTWARE_SECOND:
        return STATUS_SECOND;
    case RESET_WATCHDOG:
        return (con & CON_WATCHDOG_FIRST) != 0 ? STATUS_WATCHDOG_FIRST
                                               : STATUS_WATCHDOG_SECOND;
    case RESET_POWER_ON:
    case RESET_EXTERNAL:
    default:
        return 0;
    }
}

static void reset(void *state, enum reset_cause cause)
{
    struct rk_cru *cru = state;

    if (cause == RESET_POWER_ON) {
        cru->status = 0;
    }
    cru->status |= cause_bits(cru, cause);
    for (size_t i = 0; i < WINDOW / 4; i++) {
        cru->words[i] = 0;
    }
}

static uint32_t read_register(void *state, uint32_t offset)
{
    struct rk_cru *cru = state;

    return offset == cru->status_offset ? cru->status : cru->words[offset / 4];
}

static void write_register(void *state, uint32_t offset, uint32_t value)
{
    struct rk_cru *cru = state;
    uint32_t *word = &cru->words[offset / 4];

    if (offset == cru->status_offset) {
        cru->status &= ~(value & STATUS_BITS);
    } else if (offset == cru->status_offset + 4) {
        if ((value & 0xffffu) == FIRST_MAGIC) {
            cru->host->reset_machine(cru->host->opaque, RESET_SOFTWARE_FIRST);
        }
    } else if (offset == cru->status_offset + 8) {
        if ((value & 0xffffu) == SECOND_MAGIC) {
            cru->host->reset_machine(cru->host->opaque, RESET_SOFTWARE_SECOND);
        }
    } else if (offset == cru->status_offset - 4 ||
               offset == cru->status_offset + 12) {
        *word = value;
    } else {
        *word = hiword_write(*word, value);
    }
}

const struct peripheral_kind rk_cru_kind = {
    .name = "rk_cru",
    .window = WINDOW,
    .state_size = sizeof(struct rk_cru),
    .options = options,
    .tells_state = true,
    .init = init,
    .reset = reset,
    .read = read_register,
    .write = write_register,
};
