/*
 * clones.h - several versions of a function, one for each kind of processor.
 */
#ifndef FWGEN_CLONES_H
#define FWGEN_CLONES_H

/*
 * Marks a function whose loops are compiled for wider vector units as well;
 * the loader picks the version. Sanitizers and these do not go together.
 */
#if defined(__x86_64__) && defined(__linux__) && !defined(FWGEN_NO_CLONES)
#define FWGEN_CLONES                                                           \
    __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define FWGEN_CLONES
#endif

#endif
