/*
 * package.c - checks of packages and the way from a package to a model
 * (fwgen_package.h; docs/update.md, "The package"). The same checks stand in
 * fwgen/package/verify.py; tests hold both to the same answers.
 */
#include "fwgen_package.h"

#include <string.h>

#include "bytes.h"
#include "fwgen_cpu.h"
#include "fwgen_ed25519.h"
#include "fwgen_link.h"
#include "fwgen_sha256.h"

#if FWGEN_NVMEM

#define FORMAT 1u
#define FLAG_SIGNED 1u

/* Offsets in the header. */
enum {
    AT_FORMAT = 8,
    AT_HEADER_SIZE = 10,
    AT_FLAGS = 12,
    AT_LENGTH = 16,
    AT_VERSION = 20,
    AT_LAYOUT = 24,
    AT_BOARD = 32,
    AT_ACCELERATOR = 64,
    AT_NAME = 96,
    AT_DIGEST = 128,
    AT_CRC = 160,
    AT_KERNELS = 164,
    AT_SELF_TEST = 168,
    AT_VARIANTS = 172,
    AT_VARIANT = 176, /* u32 base, u32 table each */
    AT_SIGNATURE = 384,
    AT_HEADER_CRC = 508,
};

/* Offsets in a table, and of a tensor. */
enum {
    TABLE_PROGRAM = 0,
    TABLE_PROGRAM_WORDS = 4,
    TABLE_PIPELINED = 8,
    TABLE_PIPELINED_WORDS = 12,
    TABLE_INTERRUPTS = 16,
    TABLE_INPUTS = 20,
    TABLE_OUTPUTS = 22,
    TABLE_OPERATIONS = 24,
    TABLE_ACCELERATOR = 26,
    TABLE_DEPTH = 28,
    TABLE_BANKS = 29,
    TABLE_LAYOUT = 32,
    TABLE_CLEAR = 40,
    TABLE_CLEAR_SIZE = 44,
    TABLE_TENSORS = 48,
    TENSOR_NAME = 0,
    TENSOR_ADDRESS = 4,
    TENSOR_SIZE = 8,
    TENSOR_SHAPE = 12,
    TENSOR_STRIDES = 28,
    TENSOR_SCALE = 40,
    TENSOR_ZERO = 44,
    TENSOR_DTYPE = 48,
    TENSOR_LAYOUT = 49,
    TENSOR_ATOM = 50,
    TENSOR_RECORD = 52,
    SELF_TEST_INPUTS = 36, /* behind u32 length and the expected digest */
};

static bool is_text(const uint8_t *field)
{
    return memchr(field, 0, FWGEN_PACKAGE_NAME) != NULL;
}

/* Whether the field says "family/config" of an accelerator of the board. */
static bool has_accelerator(const uint8_t *field)
{
    for (uint32_t i = 0; i < fwgen_accelerator_count; i++) {
        const char *family = fwgen_accelerators[i].family;
        const size_t length = strlen(family);

        if (strncmp((const char *)field, family, length) == 0 &&
            field[length] == '/' &&
            strcmp((const char *)&field[length + 1u],
                   fwgen_accelerators[i].config) == 0) {
            return true;
        }
    }
    return false;
}

static uintptr_t run_address(const struct fwgen_slots_board *board,
                             uint32_t slot)
{
    return board->run_base != 0u ? board->run_base
                                 : fwgen_partition_address(board->slots[slot]);
}

/* The table of the variant for an address; 0: there is none. */
static uint32_t table_for(const uint8_t *header, uintptr_t address)
{
    uint32_t count = fwgen_get32(&header[AT_VARIANTS]);

    if (count > FWGEN_PACKAGE_VARIANTS) {
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *variant = &header[AT_VARIANT + 8u * i];

        if (fwgen_get32(variant) == (uint32_t)address) {
            return fwgen_get32(&variant[4]);
        }
    }
    return 0;
}

static enum fwgen_package_fault
check_signature(const uint8_t *header, const struct fwgen_slots_board *board)
{
#if FWGEN_SIGNED_UPDATE
    if ((fwgen_get32(&header[AT_FLAGS]) & FLAG_SIGNED) == 0u) {
        return FWGEN_PACKAGE_UNSIGNED;
    }
    if (!fwgen_ed25519_verify(&header[AT_SIGNATURE], board->key, header,
                              AT_SIGNATURE)) {
        return FWGEN_PACKAGE_SIGNATURE;
    }
#else
    (void)header;
    (void)board;
#endif
    return FWGEN_PACKAGE_GOOD;
}

