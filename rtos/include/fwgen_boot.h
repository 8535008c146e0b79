/*
 * fwgen_boot.h - what must be in memory before the first inference.
 */
#ifndef FWGEN_BOOT_H
#define FWGEN_BOOT_H

/*
 * Copies constants of the models that run from RAM, zeroes the memory of
 * tensors and writes the guard words of test builds. The start-up code of the
 * runtime calls it; a firmware with start-up code of its own calls it
 * once, after its variables are initialised and before fwgen_accel_start().
 * Does not block; no interrupt of an accelerator may be enabled yet.
 *
 * Example:
 *     int main(void)
 *     {
 *         fwgen_boot_memory();
 *         (void)fwgen_accel_start();
 *         vTaskStartScheduler();
 *     }
 */
void fwgen_boot_memory(void);

#endif
