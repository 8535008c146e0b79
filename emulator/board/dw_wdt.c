/*
 * dw_wdt.c - Synopsys DesignWare watchdog timer (DW_apb_wdt).
 *
 * Facts: registers as in the Linux driver drivers/watchdog/dw_wdt.c and in the
 * watchdog chapters of Rockchip's public manuals.
 *
 * With fixed timeout periods, as Rockchip builds it: a period TOP of 2^(16+TOP)
 * clocks. The first period after the start or after a restart uses WDT_TORR's
 * TOP; TOP_INIT is kept but not used, because start and restart load the same
 * counter here. In response mode 1 the first expiry raises the interrupt and
 * the second, unless WDT_EOI was read or the counter restarted, resets the
 * machine. Once enabled it runs until the next reset.
 *
 * The component registers answer for version 1.10 with fixed periods.
 */
#include <stddef.h>
#include <stdio.h>

#include "peripheral.h"

#define WDT_CR 0x00u
#define WDT_TORR 0x04u
#define WDT_CCVR 0x08u
#define WDT_CRR 0x0cu
#define WDT_STAT 0x10u
#define WDT_EOI 0x14u
#define WDT_COMP_PARAM_5 0xe4u
#define WDT_COMP_VERSION 0xf8u
#define WDT_COMP_TYPE 0xfcu
#define WINDOW 0x100u

#define CR_ENABLE 1u
#define CR_INTERRUPT_FIRST 2u
#define CR_BITS 0x3fu
#define CR_RESET 0x0au /* response mode 1, reset pulse of 8 clocks */
#define RESTART 0x76u
#define FIXED_TOP 0x40u /* COMP_PARAM_1.WDT_USE_FIX_TOP */
#define COMP_PARAM_1 0xf4u
#define NS_PER_SECOND UINT64_C(1000000000)
#define MAX_CLOCK UINT64_C(10000000000)

struct dw_wdt {
    uint64_t clock_hz; /* option "clock" */
    const struct peripheral_host *host;
    uint32_t control;
    uint32_t range;
    uint64_t started_ns; /* the current period */
    uint64_t period_ns;
    bool status; /* interrupt pending: the next expiry resets */
};

static const struct peripheral_option options[] = {
    {"clock", offsetof(struct dw_wdt, clock_hz)},
    {NULL, 0},
};

static bool init(void *state, const struct peripheral_host *host, char *error,
                 size_t size)
{
    struct dw_wdt *wdt = state;

    wdt->host = host;
    if (wdt->clock_hz == 0 || wdt->clock_hz > MAX_CLOCK) {
        snprintf(error, size, "clock= must be given, in Hz");
        return false;
    }
    return true;
}

static uint64_t period_clocks(const struct dw_wdt *wdt)
{
    return UINT64_C(1) << (16 + (wdt->range & 0xfu));
}

static void restart(struct dw_wdt *wdt)
{
    /* At most 2^31 clocks: no overflow. */
    wdt->period_ns = (period_clocks(wdt) * NS_PER_SECOND + wdt->clock_hz - 1) /
                     wdt->clock_hz;
    wdt->started_ns = wdt->host->now(wdt->host->opaque);
    wdt->host->set_alarm(wdt->host->opaque, wdt->started_ns + wdt->period_ns);
}

static void set_status(struct dw_wdt *wdt, bool status)
{
    if (wdt->status != status) {
        wdt->status = status;
        wdt->host->irq(wdt->host->opaque, status);
    }
}

static void reset(void *state, enum reset_cause cause)
{
    struct dw_wdt *wdt = state;

    (void)cause;
    wdt->control = CR_RESET;
    wdt->range = 0;
    wdt->host->set_alarm(wdt->host->opaque, PERIPHERAL_NO_ALARM);
    set_status(wdt, false);
}

static void alarm(void *state)
{
    struct dw_wdt *wdt = state;

    if ((wdt->control & CR_ENABLE) == 0) {
        return;
    }
    if ((wdt->control & CR_INTERRUPT_FIRST) != 0 && !wdt->status) {
        set_status(wdt, true);
        restart(wdt);
        return;
    }
    wdt->host->reset_machine(wdt->host->opaque, RESET_WATCHDOG);
}

/* The counter runs down from the period to zero. */
static uint32_t counter(const struct dw_wdt *wdt)
{
    uint64_t clocks = period_clocks(wdt);
    uint64_t passed;

    if ((wdt->control & CR_ENABLE) == 0) {
        return (uint32_t)(clocks - 1);
    }
    passed = wdt->host->now(wdt->host->opaque) - wdt->started_ns;
    if (passed >= wdt->period_ns) {
        return 0;
    }
    /* TORR may have been written since: the period is that of the start. */
    clocks = wdt->period_ns * (wdt->clock_hz / 1000) / 1000000;
    passed = passed * (wdt->clock_hz / 1000) / 1000000;
    return clocks > passed ? (uint32_t)(clocks - passed) : 0;
}

static uint32_t read_register(void *state, uint32_t offset)
{
    struct dw_wdt *wdt = state;

    switch (offset) {
    case WDT_CR:
        return wdt->control;
    case WDT_TORR:
        return wdt->range;
    case WDT_CCVR:
        return counter(wdt);
    case WDT_STAT:
        return wdt->status ? 1 : 0;
    case WDT_EOI:
        set_status(wdt, false);
        return 0;
    case COMP_PARAM_1:
        return FIXED_TOP;
    case WDT_COMP_VERSION:
        return 0x3131302au; /* "110*" */
    case WDT_COMP_TYPE:
        return 0x44570120u;
    default:
        break;
    }
    if (offset == WDT_CRR ||
        (offset >= WDT_COMP_PARAM_5 && offset < COMP_PARAM_1)) {
        return 0;
    }
    peripheral_complain(wdt->host, &dw_wdt_kind, "read", offset,
                        "it does not exist");
    return 0;
}

static void write_register(void *state, uint32_t offset, uint32_t value)
{
    struct dw_wdt *wdt = state;

    switch (offset) {
    case WDT_CR: {
        uint32_t enabled = wdt->control & CR_ENABLE;

        /* The enable bit can be set but not cleared. */
        wdt->control = (value & CR_BITS) | enabled;
        if (enabled == 0 && (value & CR_ENABLE) != 0) {
            restart(wdt);
        }
        break;
    }
    case WDT_TORR:
        wdt->range = value & 0xffu;
        break;
    case WDT_CRR:
        if ((value & 0xffu) != RESTART) {
            peripheral_complain(wdt->host, &dw_wdt_kind, "write", offset,
                                "only 0x76 restarts the counter");
        } else {
            set_status(wdt, false);
            if ((wdt->control & CR_ENABLE) != 0) {
                restart(wdt);
            }
        }
        break;
    default:
        peripheral_complain(wdt->host, &dw_wdt_kind, "write", offset,
                            "it cannot be written");
        break;
    }
}

static const char *register_name(uint32_t offset)
{
    static const char *const names[] = {"WDT_CR",  "WDT_TORR", "WDT_CCVR",
                                        "WDT_CRR", "WDT_STAT", "WDT_EOI"};

    return offset <= WDT_EOI ? names[offset / 4] : NULL;
}

const struct peripheral_kind dw_wdt_kind = {
    .name = "dw_wdt",
    .window = WINDOW,
    .state_size = sizeof(struct dw_wdt),
    .options = options,
    .init = init,
    .reset = reset,
    .read = read_register,
    .write = write_register,
    .alarm = alarm,
    .register_name = register_name,
};
