/*
 * qemu_api.c - finds QEMU's functions by name and announces the plugin
 * interface version that this QEMU wants to see.
 */
#define _GNU_SOURCE
#include "qemu_api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct qemu_api qemu;

/* The loader reads this variable after dlopen and before the install call, and
 * accepts a range that depends on the version: 0..1 in 7.2, 2..4 in 10.0, 7 in
 * 11.1. Only a constructor can choose it in time. */
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((constructor)) static void choose_plugin_version(void)
{
    const char *forced = getenv("FWGEN_QEMU_PLUGIN_VERSION");

    if (forced != NULL && forced[0] != '\0') {
        qemu_plugin_version = atoi(forced);
    } else if (dlsym(RTLD_DEFAULT, "qemu_plugin_register_vcpu_discon_cb")) {
        qemu_plugin_version = 7;
    } else if (dlsym(RTLD_DEFAULT, "bql_lock_impl")) {
        qemu_plugin_version = 2;
    }
}

static void append(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    if (used + strlen(name) + 3 <= size) {
        if (used != 0) {
            strcpy(list + used, ", ");
            used += 2;
        }
        strcpy(list + used, name);
    }
}

/* Assigns through memory: ISO C has no conversion from an object pointer to a
 * function pointer, POSIX has. */
static bool find(void *destination, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);

    memcpy(destination, &symbol, sizeof(symbol));
    return symbol != NULL;
}

bool qemu_api_load(char *missing, size_t size)
{
    /* For the test of the message: a name that is treated as absent. */
    const char *hidden = getenv("FWGEN_QEMU_HIDE_SYMBOL");
    bool complete = true;

    missing[0] = '\0';
    if (hidden == NULL) {
        hidden = "";
    }
#define QEMU_FIND(type, name, parameters)                                      \
    if (strcmp(hidden, #name) == 0 || !find(&qemu.name, #name)) {              \
        append(missing, size, #name);                                          \
        complete = false;                                                      \
    }
    QEMU_FUNCTIONS(QEMU_FIND)
#undef QEMU_FIND
    if (!find(&qemu.lock, "bql_lock_impl") &&
        !find(&qemu.lock, "qemu_mutex_lock_iothread_impl")) {
        append(missing, size, "bql_lock_impl");
        complete = false;
    }
    if (!find(&qemu.unlock, "bql_unlock") &&
        !find(&qemu.unlock, "qemu_mutex_unlock_iothread")) {
        append(missing, size, "bql_unlock");
        complete = false;
    }
    find(&qemu.use_icount, "use_icount");
    return complete;
}
