/*
 * rk_pmu.c - power management unit (PMU) of Rockchip SoCs: power domains.
 *
 * Facts: Linux drivers/pmdomain/rockchip/pm-domains.c (rv1126_pmu). The
 * options are the offsets in that table: "gate" (pwr), "status", "request"
 * (req), "idle" and "ack".
 *
 * Gate and request words are 16 bits with hiword-mask writes; a set gate bit
 * switches a domain off, a set request bit asks for its bus to be idle. Request
 * word n answers in bits 16n to 16n+15 of `idle` and `ack`, which are 32 bits
 * wide. The answers come at once. After reset the domains of option "off" are
 * off and the buses of option "parked" are idle (bits of the gate word and of
 * the idle word), all others are on and busy.
 *
 * All other registers keep what is written. What lies in a domain does not
 * change with it; the device module refuses accesses to an accelerator whose
 * domain is off.
 */
#include <stddef.h>
#include <stdio.h>

#include "hiword.h"
#include "peripheral.h"

#define WINDOW 0x1000u

struct rk_pmu {
    /* Options. */
    uint64_t gate;
    uint64_t status;
    uint64_t request;
    uint64_t idle;
    uint64_t ack;
    uint64_t off;
    uint64_t parked;
    const struct peripheral_host *host;
    uint32_t words[WINDOW / 4];
};

static const struct peripheral_option options[] = {
    {"gate", offsetof(struct rk_pmu, gate)},
    {"status", offsetof(struct rk_pmu, status)},
    {"request", offsetof(struct rk_pmu, request)},
    {"idle", offsetof(struct rk_pmu, idle)},
    {"ack", offsetof(struct rk_pmu, ack)},
    {"off", offsetof(struct rk_pmu, off)},
    {"parked", offsetof(struct rk_pmu, parked)},
    {NULL, 0},
};

static bool init(void *state, const struct peripheral_host *host, char *error,
                 size_t size)
{
    struct rk_pmu *pmu = state;
    const uint64_t offsets[] = {pmu->gate, pmu->status, pmu->request, pmu->idle,
                                pmu->ack};

    pmu->host = host;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        if (offsets[i] == 0 || offsets[i] % 4 != 0 || offsets[i] > WINDOW - 8) {
            snprintf(error, size,
                     "gate=, status=, request=, idle= and ack= must be given, "
                     "multiples of 4 below 0x%x",
                     WINDOW - 4);
            return false;
        }
    }
    return true;
}

static void reset(void *state, enum reset_cause cause)
{
    struct rk_pmu *pmu = state;

    (void)cause;
    for (size_t i = 0; i < WINDOW / 4; i++) {
        pmu->words[i] = 0;
    }
    pmu->words[pmu->gate / 4] = pmu->off & 0xffffu;
    pmu->words[pmu->request / 4] = pmu->parked & 0xffffu;
    pmu->words[pmu->request / 4 + 1] = pmu->parked >> 16 & 0xffffu;
}

static uint32_t read_register(void *state, uint32_t offset)
{
    struct rk_pmu *pmu = state;

    if (offset == pmu->idle || offset == pmu->ack) {
        return pmu->words[pmu->request / 4] | pmu->words[pmu->request / 4 + 1]
                                                  << 16;
    }
    if (offset == pmu->status) {
        return pmu->words[pmu->gate / 4];
    }
    return pmu->words[offset / 4];
}

static void write_register(void *state, uint32_t offset, uint32_t value)
{
    struct rk_pmu *pmu = state;
    uint32_t *word = &pmu->words[offset / 4];

    if (offset == pmu->idle || offset == pmu->ack || offset == pmu->status) {
        peripheral_complain(pmu->host, &rk_pmu_kind, "write", offset,
                            "it is read-only");
    } else if (offset == pmu->gate || offset == pmu->request ||
               offset == pmu->request + 4) {
        *word = hiword_write(*word, value);
    } else {
        *word = value;
    }
}

const struct peripheral_kind rk_pmu_kind = {
    .name = "rk_pmu",
    .window = WINDOW,
    .state_size = sizeof(struct rk_pmu),
    .options = options,
    .tells_state = true,
    .init = init,
    .reset = reset,
    .read = read_register,
    .write = write_register,
};
