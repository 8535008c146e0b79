/*
 * asm.h - numbers that assembler and C of the port share.
 *
 * Facts from the Armv7-A architecture reference manual (processor modes,
 * FPEXC).
 */
#ifndef FWGEN_PORT_ASM_H
#define FWGEN_PORT_ASM_H

#define MODE_USR 0x10
#define MODE_FIQ 0x11
#define MODE_IRQ 0x12
#define MODE_SVC 0x13
#define MODE_MON 0x16
#define MODE_ABT 0x17
#define MODE_HYP 0x1a
#define MODE_UND 0x1b
#define MODE_SYS 0x1f
#define MODE_MASK 0x1f

#define PSR_T (1 << 5)
#define PSR_F (1 << 6)
#define PSR_I (1 << 7)
#define PSR_A (1 << 8)

/* FPEXC.EN: floating-point and NEON instructions execute; without, they are
 * undefined. */
#define FPEXC_EN (1 << 30)

/*
 * What an interrupt keeps on its stack (struct fwgen_fpu_record): d0-d31,
 * FPSCR, and whether they were saved here.
 */
#define RECORD_FPSCR 256
#define RECORD_SAVED 260
#define RECORD_SIZE 264

/* Words of struct fwgen_fault_frame. */
#define FRAME_SP 52
#define FRAME_LR 56
#define FRAME_PC 60
#define FRAME_CPSR 64
#define FRAME_KIND 68

#define FAULT_UNDEFINED 0
#define FAULT_PREFETCH 1
#define FAULT_DATA 2
#define FAULT_FIQ 3
#define FAULT_UNEXPECTED 4
#define FAULT_INTERRUPT 5

#endif
