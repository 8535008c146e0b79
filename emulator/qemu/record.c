/*
 * record.c - see record.h. The formats are documented in docs/emulator.md.
 */
#define _GNU_SOURCE
#include "record.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Guest errors beyond this many per device are only counted on stderr; the
 * event stream gets MAX_EVENT_ERRORS so that a runaway guest fills no disk. */
#define MAX_STDERR_ERRORS 10u
#define MAX_EVENT_ERRORS 1000u

struct record_stream {
    char *path;
    FILE *file;
    struct record_stream *next;
};

static struct record_stream *streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool record_open(struct record_stream **stream, const char *path)
{
    struct record_stream *entry;

    for (entry = streams; entry != NULL; entry = entry->next) {
        if (strcmp(entry->path, path) == 0) {
            *stream = entry;
            return true;
        }
    }
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return false;
    }
    entry->path = strdup(path);
    entry->file = entry->path == NULL ? NULL : fopen(path, "w");
    if (entry->file == NULL) {
        free(entry->path);
        free(entry);
        return false;
    }
    entry->next = streams;
    streams = entry;
    *stream = entry;
    return true;
}

static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte == '"' || byte == '\\') {
            fputc('\\', file);
            fputc(byte, file);
        } else if (byte < 0x20 || byte >= 0x7f) {
            fprintf(file, "\\u%04x", byte);
        } else {
            fputc(byte, file);
        }
    }
    fputc('"', file);
}

/* Starts a JSON record; the caller holds the lock. */
static FILE *begin(struct record *record, const char *event, int64_t time_ns)
{
    FILE *file = record->events->file;

    record->last_time_ns = time_ns;
    fprintf(file, "{\"event\":\"%s\",\"accel\":", event);
    put_string(file, record->name);
    fprintf(file, ",\"time_ns\":%" PRId64, time_ns);
    return file;
}

static void end(FILE *file)
{
    fputs("}\n", file);
    fflush(file);
}

void record_access(struct record *record, int64_t time_ns, bool write,
                   uint64_t offset, uint64_t value, const char *name)
{
    record->accesses++;
    record->last_time_ns = time_ns;
    if (record->trace == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    fprintf(record->trace->file,
            "%" PRId64 " %s %c 0x%05" PRIx64 " 0x%08" PRIx64 " %s\n", time_ns,
            record->name, write ? 'W' : 'R', offset, value,
            name != NULL ? name : "?");
    pthread_mutex_unlock(&lock);
}

void record_operation(struct record *record, int64_t time_ns,
                      const struct accel_op_event *event)
{
    pthread_mutex_lock(&lock);
    record->operations++;
    if (record->events != NULL) {
        FILE *file = begin(record, "op", time_ns);

        fputs(",\"unit\":", file);
        put_string(file, event->unit);
        fprintf(file,
                ",\"group\":%u,\"start_cycle\":%" PRIu64
                ",\"end_cycle\":%" PRIu64 ",\"macs\":%" PRIu64
                ",\"bytes_read\":%" PRIu64 ",\"bytes_written\":%" PRIu64,
                event->group, event->start_cycle, event->end_cycle, event->macs,
                event->bytes_read, event->bytes_written);
        end(file);
    }
    pthread_mutex_unlock(&lock);
}

void record_irq(struct record *record, int64_t time_ns, bool level)
{
    pthread_mutex_lock(&lock);
    if (level) {
        record->interrupts++;
    }
    if (record->events != NULL) {
        FILE *file = begin(record, "irq", time_ns);

        fprintf(file, ",\"level\":%d", level ? 1 : 0);
        end(file);
    }
    pthread_mutex_unlock(&lock);
}

void record_guest_error(struct record *record, int64_t time_ns,
                        const char *message)
{
    pthread_mutex_lock(&lock);
    record->guest_errors++;
    if (record->guest_errors <= MAX_STDERR_ERRORS) {
        fprintf(stderr, "%s: guest error: %s\n", record->name, message);
    } else if (record->guest_errors == MAX_STDERR_ERRORS + 1) {
        fprintf(stderr, "%s: further guest errors are only counted\n",
                record->name);
    }
    if (record->events != NULL && record->guest_errors <= MAX_EVENT_ERRORS) {
        FILE *file = begin(record, "guest_error", time_ns);

        fputs(",\"message\":", file);
        put_string(file, message);
        end(file);
    }
    if (record->trace != NULL) {
        fprintf(record->trace->file, "%" PRId64 " %s ! %s\n", time_ns,
                record->name, message);
        fflush(record->trace->file);
    }
    pthread_mutex_unlock(&lock);
}

void record_reset(struct record *record, int64_t time_ns)
{
    pthread_mutex_lock(&lock);
    if (record->events != NULL) {
        end(begin(record, "reset", time_ns));
    }
    pthread_mutex_unlock(&lock);
}

void record_summary(struct record *record)
{
    pthread_mutex_lock(&lock);
    if (record->events != NULL) {
        FILE *file = begin(record, "summary", record->last_time_ns);

        fprintf(file,
                ",\"accesses\":%" PRIu64 ",\"operations\":%" PRIu64
                ",\"interrupts\":%" PRIu64 ",\"guest_errors\":%" PRIu64,
                record->accesses, record->operations, record->interrupts,
                record->guest_errors);
        end(file);
    }
    if (record->trace != NULL) {
        fflush(record->trace->file);
    }
    if (record->guest_errors > MAX_STDERR_ERRORS) {
        fprintf(stderr, "%s: %" PRIu64 " guest errors in all\n", record->name,
                record->guest_errors);
    }
    pthread_mutex_unlock(&lock);
}

void record_flush(struct record *record)
{
    pthread_mutex_lock(&lock);
    if (record->trace != NULL) {
        fflush(record->trace->file);
    }
    pthread_mutex_unlock(&lock);
}
