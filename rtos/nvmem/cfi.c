/*
 * cfi.c - NOR flash with a Common Flash Interface (JEDEC JESD68.01;
 * AMD/Spansion and Intel command sets, JEP137 numbers 1, 2 and 3),
 * memory-mapped, x8 or x16, one chip or two side by side on a 32-bit bus.
 *
 * At start the chip is asked what it is: command set, blocks, timeouts, write
 * buffer. One bus width is tried after the other until the query answers
 * "QRY". Every wait is bounded by what the chip says its longest time is, with
 * a margin, counted by the CPU timer and by polls.
 *
 * Only parts whose blocks are all of the profile's erase size, or of which it
 * is a multiple, are accepted: an erase covers whole blocks.
 */
#include "fwgen_nvmem.h"

#include <string.h>

#include "fwgen_cpu.h"

#if FWGEN_NVMEM

#define SET_INTEL_EXTENDED 0x0001u
#define SET_AMD 0x0002u
#define SET_INTEL 0x0003u
#define SET_INTEL_WIRELESS 0x0200u

/* Offsets in the query, in words of the device. */
#define QUERY_QRY 0x10u
#define QUERY_SET 0x13u
#define QUERY_TYPICAL_PROGRAM 0x1fu /* 2^n us */
#define QUERY_TYPICAL_ERASE 0x21u   /* 2^n ms */
#define QUERY_MAXIMUM_PROGRAM 0x23u /* 2^n times typical */
#define QUERY_MAXIMUM_ERASE 0x25u
#define QUERY_SIZE 0x27u /* 2^n bytes */
#define QUERY_REGIONS 0x2cu
#define QUERY_REGION 0x2du /* u16 blocks - 1, u16 size / 256 */

#define COMMAND_RESET_AMD 0xf0u
#define COMMAND_RESET_INTEL 0xffu
#define COMMAND_QUERY 0x98u
#define INTEL_PROGRAM 0x40u
#define INTEL_ERASE 0x20u
#define INTEL_CONFIRM 0xd0u
#define INTEL_CLEAR 0x50u
#define INTEL_UNLOCK 0x60u
#define INTEL_READY 0x80u
#define INTEL_ERRORS 0x3au /* erase, program, voltage, locked */

#define AMD_PROGRAM 0xa0u
#define AMD_ERASE 0x80u
#define AMD_ERASE_BLOCK 0x30u
#define AMD_DONE 0x80u   /* DQ7: data polling */
#define AMD_FAILED 0x20u /* DQ5 */

/* Polls that a wait takes at least, however the timer runs. */
#define POLLS_MIN 1000u

static struct {
    uint32_t width; /* bytes of a bus access: 1, 2 or 4 */
    uint32_t chips; /* that answer side by side */
    uint32_t set;   /* command set */
    uint32_t block; /* bytes that one erase command erases */
    uint64_t program_ticks;
    uint64_t erase_ticks;
} chip;

/* ---- the bus ---- */

static void bus_write(const struct fwgen_nvmem *device, uint32_t offset,
                      uint32_t value)
{
    const uintptr_t address = device->base + offset;

    switch (chip.width) {
    case 1:
        *(volatile uint8_t *)address = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)address = (uint16_t)value;
        break;
    default:
        *(volatile uint32_t *)address = value;
        break;
    }
}

static uint32_t bus_read(const struct fwgen_nvmem *device, uint32_t offset)
{
    const uintptr_t address = device->base + offset;

    switch (chip.width) {
    case 1:
        return *(const volatile uint8_t *)address;
    case 2:
        return *(const volatile uint16_t *)address;
    default:
        return *(const volatile uint32_t *)address;
    }
}

/* A value for every chip on the bus. */
static uint32_t all(uint32_t value)
{
    return chip.chips == 2u ? value | value << 16 : value;
}

static void command(const struct fwgen_nvmem *device, uint32_t offset,
                    uint32_t value)
{
    bus_write(device, offset, all(value));
    fwgen_cpu_barrier();
}

/* The byte address of a word of the device. */
static uint32_t word(uint32_t index)
{
    return index * chip.width;
}

/* ---- detection ---- */

