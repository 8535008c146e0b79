/*
 * flat_memory.c - memory segments and event queues for tests and tools.
 */
#include "flat_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE 256u
#define TEXT 320u

struct segment {
    enum accel_space space;
    uint64_t base;
    uint64_t size;
    uint8_t *data;
};

struct flat_memory {
    struct segment *segments;
    size_t count;
    bool irq;
    uint64_t irq_count;
    unsigned error_first, error_count;
    char errors[QUEUE][TEXT];
    unsigned op_first, op_count;
    struct accel_op_event ops[QUEUE];
};

struct flat_memory *flat_memory_create(void)
{
    return calloc(1, sizeof(struct flat_memory));
}

void flat_memory_destroy(struct flat_memory *memory)
{
    if (memory == NULL) {
        return;
    }
    for (size_t i = 0; i < memory->count; i++) {
        free(memory->segments[i].data);
    }
    free(memory->segments);
    free(memory);
}

uint8_t *flat_memory_add(struct flat_memory *memory, enum accel_space space,
                         uint64_t base, uint64_t size)
{
    struct segment *grown;
    uint8_t *data;

    if (size == 0 || size > SIZE_MAX || base > UINT64_MAX - (size - 1u)) {
        return NULL;
    }
    for (size_t i = 0; i < memory->count; i++) {
        const struct segment *other = &memory->segments[i];

        if (other->space == space && base <= other->base + (other->size - 1u) &&
            other->base <= base + (size - 1u)) {
            return NULL;
        }
    }
    data = calloc(1, (size_t)size);
    grown = realloc(memory->segments, (memory->count + 1u) * sizeof *grown);
    if (grown != NULL) {
        memory->segments = grown;
    }
    if (data == NULL || grown == NULL) {
        free(data);
        return NULL;
    }
    memory->segments[memory->count++] =
        (struct segment){space, base, size, data};
    return data;
}

/* The bytes, or NULL when they are not all in one segment. */
static uint8_t *find(struct flat_memory *memory, enum accel_space space,
                     uint64_t address, size_t length)
{
    for (size_t i = 0; i < memory->count; i++) {
        const struct segment *segment = &memory->segments[i];

        if (segment->space == space && address >= segment->base &&
            address - segment->base < segment->size &&
            length <= segment->size - (address - segment->base)) {
            return segment->data + (address - segment->base);
        }
    }
    return NULL;
}

static bool read_bytes(void *opaque, enum accel_space space, uint64_t address,
                       void *data, size_t length)
{
    const uint8_t *from = find(opaque, space, address, length);

    if (from == NULL) {
        return false;
    }
    memcpy(data, from, length);
    return true;
}

static bool write_bytes(void *opaque, enum accel_space space, uint64_t address,
                        const void *data, size_t length)
{
    uint8_t *to = find(opaque, space, address, length);

    if (to == NULL) {
        return false;
    }
    memcpy(to, data, length);
    return true;
}

static void set_irq(void *opaque, bool level)
{
    struct flat_memory *memory = opaque;

    memory->irq = level;
    memory->irq_count += level ? 1u : 0u;
}

static void keep_error(void *opaque, const char *message)
{
    struct flat_memory *memory = opaque;

    if (memory->error_count < QUEUE) {
        unsigned slot = (memory->error_first + memory->error_count) % QUEUE;

        (void)snprintf(memory->errors[slot], TEXT, "%s", message);
        memory->error_count++;
    }
}

static void keep_op(void *opaque, const struct accel_op_event *event)
{
    struct flat_memory *memory = opaque;

    if (memory->op_count < QUEUE) {
        memory->ops[(memory->op_first + memory->op_count) % QUEUE] = *event;
        memory->op_count++;
    }
}

struct accel_host flat_memory_host(struct flat_memory *memory)
{
    return (struct accel_host){
        .opaque = memory,
        .read = read_bytes,
        .write = write_bytes,
        .irq = set_irq,
        .guest_error = keep_error,
        .op_done = keep_op,
    };
}

bool flat_memory_irq(const struct flat_memory *memory)
{
    return memory->irq;
}

uint64_t flat_memory_irq_count(const struct flat_memory *memory)
{
    return memory->irq_count;
}

const char *flat_memory_take_error(struct flat_memory *memory)
{
    const char *text;

    if (memory->error_count == 0) {
        return NULL;
    }
    text = memory->errors[memory->error_first];
    memory->error_first = (memory->error_first + 1u) % QUEUE;
    memory->error_count--;
    return text;
}

bool flat_memory_take_op(struct flat_memory *memory,
                         struct accel_op_event *event)
{
    if (memory->op_count == 0) {
        return false;
    }
    *event = memory->ops[memory->op_first];
    memory->op_first = (memory->op_first + 1u) % QUEUE;
    memory->op_count--;
    return true;
}
