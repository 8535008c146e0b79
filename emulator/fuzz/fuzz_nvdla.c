/*
 * fuzz_nvdla.c - libFuzzer target: random register sequences on a model.
 *
 * Input: byte 0 selects the configuration and byte 1 the fault; then commands,
 * each one byte of operation and its operands:
 *   0 write   register index (2 bytes), value (4 bytes)
 *   1 write   register index (2 bytes), value of 1 byte
 *   2 read    register index (2 bytes)
 *   3 advance 2 bytes of cycles; 0xffff runs until idle
 *   4 execute
 *   5 memory  offset (2 bytes), value (1 byte), repeated over 16 bytes
 *   6 raw     offset (4 bytes), value (4 bytes): any offset of the window
 *   7 arm     every block's OP_ENABLE, then run
 * Memory is 16 KiB at 0 of both ports. The work of an operation
 * is limited, so that an input costs milliseconds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat_memory.h"
#include "model.h"

#define MEMORY_SIZE 0x4000u
#define MAX_MACS ((uint64_t)1 << 15)
#define MAX_ELEMENTS ((uint64_t)1 << 11)
#define MAX_BYTES ((size_t)1 << 17)
#define MAX_JOBS 24u

/* Published, and the one that has BDMA and RUBIK. */
static const char *const configs[] = {
    "nv_small",        "nv_small_256",        "nv_small_256_full",
    "nv_medium_512",   "nv_medium_1024_full", "nv_large",
    "test_bdma_rubik",
};

#define CONFIGS (sizeof configs / sizeof configs[0])

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

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

static const struct nvdla_register *take_register(struct input *input)
{
    return nvdla_register_at(take(input, 2) % nvdla_register_count());
}

static void arm_all(struct accel_model *model)
{
    for (unsigned block = 0; block < BLOCK_COUNT; block++) {
        uint32_t inside = nvdla_op_enable_offset(block);

        if (inside != 0 && (block != BLOCK_RBK || model->config->has_rubik)) {
            nvdla_family.write(model, block << 12 | inside, 1);
        }
    }
    nvdla_family.advance(model, UINT64_MAX);
}

static void play(struct accel_model *model, struct input *input,
                 uint8_t *memory)
{
    while (input->size > 0) {
        uint32_t command = take(input, 1) & 7u;

        if (command == 0 || command == 1) {
            const struct nvdla_register *reg = take_register(input);

            nvdla_family.write(model, reg->offset,
                               take(input, command == 0 ? 4u : 1u));
        } else if (command == 2) {
            (void)nvdla_family.read(model, take_register(input)->offset);
        } else if (command == 3) {
            uint32_t cycles = take(input, 2);

            nvdla_family.advance(model,
                                 cycles == 0xffffu ? UINT64_MAX : cycles);
        } else if (command == 4) {
            nvdla_family.execute(model);
        } else if (command == 5) {
            uint32_t at = take(input, 2) & (MEMORY_SIZE - 16u);

            memset(memory + at, (int)take(input, 1), 16);
        } else if (command == 6) {
            uint32_t offset = take(input, 4) & (NVDLA_WINDOW - 4u);

            nvdla_family.write(model, offset, take(input, 4));
            (void)nvdla_family.read(model, offset);
        } else {
            arm_all(model);
        }
        if (model->ops_completed > MAX_JOBS) {
            return;
        }
    }
    nvdla_family.advance(model, UINT64_MAX);
}

static uint8_t *dram, *sram;

/*
 * A model as after creation, with zero-filled memory. Models are made once;
 * copying a kept image back costs a tenth of making one.
 */
static struct accel_model *fresh_model(size_t config)
{
    static struct flat_memory *memory;
    static struct accel_model *models[CONFIGS];
    static struct accel_model *images[CONFIGS];

    if (memory == NULL) {
        memory = flat_memory_create();
        dram = flat_memory_add(memory, ACCEL_DRAM, 0, MEMORY_SIZE);
        sram = flat_memory_add(memory, ACCEL_SRAM, 0, MEMORY_SIZE);
    }
    if (models[config] == NULL) {
        struct accel_host host = flat_memory_host(memory);
        char error[200];

        models[config] =
            nvdla_family.create(configs[config], &host, error, sizeof error);
        images[config] = malloc(sizeof *images[config]);
        if (models[config] == NULL || images[config] == NULL) {
            abort();
        }
        nvdla_model_limit(models[config], MAX_MACS, MAX_ELEMENTS, MAX_BYTES);
        memcpy(images[config], models[config], sizeof *images[config]);
    }
    memset(dram, 0, MEMORY_SIZE);
    memset(sram, 0, MEMORY_SIZE);
    memcpy(models[config], images[config], sizeof *models[config]);
    return models[config];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const faults[] = {
        "irq-lost:*",   "irq-late:*:50", "irq-twice:*",    "irq-spurious:*",
        "stuck-busy:1", "dma-error:1",   "bit-flip:*:100", NULL};
    struct input input = {data, size};
    size_t config = take(&input, 1) % CONFIGS;
    uint32_t fault = take(&input, 1) % 16u;
    struct accel_model *model = fresh_model(config);
    char error[200];

    if (fault < 8u && faults[fault] != NULL &&
        !nvdla_family.fault(model, faults[fault], error, sizeof error)) {
        abort();
    }
    play(model, &input, dram);
    return 0;
}
