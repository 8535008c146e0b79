/*
 * families.c - the accelerator families built into this library.
 */
#include <string.h>

#include "accel_model.h"

extern const struct accel_family nvdla_family;
extern const struct accel_family vip_family;

static const struct accel_family *const families[] = {&nvdla_family,
                                                      &vip_family, NULL};

const struct accel_family *const *accel_families(void)
{
    return families;
}

const struct accel_family *accel_family_find(const char *name)
{
    for (size_t i = 0; families[i] != NULL; i++) {
        if (name != NULL && strcmp(families[i]->name, name) == 0) {
            return families[i];
        }
    }
    return NULL;
}
