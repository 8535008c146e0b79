/*
 * fwgen_config_defaults.h - every build option of the runtime, with its
 * default.
 *
 * The generator writes fwgen_config.h with the options that differ; each file
 * of the runtime includes this header, never fwgen_config.h itself. Options
 * are preprocessor numbers so that what is switched off costs nothing.
 *
 * FreeRTOSConfig.h must state: configSUPPORT_STATIC_ALLOCATION 1,
 * configSUPPORT_DYNAMIC_ALLOCATION 0, configUSE_TASK_NOTIFICATIONS 1,
 * configUSE_MUTEXES 1, configUSE_PREEMPTION 1, configCHECK_FOR_STACK_OVERFLOW
 * 2, configUSE_IDLE_HOOK 1, configUSE_TIMERS 0, FWGEN_PRIO_BITS (bits of
 * interrupt priority that the CPU implements; configPRIO_BITS when it is not
 * defined), configCPU_CLOCK_HZ (the clock of SysTick), INCLUDE_vTaskDelay 1,
 * INCLUDE_vTaskSuspend 1, INCLUDE_xTaskGetCurrentTaskHandle 1,
 * INCLUDE_xTaskGetSchedulerState 1, INCLUDE_uxTaskPriorityGet 1 and
 * INCLUDE_uxTaskGetStackHighWaterMark 1; on Cortex-M the aliases
 *     #define vPortSVCHandler SVC_Handler
 *     #define xPortPendSVHandler PendSV_Handler
 *     #define xPortSysTickHandler SysTick_Handler
 * and
 *     #define configASSERT(x) \
 *         do { if (!(x)) { fwgen_assert_failed(__FILE_NAME__, __LINE__); } \
 *         } while (0)
 * with the prototype void fwgen_assert_failed(const char *, unsigned long).
 * configUSE_TRACE_FACILITY 1 lets the TASKS request list the tasks of the
 * application too; with 0 it lists those of the runtime. For the tasks' shares
 * of the CPU:
 *     #define configGENERATE_RUN_TIME_STATS 1
 *     uint32_t fwgen_run_time(void);
 *     #define portCONFIGURE_TIMER_FOR_RUN_TIME_STATS()
 *     #define portGET_RUN_TIME_COUNTER_VALUE() fwgen_run_time()
 */
#ifndef FWGEN_CONFIG_DEFAULTS_H
#define FWGEN_CONFIG_DEFAULTS_H

#include "fwgen_config.h"

/* Accelerators of the board; storage and interrupt handlers (0..3) follow. */
#ifndef FWGEN_ACCEL_COUNT
#define FWGEN_ACCEL_COUNT 1
#endif

/* Largest operation_count of all models; sizes the profile. */
#ifndef FWGEN_MAX_OPERATIONS
#define FWGEN_MAX_OPERATIONS 256
#endif

/* 1: ticks per operation are recorded (FWGEN_MAX_OPERATIONS words of RAM per
 * accelerator). */
#ifndef FWGEN_PROFILE
#define FWGEN_PROFILE 0
#endif

/* Largest pipeline_depth of all models: 1, 2 or 4. Above 1 the executor knows
 * the commands of pipelined programs. */
#ifndef FWGEN_PIPELINE
#define FWGEN_PIPELINE 1
#endif

/* Status bits by which an accelerator reports an error; 0 where none of the
 * board's families has any. */
#ifndef FWGEN_FAULT_BITS
#define FWGEN_FAULT_BITS 0u
#endif

/* 1: an accelerator of the board has to be switched on
 * (fwgen_accelerator.power_steps). */
#ifndef FWGEN_POWER_STEPS
#define FWGEN_POWER_STEPS 0
#endif

/* 1: fwgen_canaries[] is checked at each MARK and at END. */
#ifndef FWGEN_CANARIES
#define FWGEN_CANARIES 0
#endif

/* 1: the build runs in the emulator: semihosting ends it with an exit code
 * after a fault and on the EXIT request. Needs a debugger on hardware. */
#ifndef FWGEN_SEMIHOSTING
#define FWGEN_SEMIHOSTING 0
#endif

/* 1: a test build: misuse of the interface asserts, and unaligned accesses trap
 * if the image was compiled with -mno-unaligned-access. */
#ifndef FWGEN_TEST_BUILD
#define FWGEN_TEST_BUILD FWGEN_SEMIHOSTING
#endif

/* The accelerator task; the names NVDLA users know. Stack in words. */
#ifndef NVDLA_TASK_PRIORITY
#define NVDLA_TASK_PRIORITY 5
#endif
#ifndef NVDLA_STACK_SIZE
#define NVDLA_STACK_SIZE 2048
#endif

/* Jobs that may wait for one accelerator, 1 to 64; a further one is refused
 * with FWGEN_ERROR_QUEUE_FULL. Costs no memory: jobs are their clients'. */
