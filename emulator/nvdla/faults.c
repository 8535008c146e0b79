/*
 * faults.c - what the faults of common/faults.h do to an NVDLA.
 *
 * Operations are counted in the order of their completion; CONV, SDP and PDP
 * of a chain count as three.
 *   irq-lost        the operation's status bits are never set
 *   irq-late:N:C    they are set C cycles after the operation completed
 *   irq-twice       once cleared, they are set again one cycle later
 *   irq-spurious    the line rises one cycle after an operation's start with
 *                   no status bit; it falls when S_INTR_STATUS is read
 *   stuck-busy      the operation never completes; a reset ends it
 *   dma-error       its first memory access fails (a guest error); it
 *                   completes and has written nothing
 *   bit-flip:N:BIT  bit BIT (counted from the first byte of its output cube)
 *                   is inverted in memory
 */
#include "model.h"

bool nvdla_fault_arm(struct accel_model *model, const char *spec, char *error,
                     size_t error_size)
{
    enum fault_kind kind =
        accel_fault_arm(&model->faults, spec, error, error_size);

    if (kind == FAULT_DMA_ERROR) {
        atomic_store(&model->in_order, true);
    }
    return kind != FAULT_NONE;
}

bool nvdla_fault_strikes(struct accel_model *model, enum fault_kind kind,
                         uint64_t index, uint64_t *argument)
{
    return accel_fault_strikes(&model->faults, kind, index, argument);
}
