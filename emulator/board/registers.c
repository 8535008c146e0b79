/*
 * registers.c - registers that keep what is written and have no effect: what
 * start-up code writes on a board and the emulated machine does not need, as
 * pin multiplexing. Option "hiword=1": Rockchip's hiword-mask writes.
 */
#include <stddef.h>

#include "hiword.h"
#include "peripheral.h"

#define WINDOW 0x10000u

struct registers {
    uint64_t hiword; /* option */
    uint32_t words[WINDOW / 4];
};

static const struct peripheral_option options[] = {
    {"hiword", offsetof(struct registers, hiword)},
    {NULL, 0},
};

static bool init(void *state, const struct peripheral_host *host, char *error,
                 size_t size)
{
    (void)state;
    (void)host;
    (void)error;
    (void)size;
    return true;
}

static void reset(void *state, enum reset_cause cause)
{
    struct registers *registers = state;

    (void)cause;
    for (size_t i = 0; i < WINDOW / 4; i++) {
        registers->words[i] = 0;
    }
}

static uint32_t read_register(void *state, uint32_t offset)
{
    return ((struct registers *)state)->words[offset / 4];
}

static void write_register(void *state, uint32_t offset, uint32_t value)
{
    struct registers *registers = state;
    uint32_t *word = &registers->words[offset / 4];

    *word = registers->hiword != 0 ? hiword_write(*word, value) : value;
}

const struct peripheral_kind registers_kind = {
    .name = "registers",
    .window = WINDOW,
    .state_size = sizeof(struct registers),
    .options = options,
    .tells_state = true,
    .init = init,
    .reset = reset,
    .read = read_register,
    .write = write_register,
};