#ifndef FWGEN_QUEUE_LENGTH
#define FWGEN_QUEUE_LENGTH 8
#endif

/* 1: the serial link (docs/link.md) runs in a task of its own. */
#ifndef FWGEN_LINK
#define FWGEN_LINK 1
#endif
#ifndef FWGEN_LINK_TASK_PRIORITY
#define FWGEN_LINK_TASK_PRIORITY 3
#endif
#ifndef FWGEN_LINK_STACK_SIZE
#define FWGEN_LINK_STACK_SIZE 512
#endif

/* 1: non-volatile memory with settings and model slots (docs/update.md). The
 * table of models is then in RAM: the active slot's model takes the place of
 * model 0. */
#ifndef FWGEN_NVMEM
#define FWGEN_NVMEM 0
#endif

/* 1: only packages signed with the key of the build are accepted. */
#ifndef FWGEN_SIGNED_UPDATE
#define FWGEN_SIGNED_UPDATE 0
#endif

/* 1: a package with a smaller version than a confirmed one is refused. */
#ifndef FWGEN_ANTI_ROLLBACK
#define FWGEN_ANTI_ROLLBACK 0
#endif

/* How often a new package may be started before it is given up. */
#ifndef FWGEN_TRIAL_BOOTS
#define FWGEN_TRIAL_BOOTS 3
#endif

/* Tensors that a package may have, inputs and outputs of all banks together;
 * each costs a struct fwgen_tensor of RAM. */
#ifndef FWGEN_SLOT_TENSORS
#define FWGEN_SLOT_TENSORS 16
#endif

/* Stack of the task that tests a model on trial and starts the rest, in words.
 */
#ifndef FWGEN_START_STACK_SIZE
#define FWGEN_START_STACK_SIZE 512
#endif

/* 1: text commands on the line of the link (help, status, tasks, ...). */
#ifndef FWGEN_SHELL
#define FWGEN_SHELL 0
#endif

/* What fwgen_log_at() lets through at start, fwgen_console.h: 0 nothing, 1
 * errors, 2 information, 3 everything. */
#ifndef FWGEN_LOG_LEVEL
#define FWGEN_LOG_LEVEL 2
#endif

/* 0: CRC-32 bit by bit (smallest); 1: table of 16 words (four times faster). */
#ifndef FWGEN_CRC_TABLE
#define FWGEN_CRC_TABLE 1
#endif

/* 1: the link has a UART of its own, fwgen_link_uart; 0: it shares the
 * console's. */
#ifndef FWGEN_LINK_UART
#define FWGEN_LINK_UART 0
#endif

/* Bytes of the receive ring of each UART; a power of two. It holds the longest
 * frame, so that nothing is lost however fast an emulated line delivers one. */
#ifndef FWGEN_UART_RX_BUFFER
#define FWGEN_UART_RX_BUFFER 2048
#endif

/* What the idle task does: FWGEN_IDLE_SPIN keeps virtual time right in
 * emulators that lose ticks while the CPU sleeps. */
#define FWGEN_IDLE_SPIN 0
#define FWGEN_IDLE_WFE 1
#define FWGEN_IDLE_WFI 2
#ifndef FWGEN_IDLE
#define FWGEN_IDLE FWGEN_IDLE_SPIN
#endif

/* 1: the CPU has a data cache that is switched on (Cortex-M7, M55, Cortex-A);
 * the start-up code then enables both caches and CACHE commands act. */
#ifndef FWGEN_DCACHE
#define FWGEN_DCACHE 0
#endif

/* 1: an accelerator of the board is the CPU itself (family "cpu"): no
 * interrupt, and the run's deadline and cancellation are looked at before each
 * kernel. */
#ifndef FWGEN_CPU_FAMILY
#define FWGEN_CPU_FAMILY 0
#endif

/* 1: an accelerator of the board is a VeriSilicon VIP (family "vip"). */
#ifndef FWGEN_VIP_FAMILY
#define FWGEN_VIP_FAMILY 0
#endif

/* How firmware of a higher privilege is called on Cortex-A (PSCI), to switch
 * off or reset. */
#define FWGEN_PSCI_NONE 0
#define FWGEN_PSCI_HVC 1
#define FWGEN_PSCI_SMC 2
#ifndef FWGEN_PSCI
#define FWGEN_PSCI FWGEN_PSCI_NONE
#endif

/* 1: a watchdog, fed by a supervisor (fwgen_watchdog.h). */
#ifndef FWGEN_WATCHDOG
#define FWGEN_WATCHDOG 0
#endif
#ifndef FWGEN_WATCHDOG_STACK_SIZE
#define FWGEN_WATCHDOG_STACK_SIZE 256
#endif

/* What a fault does when there is no semihosting: 0 halts, 1 resets. */
#ifndef FWGEN_FAULT_RESET
#define FWGEN_FAULT_RESET 0
#endif

#endif
