/*
 * pointwise.c - POINTWISE on the CPU: stages on each element of a cube
 * (arguments.h). Source and destination may be the same cube.
 */
#include <stddef.h>

#include "arguments.h"
#include "fwgen_model.h"
#include "fwgen_result.h"
#include "post.h"

#define POST_WORD                                                              \
    ((uint32_t)(offsetof(struct fwgen_pointwise, post) / sizeof(uint32_t)))

int fwgen_kernel_pointwise(const uint32_t *arguments, uint32_t count)
{
    const struct fwgen_pointwise *op =
        (const struct fwgen_pointwise *)(const void *)arguments;
    int32_t values[FWGEN_MAX_BLOCK];

    if (count < FWGEN_WORDS(struct fwgen_pointwise) ||
        !fwgen_post_is_valid(&op->post, count - POST_WORD)) {
        return FWGEN_ERROR_PROGRAM;
    }
    for (uint32_t surface = 0; surface < op->surfaces; surface++) {
        for (uint32_t y = 0; y < op->height; y++) {
            for (uint32_t x = 0; x < op->width; x++) {
                const uint8_t *from =
                    fwgen_cube_at(&op->source, surface, y, x, op->post.block);

                for (uint32_t i = 0; i < op->post.block; i++) {
                    values[i] = (int8_t)from[i];
                }
                fwgen_post_pixel(&op->post, surface, y, x, values);
            }
        }
    }
    return FWGEN_OK;
}
