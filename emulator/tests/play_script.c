/*
 * play_script.c - plays recorded register sessions, for sanitizer builds.
 *
 * tests/emulator/test_sanitizers.py records what a replay does to a model and
 * what it reads; this program does the same to a model compiled with
 * sanitizers, without Python around it, and compares. A script is a string of
 * commands, each one letter and little-endian operands:
 *   C  u8 length, configuration name: a new case, the old one ends
 *   M  u8 port, u64 base, u64 size: zero-filled memory
 *   D  u8 port, u64 address, u32 length, bytes: store
 *   W  u32 offset, u32 value: register write
 *   R  u32 offset, u32 value: register read, must give the value
 *   S  advance to the next event
 *   K  u8 port, u64 address, u32 length, u32 CRC-32: memory must match
 *   Z  u32 count: guest errors so far
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "accel_model.h"
#include "flat_memory.h"

struct player {
    FILE *file;
    const struct accel_family *family;
    struct flat_memory *memory;
    struct accel_host host;
    struct accel_model *model;
    unsigned long cases, checks, failures;
    uint32_t table[256];
};

static uint64_t take(struct player *player, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        int byte = getc(player->file);

        if (byte == EOF) {
            (void)fprintf(stderr, "the script ends within a command\n");
            exit(2);
        }
        value |= (uint64_t)byte << (8u * i);
    }
    return value;
}

static uint8_t *take_bytes(struct player *player, size_t size)
{
    uint8_t *data = malloc(size + 1u);

    if (data == NULL || fread(data, 1, size, player->file) != size) {
        (void)fprintf(stderr, "the script ends within a command\n");
        exit(2);
    }
    data[size] = 0;
    return data;
}

static void end_case(struct player *player)
{
    if (player->model != NULL) {
        player->family->destroy(player->model);
        player->model = NULL;
    }
    flat_memory_destroy(player->memory);
    player->memory = NULL;
}

static void begin_case(struct player *player)
{
    size_t length = (size_t)take(player, 1);
    uint8_t *name = take_bytes(player, length);
    char error[200] = "";

    end_case(player);
    player->memory = flat_memory_create();
    player->host = flat_memory_host(player->memory);
    /* The family that knows the configuration. */
    for (const struct accel_family *const *family = accel_families();
         *family != NULL && player->model == NULL; family++) {
        player->family = *family;
        player->model = player->family->create(
            (const char *)name, &player->host, error, sizeof error);
    }
    free(name);
    if (player->model == NULL) {
        (void)fprintf(stderr, "%s\n", error);
        exit(2);
    }
    player->cases++;
}

static void expect(struct player *player, const char *what, uint64_t place,
                   uint64_t found, uint64_t wanted)
{
    player->checks++;
    if (found != wanted) {
        player->failures++;
        (void)printf("case %lu: %s 0x%" PRIx64 " is 0x%" PRIx64
                     " instead of 0x%" PRIx64 "\n",
                     player->cases, what, place, found, wanted);
    }
}

static void check_memory(struct player *player)
{
    enum accel_space space = take(player, 1) != 0 ? ACCEL_SRAM : ACCEL_DRAM;
    uint64_t address = take(player, 8);
    size_t length = (size_t)take(player, 4);
    uint8_t *data = malloc(length + 1u);
    uint32_t crc = UINT32_MAX;

    if (data == NULL ||
        !player->host.read(player->host.opaque, space, address, data, length)) {
        (void)fprintf(stderr, "no memory at 0x%" PRIx64 "\n", address);
        exit(2);
    }
    for (size_t i = 0; i < length; i++) {
        crc = player->table[(crc ^ data[i]) & 0xffu] ^ crc >> 8;
    }
    free(data);
    expect(player, "CRC of memory at", address, ~crc, take(player, 4));
}

static void store(struct player *player)
{
    enum accel_space space = take(player, 1) != 0 ? ACCEL_SRAM : ACCEL_DRAM;
    uint64_t address = take(player, 8);
    size_t length = (size_t)take(player, 4);
    uint8_t *data = take_bytes(player, length);

    if (!player->host.write(player->host.opaque, space, address, data,
                            length)) {
        (void)fprintf(stderr, "no memory at 0x%" PRIx64 "\n", address);
        exit(2);
    }
    free(data);
}

static void add_memory(struct player *player)
{
    enum accel_space space = take(player, 1) != 0 ? ACCEL_SRAM : ACCEL_DRAM;
    uint64_t base = take(player, 8);

    if (flat_memory_add(player->memory, space, base, take(player, 8)) == NULL) {
        (void)fprintf(stderr, "cannot add memory at 0x%" PRIx64 "\n", base);
        exit(2);
    }
}

static void step(struct player *player)
{
    uint64_t cycles = player->family->next_event(player->model);

    if (cycles != ACCEL_NO_EVENT) {
        player->family->advance(player->model, cycles);
    }
}

static void play(struct player *player)
{
    for (int command = getc(player->file); command != EOF;
         command = getc(player->file)) {
        uint32_t offset;

        if (command != 'C' && player->model == NULL) {
            (void)fprintf(stderr, "the script does not begin with a case\n");
            exit(2);
        }
        switch (command) {
        case 'C':
            begin_case(player);
            break;
        case 'M':
            add_memory(player);
            break;
        case 'D':
            store(player);
            break;
        case 'W':
            offset = (uint32_t)take(player, 4);
            player->family->write(player->model, offset,
                                  (uint32_t)take(player, 4));
            break;
        case 'R':
            offset = (uint32_t)take(player, 4);
            expect(player, "register", offset,
                   player->family->read(player->model, offset),
                   take(player, 4));
            break;
        case 'S':
            step(player);
            break;
        case 'K':
            check_memory(player);
            break;
        case 'Z':
            expect(player, "number of guest errors", 0,
                   player->family->guest_errors(player->model),
                   take(player, 4));
            break;
        default:
            (void)fprintf(stderr, "unknown command 0x%02x\n",
                          (unsigned)command);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct player player = {.family = NULL};

    for (uint32_t i = 0; i < 256u; i++) {
        uint32_t value = i;

        for (unsigned bit = 0; bit < 8; bit++) {
            value = value >> 1 ^ ((value & 1u) != 0 ? 0xedb88320u : 0u);
        }
        player.table[i] = value;
    }
    player.file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (player.file == NULL) {
        (void)fprintf(stderr, "usage: play_script SCRIPT\n");
        return 2;
    }
    play(&player);
    end_case(&player);
    (void)fclose(player.file);
    (void)printf("%lu cases, %lu checks, %lu failures\n", player.cases,
                 player.checks, player.failures);
    return player.failures == 0 ? 0 : 1;
}
