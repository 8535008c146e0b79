/*
 * faults.c - what the faults of common/faults.h do to a VIP.
 *
 * A driver sees one interrupt for a command stream of many jobs. The faults of
 * interrupts therefore count the events that the command streams have raised
 * (GL_EVENT, END), the others the completed NN and TP jobs.
 *   irq-lost        the event's bit is never set
 *   irq-late:N:C    it is set C cycles later
 *   irq-twice       once read, it is set again one cycle later
 *   irq-spurious    the line rises one cycle after the front end has started,
 *                   with no bit pending; it falls when INTR_ACKNOWLEDGE is read
 *   stuck-busy      the job never completes; a reset ends it
 *   dma-error       its first memory access fails: AXI error interrupt, the
 *                   front end stops
 *   bit-flip:N:BIT  bit BIT (counted from the job's output address) is inverted
 *                   in memory
 */
#include "model.h"

bool vip_fault_arm(struct accel_model *model, const char *spec, char *error,
                   size_t error_size)
{
    enum fault_kind kind =
        accel_fault_arm(&model->faults, spec, error, error_size);

    if (kind == FAULT_DMA_ERROR) {
        atomic_store(&model->in_order, true);
    }
    return kind != FAULT_NONE;
}