static uint32_t query(const struct fwgen_nvmem *device, uint32_t index)
{
    return bus_read(device, word(index)) & 0xffu;
}

static uint32_t query16(const struct fwgen_nvmem *device, uint32_t index)
{
    return query(device, index) | query(device, index + 1u) << 8;
}

static void read_array(const struct fwgen_nvmem *device)
{
    /* Each set ignores the other one's command. */
    command(device, 0, COMMAND_RESET_AMD);
    command(device, 0, COMMAND_RESET_INTEL);
}

static bool is_query(const struct fwgen_nvmem *device)
{
    static const uint8_t text[3] = {'Q', 'R', 'Y'};

    read_array(device);
    command(device, word(0x55), COMMAND_QUERY);
    for (uint32_t i = 0; i < 3u; i++) {
        if (bus_read(device, word(QUERY_QRY + i)) != all(text[i])) {
            return false;
        }
    }
    return true;
}

static bool find(const struct fwgen_nvmem *device)
{
    static const struct {
        uint8_t width;
        uint8_t chips;
    } buses[] = {{4, 2}, {2, 1}, {1, 1}, {4, 1}};

    for (uint32_t i = 0; i < sizeof(buses) / sizeof(buses[0]); i++) {
        chip.width = buses[i].width;
        chip.chips = buses[i].chips;
        if (is_query(device)) {
            return true;
        }
        read_array(device);
    }
    return false;
}

/* 2^exponent units of `per_second` in ticks of the CPU timer, twice that. */
static uint64_t ticks(uint32_t exponent, uint32_t per_second)
{
    const uint64_t unit = fwgen_timer_hz() / per_second + 1u;

    return unit << (exponent < 24u ? exponent + 1u : 24u);
}

static enum fwgen_result start(const struct fwgen_nvmem *device)
{
    uint32_t regions;
    uint32_t size;

    chip.set = 0;
    if (device->base == 0u || !find(device)) {
        return FWGEN_ERROR_FLASH;
    }
    chip.set = query16(device, QUERY_SET);
    if (chip.set == SET_INTEL_EXTENDED || chip.set == SET_INTEL_WIRELESS) {
        chip.set = SET_INTEL;
    }
    chip.program_ticks = ticks(query(device, QUERY_TYPICAL_PROGRAM) +
                                   query(device, QUERY_MAXIMUM_PROGRAM),
                               1000000u);
    chip.erase_ticks = ticks(query(device, QUERY_TYPICAL_ERASE) +
                                 query(device, QUERY_MAXIMUM_ERASE),
                             1000u);
    size = query(device, QUERY_SIZE);
    size = size < 31u ? chip.chips << size : 0u;
    regions = query(device, QUERY_REGIONS);
    chip.block = 0;
    for (uint32_t i = 0; i < regions && i < 4u; i++) {
        const uint32_t bytes =
            query16(device, QUERY_REGION + 4u * i + 2u) * 256u * chip.chips;

        if (bytes == 0u || device->erase_size % bytes != 0u) {
            chip.set = 0;
        } else if (chip.block == 0u || bytes < chip.block) {
            chip.block = bytes;
        } else {
            /* a larger one that fits too: the smaller steps cover it */
        }
    }
    read_array(device);
    if ((chip.set != SET_INTEL && chip.set != SET_AMD) || chip.block == 0u ||
        device->size > size || device->program_size % chip.width != 0u) {
        chip.set = 0;
        return FWGEN_ERROR_FLASH;
    }
    return FWGEN_OK;
}

/* ---- commands ---- */

/* Waits until all bits of `mask` in a read of `offset` are those of `value`.
 * False when it takes too long, or a bit of `failed` comes. */
static bool wait(const struct fwgen_nvmem *device, uint32_t offset,
                 uint32_t mask, uint32_t value, uint32_t failed,
                 uint64_t longest)
{
    const uint64_t begin = fwgen_timer_read();

    for (uint32_t polls = 0;; polls++) {
        const uint32_t status = bus_read(device, offset);

        if ((status & mask) == (value & mask)) {
            return true;
        }
        if ((status & failed) != 0u) {
            /* the chip may have finished between the two looks */
            return (bus_read(device, offset) & mask) == (value & mask);
        }
        if (polls >= POLLS_MIN && fwgen_timer_read() - begin > longest) {
            return false;
        }
    }
}

