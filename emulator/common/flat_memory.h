/*
 * flat_memory.h - memory for a model that runs without a machine around it.
 *
 * Owns byte arrays placed at addresses of a space, and the callbacks that a
 * model wants. It also keeps the last messages and finished operations, so
 * that a binding in another language needs no callback of its own.
 */
#ifndef FWGEN_FLAT_MEMORY_H
#define FWGEN_FLAT_MEMORY_H

#include "accel_model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct flat_memory;

struct flat_memory *flat_memory_create(void);
void flat_memory_destroy(struct flat_memory *memory);
/* Zero-filled. NULL when the range is empty, wraps, overlaps another segment
 * of the space, or no memory is left. Valid until destroy. */
uint8_t *flat_memory_add(struct flat_memory *memory, enum accel_space space,
                         uint64_t base, uint64_t size);
/* All callbacks of a model, bound to this memory. */
struct accel_host flat_memory_host(struct flat_memory *memory);
bool flat_memory_irq(const struct flat_memory *memory);
/* How often the line rose. */
uint64_t flat_memory_irq_count(const struct flat_memory *memory);
/* Oldest message or operation not taken yet; NULL or false when none. The
 * text is valid until the next call of a model's or this file's function. At
 * most 256 of each are kept; the oldest are kept, later ones are dropped. */
const char *flat_memory_take_error(struct flat_memory *memory);
bool flat_memory_take_op(struct flat_memory *memory,
                         struct accel_op_event *event);

#ifdef __cplusplus
}
#endif

#endif
