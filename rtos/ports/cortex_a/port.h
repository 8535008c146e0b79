/*
 * port.h - between the files of the port. Private.
 */
#ifndef FWGEN_PORT_H
#define FWGEN_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm.h"
#include "fwgen_vectors.h"
#include "gic.h"

/* The least urgent priority that can interrupt, as the register's value. */
#define PORT_LOWEST_PRIORITY ((0xfeu << (8u - FWGEN_PRIO_BITS)) & 0xffu)

/* Where a handler that uses the FPU saves the registers of what it interrupted;
 * the layout is context.S's (asm.h). */
struct fwgen_fpu_record {
    uint64_t registers[32];
    uint32_t fpscr;
    uint32_t saved;
};

_Static_assert(offsetof(struct fwgen_fpu_record, fpscr) == RECORD_FPSCR &&
                   offsetof(struct fwgen_fpu_record, saved) == RECORD_SAVED &&
                   sizeof(struct fwgen_fpu_record) == RECORD_SIZE,
               "asm.h disagrees");

/* What can be said about a fault. */
struct fwgen_fault_frame {
    uint32_t r[13];
    uint32_t sp;
    uint32_t lr;
    uint32_t pc;
    uint32_t cpsr;
    uint32_t kind;
};

_Static_assert(offsetof(struct fwgen_fault_frame, sp) == FRAME_SP &&
                   offsetof(struct fwgen_fault_frame, lr) == FRAME_LR &&
                   offsetof(struct fwgen_fault_frame, pc) == FRAME_PC &&
                   offsetof(struct fwgen_fault_frame, cpsr) == FRAME_CPSR &&
                   offsetof(struct fwgen_fault_frame, kind) == FRAME_KIND,
               "asm.h disagrees");

/* Assembler's. */
void fwgen_port_start_first(void) __attribute__((noreturn));

/* Called by assembler. */
void fwgen_port_start(uint32_t entry_mode);
void fwgen_port_interrupt(void);
void fwgen_port_switch(void);
void fwgen_fault_report(const struct fwgen_fault_frame *frame);

/* The interrupt that is being handled, GIC_SPECIAL when none is. */
extern volatile uint32_t fwgen_port_intid;

/* Translation tables from fwgen_mmu_ranges; MMU and caches on. */
void fwgen_mmu_enable(void);

/* Chooses the timer that the state of the core allows. */
void fwgen_timer_init(uint32_t entry_mode, enum gic_world world);
/* Starts the kernel's tick. */
void fwgen_timer_start(void);
uint32_t fwgen_timer_intid(void);
void fwgen_timer_interrupt(void);

#endif