/* Whether [offset, offset + size) lies in the payload, at a multiple of 4. */
static bool is_payload(const struct fwgen_package *package, uint32_t offset,
                       uint32_t size)
{
    return offset >= FWGEN_PACKAGE_HEADER && offset % 4u == 0u &&
           offset <= package->length && size <= package->length - offset;
}

enum fwgen_package_fault
fwgen_package_header(const uint8_t header[FWGEN_PACKAGE_HEADER],
                     const struct fwgen_slots_board *board, uint32_t slot,
                     uint32_t oldest, struct fwgen_package *package)
{
    const uint32_t room =
        board->run_base != 0u && board->run_size < board->slots[slot]->size
            ? board->run_size
            : board->slots[slot]->size;

    if (memcmp(header, "FWGENPKG", 8) != 0) {
        return FWGEN_PACKAGE_EMPTY;
    }
    if (fwgen_crc32(0, header, AT_HEADER_CRC) !=
        fwgen_get32(&header[AT_HEADER_CRC])) {
        return FWGEN_PACKAGE_HEADER_CRC;
    }
    if (fwgen_get16(&header[AT_FORMAT]) != FORMAT ||
        fwgen_get16(&header[AT_HEADER_SIZE]) != FWGEN_PACKAGE_HEADER ||
        !is_text(&header[AT_BOARD]) || !is_text(&header[AT_ACCELERATOR]) ||
        !is_text(&header[AT_NAME])) {
        return FWGEN_PACKAGE_FORMAT;
    }
    if (strcmp((const char *)&header[AT_BOARD], fwgen_board_name) != 0) {
        return FWGEN_PACKAGE_BOARD;
    }
    if (!has_accelerator(&header[AT_ACCELERATOR])) {
        return FWGEN_PACKAGE_ACCELERATOR;
    }
    if (memcmp(&header[AT_LAYOUT], board->layout_hash,
               sizeof(board->layout_hash)) != 0) {
        return FWGEN_PACKAGE_LAYOUT;
    }
    package->length = fwgen_get32(&header[AT_LENGTH]);
    package->version = fwgen_get32(&header[AT_VERSION]);
    package->crc = fwgen_get32(&header[AT_CRC]);
    package->kernels = fwgen_get32(&header[AT_KERNELS]);
    package->self_test = fwgen_get32(&header[AT_SELF_TEST]);
    package->table = table_for(header, run_address(board, slot));
    package->digest = &header[AT_DIGEST];
    package->name = (const char *)&header[AT_NAME];
    if (package->length <= FWGEN_PACKAGE_HEADER || package->length > room) {
        return FWGEN_PACKAGE_LENGTH;
    }
    if (!is_payload(package, package->table, TABLE_TENSORS)) {
        return FWGEN_PACKAGE_VARIANT;
    }
    if (package->version < oldest) {
        return FWGEN_PACKAGE_VERSION;
    }
    for (uint32_t i = 0; i < 32u; i++) {
        if ((package->kernels >> i & 1u) != 0u &&
            (i >= fwgen_kernel_count || fwgen_kernels[i] == NULL)) {
            return FWGEN_PACKAGE_KERNEL;
        }
    }
    return check_signature(header, board);
}

/* Reads a part of the package, from the slot. */
static bool read(const struct fwgen_slots_board *board, uint32_t slot,
                 uint32_t offset, void *data, uint32_t length)
{
    return fwgen_nvmem_read(board->slots[slot], offset, data, length) ==
           FWGEN_OK;
}

static enum fwgen_package_fault
check_bytes(const struct fwgen_package *package,
            const struct fwgen_slots_board *board, uint32_t slot, bool deep)
{
    uint8_t bytes[128];
    uint8_t digest[FWGEN_SHA256_SIZE];
    struct fwgen_sha256 sha;
    uint32_t crc = 0;

    fwgen_sha256_start(&sha);
    for (uint32_t at = FWGEN_PACKAGE_HEADER; at < package->length;) {
        const uint32_t rest = package->length - at;
        const uint32_t part = rest < sizeof(bytes) ? rest : sizeof(bytes);

        if (!read(board, slot, at, bytes, part)) {
            return FWGEN_PACKAGE_READ;
        }
        crc = fwgen_crc32(crc, bytes, part);
        if (deep) {
            fwgen_sha256_take(&sha, bytes, part);
        }
        at += part;
    }
    if (crc != package->crc) {
        return FWGEN_PACKAGE_CRC;
    }
    fwgen_sha256_end(&sha, digest);
    if (deep && memcmp(digest, package->digest, sizeof(digest)) != 0) {
        return FWGEN_PACKAGE_DIGEST;
    }
    return FWGEN_PACKAGE_GOOD;
}

