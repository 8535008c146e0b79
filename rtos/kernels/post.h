/*
 * post.h - from 32-bit sums to int8: bias, scale, activation, element-wise
 * operations, tables.
 */
#ifndef FWGEN_KERNELS_POST_H
#define FWGEN_KERNELS_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "arguments.h"

/* Whether `words` argument words hold what `post` says it has. */
bool fwgen_post_is_valid(const struct fwgen_post *post, uint32_t words);

/* One pixel's block of `surface`: post->block values, changed on the way. */
void fwgen_post_pixel(const struct fwgen_post *post, uint32_t surface,
                      uint32_t y, uint32_t x, int32_t *values);

#endif
