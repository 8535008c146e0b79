/*
 * memory.c - the functions of string.h that compilers call on their own.
 *
 * The C library's versions for these cores read words at unaligned addresses,
 * which test builds trap (fwgen_config_defaults.h, FWGEN_TEST_BUILD). These use
 * words only where both sides are aligned.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Without it the compiler finds the loops to be calls of these functions. */
#define NO_PATTERNS                                                            \
    __attribute__((optimize("no-tree-loop-distribute-patterns")))

/* Words of any object: they may alias everything. */
typedef uint32_t __attribute__((may_alias)) any_word;

static inline size_t is_unaligned(uintptr_t address)
{
    return (size_t)(address & 3u);
}

NO_PATTERNS void *memcpy(void *restrict to, const void *restrict from,
                         size_t length)
{
    uint8_t *target = to;
    const uint8_t *source = from;

    if (is_unaligned((uintptr_t)target | (uintptr_t)source) == 0u) {
        for (; length >= 4u; length -= 4u) {
            *(any_word *)(void *)target =
                *(const any_word *)(const void *)source;
            target += 4;
            source += 4;
        }
    }
    while (length-- != 0u) {
        *target++ = *source++;
    }
    return to;
}

NO_PATTERNS void *memmove(void *to, const void *from, size_t length)
{
    uint8_t *target = to;
    const uint8_t *source = from;

    if ((uintptr_t)target - (uintptr_t)source >= length) {
        return memcpy(to, from, length); /* going up is safe */
    }
    while (length-- != 0u) {
        target[length] = source[length];
    }
    return to;
}

NO_PATTERNS void *memset(void *to, int value, size_t length)
{
    uint8_t *target = to;
    const uint8_t byte = (uint8_t)value;

    while (length != 0u && is_unaligned((uintptr_t)target) != 0u) {
        *target++ = byte;
        length--;
    }
    for (; length >= 4u; length -= 4u) {
        *(any_word *)(void *)target = byte * 0x01010101u;
        target += 4;
    }
    while (length-- != 0u) {
        *target++ = byte;
    }
    return to;
}

NO_PATTERNS int memcmp(const void *left, const void *right, size_t length)
{
    const uint8_t *a = left;
    const uint8_t *b = right;

    for (; length != 0u; length--, a++, b++) {
        if (*a != *b) {
            return (int)*a - (int)*b;
        }
    }
    return 0;
}

NO_PATTERNS size_t strlen(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0') {
        length++;
    }
    return length;
}

NO_PATTERNS int strcmp(const char *left, const char *right)
{
    while (*left != '\0' && *left == *right) {
        left++;
        right++;
    }
    return (int)(uint8_t)*left - (int)(uint8_t)*right;
}