/* Whether there is a text with an end at `offset` of the payload. */
static bool is_name(const struct fwgen_package *package,
                    const struct fwgen_slots_board *board, uint32_t slot,
                    uint32_t offset)
{
    char text[FWGEN_PACKAGE_NAME];

    return is_payload(package, offset, sizeof(text)) &&
           read(board, slot, offset, text, sizeof(text)) &&
           is_text((const uint8_t *)text);
}

static bool is_tensor_range(const struct fwgen_slots_board *board,
                            uint32_t address, uint32_t size)
{
    return address >= board->tensor_base && size <= board->tensor_size &&
           address - board->tensor_base <= board->tensor_size - size;
}

static uint32_t tensor_count(const uint8_t *table)
{
    return (fwgen_get16(&table[TABLE_INPUTS]) +
            fwgen_get16(&table[TABLE_OUTPUTS])) *
           table[TABLE_BANKS];
}

static bool is_program(const struct fwgen_package *package,
                       const uint8_t *words_at_offset)
{
    const uint32_t words = fwgen_get32(&words_at_offset[4]);

    return words <= package->length / 4u &&
           is_payload(package, fwgen_get32(words_at_offset), 4u * words);
}

static enum fwgen_package_fault
check_table(const struct fwgen_package *package,
            const struct fwgen_slots_board *board, uint32_t slot)
{
    uint8_t table[TABLE_TENSORS];
    uint8_t test[4];

    if (!read(board, slot, package->table, table, sizeof(table))) {
        return FWGEN_PACKAGE_READ;
    }
    if (table[TABLE_BANKS] == 0u || table[TABLE_BANKS] > 2u ||
        tensor_count(table) > FWGEN_SLOT_TENSORS ||
        fwgen_get16(&table[TABLE_OPERATIONS]) > FWGEN_MAX_OPERATIONS ||
        table[TABLE_DEPTH] > FWGEN_PIPELINE) {
        return FWGEN_PACKAGE_LIMIT;
    }
    if (fwgen_get16(&table[TABLE_ACCELERATOR]) >= fwgen_accelerator_count ||
        fwgen_get32(&table[TABLE_PROGRAM_WORDS]) == 0u ||
        !is_program(package, &table[TABLE_PROGRAM]) ||
        (fwgen_get32(&table[TABLE_PIPELINED_WORDS]) != 0u &&
         !is_program(package, &table[TABLE_PIPELINED])) ||
        !is_tensor_range(board, fwgen_get32(&table[TABLE_CLEAR]),
                         fwgen_get32(&table[TABLE_CLEAR_SIZE])) ||
        !is_payload(package, package->table,
                    TABLE_TENSORS + TENSOR_RECORD * tensor_count(table))) {
        return FWGEN_PACKAGE_TABLE;
    }
    for (uint32_t i = 0; i < tensor_count(table); i++) {
        uint8_t tensor[TENSOR_RECORD];

        if (!read(board, slot,
                  package->table + TABLE_TENSORS + TENSOR_RECORD * i, tensor,
                  sizeof(tensor))) {
            return FWGEN_PACKAGE_READ;
        }
        if (!is_name(package, board, slot, fwgen_get32(&tensor[TENSOR_NAME])) ||
            !is_tensor_range(board, fwgen_get32(&tensor[TENSOR_ADDRESS]),
                             fwgen_get32(&tensor[TENSOR_SIZE]))) {
            return FWGEN_PACKAGE_TABLE;
        }
    }
    if (package->self_test != 0u) {
        if (!is_payload(package, package->self_test, SELF_TEST_INPUTS)) {
            return FWGEN_PACKAGE_TABLE;
        }
        if (!read(board, slot, package->self_test, test, sizeof(test))) {
            return FWGEN_PACKAGE_READ;
        }
        if (!is_payload(package, package->self_test + SELF_TEST_INPUTS,
                        fwgen_get32(test))) {
            return FWGEN_PACKAGE_TABLE;
        }
    }
    return FWGEN_PACKAGE_GOOD;
}

