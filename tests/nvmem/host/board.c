/*
 * board.c - the device of board.h.
 */
#include "board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fwgen_cpu.h"

#define RUN_BASE 0x30000000u
#define TENSOR_BASE 0x21800000u
#define TENSOR_SIZE 0x10000u

struct sim_flash sim_flash;
struct fwgen_slots_board sim_board;

static struct fwgen_nvmem device;

struct fwgen_model fwgen_models[1] = {{.name = "image"}};
const uint32_t fwgen_model_count = 1;
const struct fwgen_accelerator fwgen_accelerators[] = {
    {.name = "dla0", .family = "nvdla", .config = "nv_small"},
};
const uint32_t fwgen_accelerator_count = 1;
const char fwgen_board_name[] = "sim";
/* The runtime's fwgen_partitions are constant; here they depend on the
 * geometry, so they have another name that means the same object. */
#define PARTITIONS 4u
struct fwgen_partition partitions[PARTITIONS] __asm__("fwgen_partitions");
const uint32_t fwgen_partition_count = PARTITIONS;
const fwgen_kernel fwgen_kernels[2] = {NULL, fwgen_kernel_softmax};
const uint32_t fwgen_kernel_count = 2;

int fwgen_kernel_softmax(const uint32_t *arguments, uint32_t count)
{
    (void)arguments;
    (void)count;
    return 0;
}

void fwgen_cache_clean(uintptr_t address, uint32_t length)
{
    (void)address;
    (void)length;
}

uint32_t sim_random(void)
{
    uint32_t x = sim_flash.random;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    sim_flash.random = x;
    return x;
}

static void fail(const char *what, uint32_t offset)
{
    printf("FLASH MISUSED: %s at 0x%x\n", what, offset);
    (void)fflush(stdout);
    abort();
}

static bool is_cut(void)
{
    sim_flash.operations++;
    return sim_flash.operations == sim_flash.cut_at;
}

static void stick(void)
{
    if (sim_flash.stuck_mask != 0u) {
        sim_flash.cells[sim_flash.stuck_at] &= (uint8_t)~sim_flash.stuck_mask;
    }
}

static enum fwgen_result start(const struct fwgen_nvmem *unused)
{
    (void)unused;
    return sim_flash.dead ? FWGEN_ERROR_FLASH : FWGEN_OK;
}

static enum fwgen_result read(const struct fwgen_nvmem *unused, uint32_t offset,
                              void *data, uint32_t length)
{
    (void)unused;
    if (sim_flash.dead) {
        return FWGEN_ERROR_FLASH;
    }
    if (length > sim_flash.size || offset > sim_flash.size - length) {
        fail("read outside", offset);
    }
    stick();
    memcpy(data, &sim_flash.cells[offset], length);
    return FWGEN_OK;
}

/* A part of what programming does to a byte. */
static uint8_t torn_byte(uint8_t old, uint8_t new, uint32_t at, uint32_t length)
{
    switch (sim_flash.tear) {
    case TEAR_PREFIX:
        return at < length / 2u ? (uint8_t)(old & new) : old;
    case TEAR_BITS:
        return (uint8_t)(old & (new | (uint8_t)sim_random()));
    case TEAR_GARBAGE: {
        const uint8_t cleared = (uint8_t)(old & ~new);

        /* all bits but the highest of those that should go */
        return (uint8_t)((old & new) | (at == 0u ? cleared & 0xf0u : 0u));
    }
    case TEAR_NOTHING:
    default:
        return old;
    }
}

