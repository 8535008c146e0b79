/*
 * replay_corpus.c - runs files through the fuzz target without libFuzzer, so
 * that any compiler with sanitizers can replay a corpus or a reported crash.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        /* As its own allocation, so that reading past the end is seen. */
        uint8_t *data = NULL;
        long size;

        if (file == NULL || fseek(file, 0, SEEK_END) != 0 ||
            (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
            (void)fprintf(stderr, "cannot read %s\n", argv[i]);
            return 2;
        }
        data = malloc(size > 0 ? (size_t)size : 1u);
        if (data == NULL ||
            fread(data, 1, (size_t)size, file) != (size_t)size) {
            (void)fprintf(stderr, "cannot read %s\n", argv[i]);
            return 2;
        }
        (void)fclose(file);
        (void)LLVMFuzzerTestOneInput(data, (size_t)size);
        free(data);
    }
    (void)printf("%d inputs\n", argc - 1);
    return 0;
}