enum fwgen_package_fault
fwgen_package_payload(const struct fwgen_package *package,
                      const struct fwgen_slots_board *board, uint32_t slot,
                      bool deep)
{
    enum fwgen_package_fault fault = check_bytes(package, board, slot, deep);

    if (fault == FWGEN_PACKAGE_GOOD) {
        fault = check_table(package, board, slot);
    }
    return fault;
}

static void bind_tensor(const uint8_t *record, uintptr_t base,
                        struct fwgen_tensor *tensor)
{
    const uint32_t scale = fwgen_get32(&record[TENSOR_SCALE]);

    tensor->name = (const char *)(base + fwgen_get32(&record[TENSOR_NAME]));
    tensor->address =
        (uint8_t *)(uintptr_t)fwgen_get32(&record[TENSOR_ADDRESS]);
    tensor->size = fwgen_get32(&record[TENSOR_SIZE]);
    for (uint32_t i = 0; i < 4u; i++) {
        tensor->shape[i] = fwgen_get32(&record[TENSOR_SHAPE + 4u * i]);
    }
    for (uint32_t i = 0; i < 3u; i++) {
        tensor->strides[i] = fwgen_get32(&record[TENSOR_STRIDES + 4u * i]);
    }
    (void)memcpy(&tensor->scale, &scale, sizeof(scale));
    tensor->zero_point = (int32_t)fwgen_get32(&record[TENSOR_ZERO]);
    tensor->dtype = record[TENSOR_DTYPE];
    tensor->layout = record[TENSOR_LAYOUT];
    tensor->atom = (uint16_t)fwgen_get16(&record[TENSOR_ATOM]);
}

enum fwgen_package_fault
fwgen_package_bind(const struct fwgen_package *package,
                   const struct fwgen_slots_board *board, uint32_t slot,
                   struct fwgen_bound_model *bound)
{
    const uintptr_t base = run_address(board, slot);
    struct fwgen_model *model = &bound->model;
    const uint8_t *table;
    uintptr_t clear;

    if (board->run_base != 0u) {
        if (!read(board, slot, 0, (void *)base, package->length)) {
            return FWGEN_PACKAGE_READ;
        }
        fwgen_cache_clean(base, package->length);
    }
    table = (const uint8_t *)(base + package->table);
    (void)memset(bound, 0, sizeof(*bound));
    bound->base = base;
    for (uint32_t i = 0; i < tensor_count(table); i++) {
        bind_tensor(&table[TABLE_TENSORS + TENSOR_RECORD * i], base,
                    &bound->tensors[i]);
    }
    clear = fwgen_get32(&table[TABLE_CLEAR]);
    (void)memset((void *)clear, 0, fwgen_get32(&table[TABLE_CLEAR_SIZE]));
    fwgen_cache_clean(clear, fwgen_get32(&table[TABLE_CLEAR_SIZE]));
    model->name = (const char *)(base + AT_NAME);
    (void)memcpy(model->layout_hash, &table[TABLE_LAYOUT],
                 sizeof(model->layout_hash));
    model->program =
        (const uint32_t *)(base + fwgen_get32(&table[TABLE_PROGRAM]));
    model->program_words = fwgen_get32(&table[TABLE_PROGRAM_WORDS]);
    model->input_count = (uint16_t)fwgen_get16(&table[TABLE_INPUTS]);
    model->output_count = (uint16_t)fwgen_get16(&table[TABLE_OUTPUTS]);
    model->inputs = bound->tensors;
    model->outputs =
        &bound->tensors[(uint32_t)model->input_count * table[TABLE_BANKS]];
    model->operation_count = (uint16_t)fwgen_get16(&table[TABLE_OPERATIONS]);
    model->accelerator = (uint16_t)fwgen_get16(&table[TABLE_ACCELERATOR]);
    model->interrupt_mask = fwgen_get32(&table[TABLE_INTERRUPTS]);
    model->pipelined_words = fwgen_get32(&table[TABLE_PIPELINED_WORDS]);
    if (model->pipelined_words != 0u) {
        model->pipelined =
            (const uint32_t *)(base + fwgen_get32(&table[TABLE_PIPELINED]));
    }
    model->pipeline_depth = table[TABLE_DEPTH];
    model->banks = table[TABLE_BANKS];
    return FWGEN_PACKAGE_GOOD;
}

#endif