static enum fwgen_result program(const struct fwgen_nvmem *part,
                                 uint32_t offset, const void *data,
                                 uint32_t length)
{
    const uint8_t *bytes = data;
    const uint32_t unit = part->program_size;

    if (sim_flash.dead) {
        return FWGEN_ERROR_FLASH;
    }
    if (offset % unit != 0u || length % unit != 0u) {
        fail("half a unit programmed", offset);
    }
    for (uint32_t done = 0; done < length; done += unit) {
        uint8_t *cells = &sim_flash.cells[offset + done];
        const bool cut = is_cut();

        for (uint32_t i = 0; i < unit; i++) {
            if (cells[i] != 0xffu && sim_flash.stuck_mask == 0u) {
                fail("unit programmed twice", offset + done);
            }
        }
        for (uint32_t i = 0; i < unit; i++) {
            cells[i] = cut ? torn_byte(cells[i], bytes[done + i], i, unit)
                           : (uint8_t)(cells[i] & bytes[done + i]);
        }
        stick();
        if (cut) {
            longjmp(sim_flash.power, 1);
        }
    }
    return FWGEN_OK;
}

static enum fwgen_result erase(const struct fwgen_nvmem *part, uint32_t offset)
{
    uint8_t *cells = &sim_flash.cells[offset];
    const bool cut = is_cut();

    if (sim_flash.dead) {
        return FWGEN_ERROR_FLASH;
    }
    if (offset % part->erase_size != 0u) {
        fail("half a block erased", offset);
    }
    for (uint32_t i = 0; i < part->erase_size; i++) {
        if (!cut) {
            cells[i] = 0xff;
        } else if (sim_flash.tear == TEAR_PREFIX) {
            cells[i] = i < part->erase_size / 2u ? 0xff : cells[i];
        } else if (sim_flash.tear == TEAR_BITS) {
            cells[i] |= (uint8_t)sim_random();
        } else if (sim_flash.tear == TEAR_GARBAGE) {
            cells[i] &= (uint8_t)sim_random();
        } else {
            /* nothing happened */
        }
    }
    stick();
    if (cut) {
        longjmp(sim_flash.power, 1);
    }
    return FWGEN_OK;
}

static enum fwgen_result commit(const struct fwgen_nvmem *unused)
{
    (void)unused;
    return FWGEN_OK;
}

static const struct fwgen_nvmem_driver driver = {start, read, program, erase,
                                                 commit};

static void map(uintptr_t base, size_t size)
{
    void *at = mmap((void *)base, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (at != (void *)base) {
        perror("mmap");
        exit(3);
    }
}

bool sim_make(uint32_t erase_size, uint32_t program_size, uint32_t slot_size,
              uint32_t blocks)
{
    static const char *const names[] = {"settings", "state", "slot_a",
                                        "slot_b"};
    static bool mapped;
    uint32_t offset = 0;

    if (erase_size % program_size != 0u || slot_size % erase_size != 0u) {
        return false;
    }
    device = (struct fwgen_nvmem){
        .driver = &driver,
        .erase_size = erase_size,
        .program_size = program_size,
    };
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].name = names[i];
        partitions[i].device = &device;
        partitions[i].offset = offset;
        partitions[i].size = i < 2u ? blocks * erase_size : slot_size;
        partitions[i].kind = i == 0u   ? FWGEN_PARTITION_SETTINGS
                             : i == 1u ? FWGEN_PARTITION_STATE
                                       : FWGEN_PARTITION_SLOT;
        offset += partitions[i].size;
    }
    device.size = offset;
    sim_flash.size = offset;
    sim_flash.cells = realloc(sim_flash.cells, offset);
    memset(sim_flash.cells, 0xff, offset);
    sim_flash.random = 0x12345678u;
    sim_board = (struct fwgen_slots_board){
        .slots = {&partitions[2], &partitions[3]},
        .state = &partitions[1],
        .settings = &partitions[0],
        .layout_hash = {1, 2, 3, 4, 5, 6, 7, 8},
        .run_base = RUN_BASE,
        .run_size = slot_size,
        .tensor_base = TENSOR_BASE,
        .tensor_size = TENSOR_SIZE,
    };
    if (!mapped) {
        map(RUN_BASE, 0x100000);
        map(TENSOR_BASE, TENSOR_SIZE);
        mapped = true;
    }
    return true;
}

void sim_power_on(uint64_t cut_at, enum tear tear)
{
    sim_flash.operations = 0;
    sim_flash.cut_at = cut_at;
    sim_flash.tear = tear;
}