static bool intel_wait(const struct fwgen_nvmem *device, uint32_t offset,
                       uint64_t longest)
{
    bool good =
        wait(device, offset, all(INTEL_READY), all(INTEL_READY), 0, longest);

    good = good && (bus_read(device, offset) & all(INTEL_ERRORS)) == 0u;
    command(device, offset, INTEL_CLEAR);
    command(device, offset, COMMAND_RESET_INTEL);
    return good;
}

static void amd_unlock(const struct fwgen_nvmem *device)
{
    command(device, word(0x555), 0xaa);
    command(device, word(0x2aa), 0x55);
}

static bool program_word(const struct fwgen_nvmem *device, uint32_t offset,
                         uint32_t value)
{
    bool good;

    if (chip.set == SET_INTEL) {
        command(device, offset, INTEL_PROGRAM);
        bus_write(device, offset, value);
        fwgen_cpu_barrier();
        return intel_wait(device, offset, chip.program_ticks);
    }
    amd_unlock(device);
    command(device, word(0x555), AMD_PROGRAM);
    bus_write(device, offset, value);
    fwgen_cpu_barrier();
    good = wait(device, offset, all(AMD_DONE), value, all(AMD_FAILED),
                chip.program_ticks);
    if (!good) {
        command(device, 0, COMMAND_RESET_AMD);
    }
    return good;
}

static bool erase_block(const struct fwgen_nvmem *device, uint32_t offset)
{
    bool good;

    if (chip.set == SET_INTEL) {
        command(device, offset, INTEL_UNLOCK);
        command(device, offset, INTEL_CONFIRM);
        command(device, offset, COMMAND_RESET_INTEL);
        command(device, offset, INTEL_ERASE);
        command(device, offset, INTEL_CONFIRM);
        return intel_wait(device, offset, chip.erase_ticks);
    }
    amd_unlock(device);
    command(device, word(0x555), AMD_ERASE);
    amd_unlock(device);
    command(device, offset, AMD_ERASE_BLOCK);
    good = wait(device, offset, all(AMD_DONE), all(AMD_DONE), all(AMD_FAILED),
                chip.erase_ticks);
    if (!good) {
        command(device, 0, COMMAND_RESET_AMD);
    }
    return good;
}

/* ---- the driver ---- */

static enum fwgen_result read(const struct fwgen_nvmem *device, uint32_t offset,
                              void *data, uint32_t length)
{
    (void)memcpy(data, (const void *)(device->base + offset), length);
    return FWGEN_OK;
}

static enum fwgen_result program(const struct fwgen_nvmem *device,
                                 uint32_t offset, const void *data,
                                 uint32_t length)
{
    const uint8_t *bytes = data;
    const uint32_t blank = 0xffffffffu >> (32u - 8u * chip.width);

    if (chip.set == 0u) {
        return FWGEN_ERROR_FLASH; /* not found at start */
    }
    for (uint32_t at = 0; at < length; at += chip.width) {
        uint32_t value = 0;

        for (uint32_t i = 0; i < chip.width; i++) {
            value |= (uint32_t)bytes[at + i] << (8u * i);
        }
        if (value != blank && !program_word(device, offset + at, value)) {
            return FWGEN_ERROR_FLASH;
        }
    }
    return FWGEN_OK;
}

static enum fwgen_result erase(const struct fwgen_nvmem *device,
                               uint32_t offset)
{
    if (chip.set == 0u) {
        return FWGEN_ERROR_FLASH;
    }
    for (uint32_t at = 0; at < device->erase_size; at += chip.block) {
        if (!erase_block(device, offset + at)) {
            return FWGEN_ERROR_FLASH;
        }
    }
    return FWGEN_OK;
}

static enum fwgen_result commit(const struct fwgen_nvmem *device)
{
    (void)device;
    return FWGEN_OK; /* each command was waited for */
}

const struct fwgen_nvmem_driver fwgen_nvmem_cfi = {
    .start = start,
    .read = read,
    .program = program,
    .erase = erase,
    .commit = commit,
};

#endif
