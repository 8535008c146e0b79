/*
 * fuzz_vip.c - libFuzzer target: random registers, command streams, descriptors
 * and coefficients on a VIP.
 *
 * Input: byte 0 selects the configuration and byte 1 the fault; then commands,
 * each one byte of operation and its operands:
 *   0 write   register index (1 byte), value (4 bytes)
 *   1 read    register index (1 byte)
 *   2 advance 2 bytes of cycles; 0xffff runs until idle
 *   3 execute
 *   4 memory  address (2 bytes), count less 1 (1 byte), that many bytes
 *   5 start   address (2 bytes), units (2 bytes): the front end there, and run
 *   6 job     unit (1 byte), address (2 bytes): a stream with this job, and run
 *   7 raw     offset (2 bytes), value (4 bytes): any offset of the window
 * Memory is 32 KiB at 0 and at the AXI port; the streams of "job" lie behind
 * the first. The work of a stream is limited, so that an input costs
 * milliseconds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flat_memory.h"
#include "model.h"

#define MEMORY_SIZE 0x8000u
#define STREAM MEMORY_SIZE
#define STREAM_WORDS 16u
#define MAX_MACS ((uint64_t)1 << 17)
#define MAX_ELEMENTS ((uint64_t)1 << 13)
#define MAX_BYTES ((size_t)1 << 17)
#define MAX_COMMANDS 64u
#define MAX_JOBS 8u
#define MAX_RUNS 24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static uint8_t *dram, *axi;

static uint32_t take(struct input *input, unsigned bytes)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < bytes && input->size > 0; i++) {
        value |= (uint32_t)*input->data << (8u * i);
        input->data++;
        input->size--;
    }
    return value;
}

/* One of the registers there are. */
static uint32_t take_register(struct input *input)
{
    static uint32_t offsets[64];
    static unsigned count;

    if (count == 0) {
        for (uint32_t at = 0; at < VIP_REGISTERS * 4u && count < 64u; at += 4) {
            if (vip_family.register_name(at) != NULL) {
                offsets[count++] = at;
            }
        }
    }
    return offsets[take(input, 1) % count];
}

static void start(struct accel_model *model, uint32_t address, uint32_t units)
{
    vip_family.write(model, 0x654, address);
    vip_family.write(model, 0x658, 0x10000u | units);
    vip_family.write(model, 0x3a4, 0x10000u | units);
    vip_family.advance(model, UINT64_MAX);
}

static void run_job(struct accel_model *model, bool tp, uint32_t address)
{
    const uint32_t words[STREAM_WORDS] = {
        0x08010e4e,
        0x400000, /* the VIP SRAM's window */
        tp ? 0x0801042eu : 0x08010428u,
        address & ~0x3fu,
        0x08010429,
        0, /* the end of a group */
        0x08010e01,
        0x41, /* event 1 */
        0x10000000,
        0, /* END */
    };

    memcpy(dram + STREAM, words, sizeof words);
    start(model, STREAM, STREAM_WORDS / 2u);
}

static void put_bytes(struct input *input)
{
    uint32_t at = take(input, 2) % MEMORY_SIZE;
    uint32_t count = take(input, 1) + 1u;

    for (uint32_t i = 0; i < count; i++) {
        dram[(at + i) % MEMORY_SIZE] = (uint8_t)take(input, 1);
    }
}

static void play(struct accel_model *model, struct input *input)
{
    unsigned runs = 0;

    while (input->size > 0 && runs < MAX_RUNS) {
        uint32_t command = take(input, 1) & 7u;

        if (command == 0) {
            uint32_t offset = take_register(input);

            vip_family.write(model, offset, take(input, 4));
        } else if (command == 1) {
            (void)vip_family.read(model, take_register(input));
        } else if (command == 2) {
            uint32_t cycles = take(input, 2);

            vip_family.advance(model, cycles == 0xffffu ? UINT64_MAX : cycles);
        } else if (command == 3) {
            vip_family.execute(model);
        } else if (command == 4) {
            put_bytes(input);
        } else if (command == 5) {
            uint32_t address = take(input, 2);

            runs++;
            start(model, address, take(input, 2));
        } else if (command == 6) {
            bool tp = (take(input, 1) & 1u) != 0;

            runs++;
            run_job(model, tp, take(input, 2));
        } else {
            uint32_t offset = take(input, 2) & (VIP_WINDOW - 4u);

            vip_family.write(model, offset, take(input, 4));
            (void)vip_family.read(model, offset);
        }
    }
    vip_family.advance(model, UINT64_MAX);
}

/*
 * A model as after creation, with zero-filled memory. Models are made once;
 * copying a kept image back costs a tenth of making one. What the VIP SRAM
 * holds stays, which makes no difference to what is looked for here.
 */
static struct accel_model *fresh_model(size_t config)
{
    static struct flat_memory *memory;
    static struct accel_model *models[8];
    static struct accel_model *images[8];

    if (memory == NULL) {
        memory = flat_memory_create();
        dram =
            flat_memory_add(memory, ACCEL_DRAM, 0, STREAM + STREAM_WORDS * 4u);
        axi = flat_memory_add(memory, ACCEL_SRAM, 0, MEMORY_SIZE);
    }
    if (models[config] == NULL) {
        struct accel_host host = flat_memory_host(memory);
        char error[200];

        models[config] = vip_family.create(vip_family.configs()[config], &host,
                                           error, sizeof error);
        images[config] = malloc(sizeof *images[config]);
        if (models[config] == NULL || images[config] == NULL) {
            abort();
        }
        vip_model_limit(models[config], MAX_MACS, MAX_ELEMENTS, MAX_BYTES,
                        MAX_COMMANDS, MAX_JOBS);
        memcpy(images[config], models[config], sizeof *images[config]);
    }
    memset(dram, 0, STREAM + STREAM_WORDS * 4u);
    memset(axi, 0, MEMORY_SIZE);
    memcpy(models[config], images[config], sizeof *models[config]);
    return models[config];
}

static size_t config_count(void)
{
    size_t count = 0;

    while (vip_family.configs()[count] != NULL && count < 8u) {
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const faults[] = {
        "irq-lost:*",   "irq-late:*:50", "irq-twice:*",    "irq-spurious:*",
        "stuck-busy:1", "dma-error:1",   "bit-flip:*:100", NULL};
    struct input input = {data, size};
    size_t config = take(&input, 1) % config_count();
    uint32_t fault = take(&input, 1) % 16u;
    struct accel_model *model = fresh_model(config);
    char error[200];

    if (fault < 8u && faults[fault] != NULL &&
        !vip_family.fault(model, faults[fault], error, sizeof error)) {
        abort();
    }
    play(model, &input);
    return 0;
}
