/*
 * record.h - what the module writes for the host side: the register trace, the
 * event stream (JSON lines) and the count of guest errors.
 *
 * Events may come from the vCPU thread, the main loop and a worker thread; the
 * functions here take their own lock.
 */
#ifndef FWGEN_QEMU_RECORD_H
#define FWGEN_QEMU_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "accel_model.h"

/* Opens the files; NULL leaves that stream off. Devices that name the same
 * path share it. Return false (errno is set) when a file cannot be created. */
struct record_stream;
bool record_open(struct record_stream **stream, const char *path);

struct record {
    const char *name;             /* of the device, "dla0" */
    struct record_stream *trace;  /* register accesses, or NULL */
    struct record_stream *events; /* JSON lines, or NULL */
    int64_t last_time_ns;         /* of the last access or event */
    uint64_t accesses;
    uint64_t operations;
    uint64_t interrupts;
    uint64_t guest_errors;
};

/* One register access at virtual time time_ns. name may be NULL. */
void record_access(struct record *record, int64_t time_ns, bool write,
                   uint64_t offset, uint64_t value, const char *name);
void record_operation(struct record *record, int64_t time_ns,
                      const struct accel_op_event *event);
void record_irq(struct record *record, int64_t time_ns, bool level);
void record_guest_error(struct record *record, int64_t time_ns,
                        const char *message);
void record_reset(struct record *record, int64_t time_ns);
/* The last record of a device; also flushes the streams. Carries the time of
 * the last access or event: the clock cannot be read while the process ends. */
void record_summary(struct record *record);
/* Writes out what is buffered, without a summary. */
void record_flush(struct record *record);

#endif
