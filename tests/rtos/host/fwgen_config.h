/*
 * fwgen_config.h - options of the runtime where its parts run on the host.
 */
#ifndef FWGEN_CONFIG_H
#define FWGEN_CONFIG_H

#define FWGEN_ACCEL_COUNT 1
#define FWGEN_MAX_OPERATIONS 16
#define FWGEN_TEST_BUILD 1

#endif
