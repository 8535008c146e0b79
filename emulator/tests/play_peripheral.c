/*
 * play_peripheral.c - drives one peripheral model of a board from text.
 *
 *     play_peripheral KIND [OPTION=NUMBER...] < commands
 *
 * Commands: "w OFFSET VALUE", "r OFFSET", "in BYTE" (as much as there is room
 * for; says "full" otherwise), "to NS" (virtual time, ringing alarms on the
 * way), "reset CAUSE", "random SEED COUNT" (accesses of any kind). What the
 * model does is printed, a line each: "= VALUE" of a read, "irq LEVEL",
 * "out BYTE", "machine reset CAUSE", "error SENTENCE". Random accesses print
 * their count only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peripheral.h"

static const struct peripheral_kind *kind;
static void *state;
static uint64_t now_ns;
static uint64_t alarm_ns = PERIPHERAL_NO_ALARM;
static int quiet;
static int level;

static void on_irq(void *opaque, bool up)
{
    (void)opaque;
    if (up == level) {
        fprintf(stderr, "the line was at that level already\n");
        exit(1);
    }
    level = up;
    if (!quiet) {
        printf("irq %d\n", up);
    }
}

static void on_transmit(void *opaque, uint8_t byte)
{
    (void)opaque;
    if (!quiet) {
        printf("out %u\n", byte);
    }
}

static void on_ready(void *opaque)
{
    (void)opaque;
}

static uint64_t on_now(void *opaque)
{
    (void)opaque;
    return now_ns;
}

static void on_set_alarm(void *opaque, uint64_t time_ns)
{
    (void)opaque;
    alarm_ns = time_ns;
}

static void on_reset_machine(void *opaque, enum reset_cause cause)
{
    (void)opaque;
    if (!quiet) {
        printf("machine reset %d\n", (int)cause);
    }
}

static void on_guest_error(void *opaque, const char *message)
{
    (void)opaque;
    if (!quiet) {
        printf("error %s\n", message);
    }
}

static void advance(uint64_t time_ns)
{
    while (alarm_ns <= time_ns) {
        now_ns = alarm_ns > now_ns ? alarm_ns : now_ns;
        alarm_ns = PERIPHERAL_NO_ALARM;
        kind->alarm(state);
    }
    now_ns = time_ns;
}

static uint32_t draw(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static void random_accesses(uint32_t seed, unsigned long count)
{
    quiet = 1;
    for (unsigned long i = 0; i < count; i++) {
        uint32_t choice = draw(&seed) % 16;
        uint32_t offset = draw(&seed) % kind->window & ~3u;
        uint32_t value = draw(&seed);

        if (choice < 9) {
            /* Often a few bits: whole random words rarely mean anything. */
            kind->write(state, offset, choice < 5 ? 1u << (value % 32) : value);
        } else if (choice < 14) {
            kind->read(state, offset);
        } else if (kind->has_serial) {
            if (kind->receive_room(state) != 0) {
                kind->receive(state, (uint8_t)value);
            }
        } else if (kind->alarm != NULL) {
            advance(now_ns + value % 100000000u);
        }
        if (choice == 15 && value % 512 == 0) {
            kind->reset(state, (enum reset_cause)(value / 512 % 5));
        }
    }
    quiet = 0;
    printf("%lu accesses\n", count);
}

static int run(const char *command, uint64_t first, uint64_t second)
{
    if (strcmp(command, "w") == 0) {
        kind->write(state, (uint32_t)first, (uint32_t)second);
    } else if (strcmp(command, "r") == 0) {
        printf("= 0x%08" PRIx32 "\n", kind->read(state, (uint32_t)first));
    } else if (strcmp(command, "in") == 0) {
        if (kind->receive_room(state) == 0) {
            printf("full\n");
        } else {
            kind->receive(state, (uint8_t)first);
        }
    } else if (strcmp(command, "to") == 0) {
        advance(first);
    } else if (strcmp(command, "reset") == 0) {
        kind->reset(state, (enum reset_cause)first);
    } else if (strcmp(command, "random") == 0) {
        random_accesses((uint32_t)first, (unsigned long)second);
    } else {
        return 1;
    }
    return 0;
}

static int set_option(char *argument)
{
    char *value = strchr(argument, '=');
    const struct peripheral_option *option = kind->options;

    if (value == NULL) {
        return 1;
    }
    *value++ = '\0';
    for (; option != NULL && option->key != NULL; option++) {
        if (strcmp(option->key, argument) == 0) {
            *(uint64_t *)(void *)((char *)state + option->offset) =
                strtoull(value, NULL, 0);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    static const struct peripheral_host host = {
        .irq = on_irq,
        .transmit = on_transmit,
        .receive_ready = on_ready,
        .now = on_now,
        .set_alarm = on_set_alarm,
        .reset_machine = on_reset_machine,
        .guest_error = on_guest_error,
    };
    char error[256] = "";
    char command[16];
    char line[128];

    kind = argc > 1 ? peripheral_find(argv[1]) : NULL;
    if (kind == NULL) {
        fprintf(stderr, "usage: play_peripheral KIND [OPTION=NUMBER...]\n");
        return 2;
    }
    state = calloc(1, kind->state_size);
    if (state == NULL) {
        return 1;
    }
    for (int i = 2; i < argc; i++) {
        if (set_option(argv[i]) != 0) {
            fprintf(stderr, "no such option: %s\n", argv[i]);
            return 2;
        }
    }
    if (!kind->init(state, &host, error, sizeof(error))) {
        printf("refused: %s\n", error);
        free(state);
        return 3;
    }
    kind->reset(state, RESET_POWER_ON);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        long long first = 0;
        long long second = 0;

        if (sscanf(line, "%15s %lli %lli", command, &first, &second) < 1) {
            continue;
        }
        if (run(command, (uint64_t)first, (uint64_t)second) != 0) {
            fprintf(stderr, "no such command: %s", line);
            free(state);
            return 2;
        }
    }
    free(state);
    return 0;
}
