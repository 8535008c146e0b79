/*
 * fwgen_package.h - a model on its own: the package that `fwgen pack` writes
 * and a slot holds. docs/update.md has every byte.
 *
 * A package was linked by the host: its program, tensors and weights have the
 * addresses that they get on this board. The board's layout hash, which stands
 * in the package and in the firmware, says that both mean the same addresses.
 */
#ifndef FWGEN_PACKAGE_H
#define FWGEN_PACKAGE_H

#include "fwgen_model.h"
#include "fwgen_nvmem.h"

#define FWGEN_PACKAGE_HEADER 512u
#define FWGEN_PACKAGE_NAME 32u /* bytes of a name, its end included */
#define FWGEN_PACKAGE_VARIANTS 2u
#define FWGEN_SLOT_COUNT 2u

/* Why a package is refused; the numbers are part of the serial protocol. */
enum fwgen_package_fault {
    FWGEN_PACKAGE_GOOD = 0,
    FWGEN_PACKAGE_EMPTY = 1, /* no package: the magic number is missing */
    FWGEN_PACKAGE_HEADER_CRC = 2,
    FWGEN_PACKAGE_FORMAT = 3, /* another version of the format */
    FWGEN_PACKAGE_BOARD = 4,
    FWGEN_PACKAGE_ACCELERATOR = 5,
    FWGEN_PACKAGE_LAYOUT = 6,  /* linked for other addresses */
    FWGEN_PACKAGE_LENGTH = 7,  /* larger than the slot, or no length at all */
    FWGEN_PACKAGE_VARIANT = 8, /* not linked for this slot */
    FWGEN_PACKAGE_VERSION = 9, /* older than what was confirmed */
    FWGEN_PACKAGE_UNSIGNED = 10,
    FWGEN_PACKAGE_SIGNATURE = 11,
    FWGEN_PACKAGE_CRC = 12,    /* of the payload */
    FWGEN_PACKAGE_DIGEST = 13, /* SHA-256 of the payload */
    FWGEN_PACKAGE_TABLE = 14,  /* a table points outside the package */
    FWGEN_PACKAGE_KERNEL = 15, /* needs a CPU kernel that is not in the image */
    FWGEN_PACKAGE_LIMIT =
        16,                  /* more tensors or operations than there is room */
    FWGEN_PACKAGE_READ = 17, /* the flash cannot be read */
    FWGEN_PACKAGE_SELF_TEST = 18, /* of a trial: it ran and was wrong */
    FWGEN_PACKAGE_BOOTS = 19,     /* of a trial: it was never confirmed */
};

/* What the board gives to packages; generated. */
struct fwgen_slots_board {
    const struct fwgen_partition *slots[FWGEN_SLOT_COUNT];
    const struct fwgen_partition *state;
    const struct fwgen_partition *settings; /* NULL: none */
    uint8_t layout_hash[8];
    uintptr_t
        run_base; /* packages are copied here; 0: they stay in their slot */
    uint32_t run_size;
    uintptr_t tensor_base; /* where all tensors of packages lie */
    uint32_t tensor_size;
    const uint8_t *key; /* Ed25519 public key, 32 bytes; NULL: none */
};

extern const struct fwgen_slots_board fwgen_slots_board;

/* The fields of a header; the other bytes stay where they are. */
struct fwgen_package {
    uint32_t length; /* header and payload */
    uint32_t version;
    uint32_t crc;       /* of the payload */
    uint32_t self_test; /* offset, 0: none */
    uint32_t kernels;   /* bit per number */
    uint32_t table;     /* offset of the table for the address it runs at */
    const uint8_t *digest;
    const char *name;
};

/*
 * Checks a header for a slot and takes it apart. Changes nothing but *package,
 * which points into `header`. Any task.
 *
 * slot        0 or 1: where the package is, or shall go.
 * oldest      smallest version that is accepted.
 */
enum fwgen_package_fault
fwgen_package_header(const uint8_t header[FWGEN_PACKAGE_HEADER],
                     const struct fwgen_slots_board *board, uint32_t slot,
                     uint32_t oldest, struct fwgen_package *package);

/*
 * Checks the payload of a package in its slot: its CRC-32 always, when `deep`
 * its SHA-256 too; then that its tables stay inside the package and its tensors
 * inside their memory.
 */
enum fwgen_package_fault
fwgen_package_payload(const struct fwgen_package *package,
                      const struct fwgen_slots_board *board, uint32_t slot,
                      bool deep);

/* What a model of a package is made of; it must live as long as the model. */
struct fwgen_bound_model {
    struct fwgen_model model;
    struct fwgen_tensor tensors[FWGEN_SLOT_TENSORS];
    uintptr_t base; /* where the package is read */
};

/*
 * Makes a package that passed fwgen_package_payload ready to run: copies it to
 * its place if the board says so, clears its tensors and fills *bound.
 */
enum fwgen_package_fault
fwgen_package_bind(const struct fwgen_package *package,
                   const struct fwgen_slots_board *board, uint32_t slot,
                   struct fwgen_bound_model *bound);

#endif
