/*
 * job.c - what both engines share (see job.h).
 */
#include "job.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT 200u

bool vip_job_error(const struct vip_memory *memory, const char *format, ...)
{
    char text[TEXT];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memory->error(memory->opaque, text);
    return false;
}
