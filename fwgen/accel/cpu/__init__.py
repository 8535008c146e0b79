"""Models that the CPU runs with the kernels of rtos/kernels/, without an accelerator."""
