/*
 * tasks.c - the list of tasks for TASKS and the shell.
 *
 * With configUSE_TRACE_FACILITY the kernel lists all tasks; their stack sizes
 * are known for the tasks that the runtime made. Without it only those are
 * listed. The list is taken anew for each index, so a task that starts or
 * ends in between may be missed or named twice.
 */
#include "fwgen_link.h"

#include <string.h>

#include "fwgen_driver.h"

#if configUSE_TRACE_FACILITY == 1

#define LIST_MAX 16u

/* The sizes that the runtime chose itself; 0 for other tasks. */
/* cppcheck-suppress constParameter ; the kernel's own type */
static uint32_t stack_words(TaskHandle_t task, const char *name)
{
    for (uint32_t i = 0; i < fwgen_accelerator_count; i++) {
        const struct fwgen_engine *engine = fwgen_engine_at(i);

        if (engine != NULL && engine->task == task) {
            return NVDLA_STACK_SIZE;
        }
    }
    if (strcmp(name, "link") == 0) {
        return FWGEN_LINK_STACK_SIZE;
    }
    return strcmp(name, "IDLE") == 0 ? (uint32_t)configMINIMAL_STACK_SIZE : 0u;
}

/* V11 changed the type of run times. */
#if tskKERNEL_VERSION_MAJOR >= 11
typedef configRUN_TIME_COUNTER_TYPE run_time;
#else
typedef uint32_t run_time;
#endif

/* Thousandths of the time since start; 0 when the kernel does not count. */
static uint32_t share(const TaskStatus_t *task, run_time total)
{
    const run_time unit = total / 1000u;

    return unit == 0u ? 0u : (uint32_t)(task->ulRunTimeCounter / unit);
}

bool fwgen_task_info(uint32_t index, struct fwgen_task_info *info)
{
    static TaskStatus_t list[LIST_MAX];
    run_time total = 0;
    const uint32_t count =
        (uint32_t)uxTaskGetSystemState(list, LIST_MAX, &total);

    for (uint32_t i = 0; i < count; i++) {
        /* by number, which is the order of creation and does not change */
        uint32_t before = 0;

        for (uint32_t j = 0; j < count; j++) {
            if (list[j].xTaskNumber < list[i].xTaskNumber) {
                before++;
            }
        }
        if (before == index) {
            info->name = list[i].pcTaskName;
            info->stack_words = stack_words(list[i].xHandle, info->name);
            info->free_words = (uint32_t)list[i].usStackHighWaterMark;
            info->priority = (uint32_t)list[i].uxBasePriority;
            info->permille = share(&list[i], total);
            return true;
        }
    }
    return false;
}

#else

bool fwgen_task_info(uint32_t index, struct fwgen_task_info *info)
{
    const struct fwgen_engine *engine = fwgen_engine_at(index);
    TaskHandle_t task;

    if (engine != NULL) {
        task = engine->task;
        info->stack_words = NVDLA_STACK_SIZE;
    } else if (index == fwgen_accelerator_count) {
        task = xTaskGetCurrentTaskHandle(); /* the caller: link */
        info->stack_words = FWGEN_LINK_STACK_SIZE;
    } else {
        return false;
    }
    info->name = pcTaskGetName(task);
    info->free_words = (uint32_t)uxTaskGetStackHighWaterMark(task);
    info->priority = (uint32_t)uxTaskPriorityGet(task);
    info->permille = 0;
    return true;
}

#endif
