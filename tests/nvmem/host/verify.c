/*
 * verify.c - the target's checks of packages, on the host: verify [KEY].
 *
 * Standard input: for each package u32 oldest version, u32 length, the bytes.
 * Standard output: one number of enum fwgen_package_fault for each. A package
 * that passes is bound too, so that the sanitizers see what that reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

#define SLOT 16384u

static bool take(void *to, size_t length)
{
    return fread(to, 1, length, stdin) == length;
}

static enum fwgen_package_fault check(const uint8_t *bytes, uint32_t length,
                                      uint32_t oldest)
{
    static struct fwgen_bound_model bound;
    struct fwgen_package package;
    uint8_t *header = malloc(FWGEN_PACKAGE_HEADER);
    enum fwgen_package_fault fault;

    memset(sim_flash.cells, 0xff, sim_flash.size);
    memcpy(&sim_flash.cells[sim_board.slots[0]->offset], bytes,
           length < SLOT ? length : SLOT);
    memset(header, 0, FWGEN_PACKAGE_HEADER);
    memcpy(header, bytes,
           length < FWGEN_PACKAGE_HEADER ? length : FWGEN_PACKAGE_HEADER);
    fault = fwgen_package_header(header, &sim_board, 0, oldest, &package);
    if (fault == FWGEN_PACKAGE_GOOD) {
        fault = fwgen_package_payload(&package, &sim_board, 0, true);
    }
    if (fault == FWGEN_PACKAGE_GOOD) {
        fault = fwgen_package_bind(&package, &sim_board, 0, &bound);
    }
    free(header);
    return fault;
}

int main(int count, char **arguments)
{
    static uint8_t key[32];
    uint32_t numbers[2];

    if (!sim_make(1024, 16, SLOT, 2)) {
        return 2;
    }
    if (count > 1) {
        for (uint32_t i = 0; i < sizeof(key); i++) {
            const char digits[3] = {arguments[1][2u * i],
                                    arguments[1][2u * i + 1u], '\0'};

            key[i] = (uint8_t)strtoul(digits, NULL, 16);
        }
        sim_board.key = key;
    }
    while (take(numbers, sizeof(numbers))) {
        uint8_t *bytes = malloc(numbers[1]);

        if (!take(bytes, numbers[1])) {
            return 3;
        }
        printf("%d\n", (int)check(bytes, numbers[1], numbers[0]));
        free(bytes);
    }
    return 0;
}
