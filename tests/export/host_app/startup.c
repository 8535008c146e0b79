/*
 * startup.c - reset and vectors of the host firmware (Cortex-M3, 32
 * interrupts). Nothing here comes from fwgen but the name of one handler.
 */
#include <stdint.h>

extern uint32_t host_data_load[], host_data_start[], host_data_end[];
extern uint32_t host_bss_start[], host_bss_end[], host_stack_top[];

int main(void);
void host_reset(void);
void host_trap(void);
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);
void fwgen_accel0_IRQHandler(void);

void host_reset(void)
{
    uint32_t *from = host_data_load;

    for (uint32_t *to = host_data_start; to != host_data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = host_bss_start; to != host_bss_end; to++) {
        *to = 0;
    }
    (void)main();
    for (;;) {
    }
}

void host_trap(void)
{
    for (;;) {
    }
}

__attribute__((section(".host_vectors"),
               used)) static void (*const host_vectors[48])(void) = {
    (void (*)(void))host_stack_top,
    host_reset,
    host_trap,
    host_trap,
    host_trap,
    host_trap,
    host_trap,
    [11] = vPortSVCHandler,
    [14] = xPortPendSVHandler,
    [15] = xPortSysTickHandler,
    [16 + 29] = fwgen_accel0_IRQHandler,
};
