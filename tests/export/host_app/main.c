/*
 * main.c - the host firmware: a task of its own runs the exported model on
 * three pictures and prints every byte of the answers on its own UART driver.
 */
#include <stdint.h>

#include "FreeRTOS.h"
#include "task.h"

#include "fwgen_accel.h"
#include "fwgen_boot.h"
#include "fwgen_tensor.h"

#define UART ((volatile uint32_t *)0x40004000u)
#define PICTURES 3u

static void put(char character)
{
    UART[0] = (uint32_t)character;
}

static void print(const char *text)
{
    while (*text != '\0') {
        put(*text++);
    }
}

static void print_byte(uint8_t value)
{
    put("0123456789abcdef"[value >> 4]);
    put("0123456789abcdef"[value & 15u]);
}

static void leave(uint32_t code)
{
    const uint32_t block[2] = {0x20026u, code};
    register uint32_t operation __asm("r0") = 0x20u;
    register const uint32_t *argument __asm("r1") = block;

    __asm volatile("bkpt 0xab" : "+r"(operation) : "r"(argument) : "memory");
    for (;;) {
    }
}

void host_assert(unsigned long line)
{
    (void)line;
    print("assert\n");
    leave(9);
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name);

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    print("stack\n");
    leave(8);
}

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack,
                                   uint32_t *size);

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack,
                                   uint32_t *size)
{
    static StaticTask_t idle;
    static StackType_t idle_stack[configMINIMAL_STACK_SIZE];

    *task = &idle;
    *stack = idle_stack;
    *size = configMINIMAL_STACK_SIZE;
}

static void worker(void *argument)
{
    const struct fwgen_model *model = fwgen_model_find("digits");
    const struct fwgen_tensor *in;
    const struct fwgen_tensor *out;

    (void)argument;
    configASSERT(model != NULL);
    in = fwgen_model_input(model, 0);
    out = fwgen_model_output(model, 0);
    for (uint32_t picture = 0; picture < PICTURES; picture++) {
        enum fwgen_result result;

        for (uint32_t y = 0; y < in->shape[2]; y++) {
            for (uint32_t x = 0; x < in->shape[3]; x++) {
                in->address[fwgen_tensor_offset(in, 0, y, x)] =
                    (uint8_t)((x * 11u + y * 13u + picture * 17u) % 113u);
            }
        }
        result = fwgen_accel_submit(fwgen_accel_device(0), model, 1000, NULL);
        print("host: ");
        print(fwgen_result_name(result));
        print(" ");
        for (uint32_t c = 0; c < out->shape[1]; c++) {
            print_byte(out->address[fwgen_tensor_offset(out, c, 0, 0)]);
        }
        print("\n");
        vTaskDelay(1);
    }
    leave(0);
}

int main(void)
{
    UART[4] = 16; /* divider */
    UART[2] = 1;  /* transmitter on */
    print("host: started\n");
    fwgen_boot_memory();
    (void)fwgen_accel_start();
    /* a task from the heap, which fwgen's library does without */
    if (xTaskCreate(worker, "worker", 512, NULL, 1, NULL) != pdPASS) {
        leave(7);
    }
    vTaskStartScheduler();
    return 1;
}
