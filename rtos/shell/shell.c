/*
 * shell.c - text commands on the console's line: help, status, models, run,
 * profile, tasks, mem, log. In the image only with FWGEN_SHELL.
 */
#include "fwgen_link.h"

#include <string.h>

#include "fwgen_accel.h"
#include "fwgen_console.h"
#include "fwgen_cpu.h"
#include "fwgen_slots.h"
#include "fwgen_watchdog.h"

#if FWGEN_SHELL

#define LINE_MAX 64u

volatile uint8_t fwgen_log_level = FWGEN_LOG_LEVEL;

static void print_pair(const char *text, uint32_t value)
{
    fwgen_print(text);
    fwgen_print_decimal(value);
}

static void command_status(const char *argument)
{
    static const char *const states[] = {"idle", "running", "broken"};

    (void)argument;
    for (uint32_t i = 0; i < fwgen_accelerator_count; i++) {
        const fwgen_device device = fwgen_accel_device(i);
        struct fwgen_statistics statistics;

        fwgen_accel_statistics(device, &statistics);
        fwgen_print(fwgen_accelerators[i].name);
        fwgen_print(": ");
        fwgen_print(states[fwgen_accel_state(device)]);
        print_pair(", waiting ", statistics.waiting);
        print_pair(", inferences ", statistics.inferences);
        print_pair(", errors ", statistics.errors);
        print_pair(", interrupts ", statistics.interrupts);
        print_pair(", spurious ", statistics.spurious);
        print_pair(", resets ", statistics.resets);
        fwgen_print(", last ");
        fwgen_print(fwgen_result_name(statistics.last_result));
        if (statistics.last_operation != FWGEN_NO_OPERATION) {
            print_pair(", last failed operation ", statistics.last_operation);
        }
        fwgen_print("\n");
    }
#if FWGEN_WATCHDOG
    fwgen_restart_print();
#endif
}

static void command_tasks(const char *argument)
{
    struct fwgen_task_info info;

    (void)argument;
    for (uint32_t i = 0; fwgen_task_info(i, &info); i++) {
        fwgen_print(info.name);
        print_pair(": priority ", info.priority);
        print_pair(", stack ", info.stack_words);
        print_pair(" words, least free ", info.free_words);
#if configGENERATE_RUN_TIME_STATS == 1
        print_pair(", CPU ", info.permille / 10u);
        print_pair(".", info.permille % 10u);
        fwgen_print("%");
#endif
        fwgen_print("\n");
    }
}

static void print_tensors(const struct fwgen_tensor *tensors, uint32_t count,
                          const char *direction)
{
    for (uint32_t i = 0; i < count; i++) {
        fwgen_print("  ");
        fwgen_print(direction);
        fwgen_print(" ");
        fwgen_print(tensors[i].name);
        fwgen_print(": ");
        fwgen_print_hex((uint32_t)(uintptr_t)tensors[i].address);
        print_pair(", bytes ", tensors[i].size);
        fwgen_print("\n");
    }
}

static void command_models(const char *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < fwgen_model_count; i++) {
        const struct fwgen_model *model = &fwgen_models[i];

        fwgen_print_decimal(i);
        fwgen_print(" ");
        fwgen_print(model->name);
        fwgen_print(" on ");
        fwgen_print(fwgen_accelerators[model->accelerator].name);
        print_pair(": operations ", model->operation_count);
        print_pair(", program words ", model->program_words);
        fwgen_print("\n");
        print_tensors(model->inputs, model->input_count, "input");
        print_tensors(model->outputs, model->output_count, "output");
    }
}

static void command_mem(const char *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < fwgen_boot_copy_count; i++) {
        fwgen_print("copied ");
        fwgen_print_hex((uint32_t)(uintptr_t)fwgen_boot_copies[i].destination);
        print_pair(", bytes ", fwgen_boot_copies[i].size);
        fwgen_print("\n");
    }
    for (uint32_t i = 0; i < fwgen_boot_clear_count; i++) {
        fwgen_print("cleared ");
        fwgen_print_hex((uint32_t)(uintptr_t)fwgen_boot_clears[i].start);
        print_pair(", bytes ", fwgen_boot_clears[i].size);
        fwgen_print("\n");
    }
#if FWGEN_CANARIES
    print_pair("guard words ", fwgen_canary_count);
    fwgen_print("\n");
#endif
}

/* The model of that number, NULL if there is none or the text is no number. */
static const struct fwgen_model *numbered(const char *text)
{
    uint32_t number = 0;

    do {
        if (*text < '0' || *text > '9' || number >= fwgen_model_count) {
            return NULL;
        }
        number = number * 10u + (uint32_t)(*text - '0');
    } while (*++text != '\0');
    return number < fwgen_model_count ? &fwgen_models[number] : NULL;
}

/* The model of that name or number, the first one without a name; says so if
 * there is none. */
static const struct fwgen_model *chosen(const char *name)
{
    const struct fwgen_model *model =
        *name == '\0' ? &fwgen_models[0] : fwgen_model_find(name);

    if (model == NULL) {
        model = numbered(name);
    }
    if (model == NULL) {
        fwgen_print("no such model\n");
    }
    return model;
}

/* `run`, `run NAME` or `run NUMBER`: the line is unlocked while the model runs.
 */
static void command_run(const char *argument)
{
    const struct fwgen_model *model = chosen(argument);
    struct fwgen_report report;

    if (model == NULL) {
        return;
    }
    fwgen_console_unlock();
    (void)fwgen_accel_submit(fwgen_accel_device(model->accelerator), model, 0,
                             &report);
    fwgen_console_lock();
    fwgen_print(model->name);
    fwgen_print(": ");
    fwgen_print(fwgen_result_name(report.result));
    if (report.operation != FWGEN_NO_OPERATION) {
        print_pair(" at operation ", report.operation);
    }
    print_pair(", timer ticks ", (uint32_t)report.duration);
    print_pair(", interrupts ", report.interrupts);
    fwgen_print("\n");
}

/* The times of the last run's operations. */
static void command_profile(const char *argument)
{
#if FWGEN_PROFILE
    const struct fwgen_model *model = chosen(argument);
    uint32_t ticks;

    if (model == NULL) {
        return;
    }
    for (uint32_t i = 0;
         fwgen_accel_profile(fwgen_accel_device(model->accelerator), model, i,
                             &ticks, 1) == 1u;
         i++) {
        fwgen_print_decimal(i);
        if (model->operation_names != NULL) {
            fwgen_print(" ");
            fwgen_print(model->operation_names[i]);
        }
        print_pair(": timer ticks ", ticks);
        fwgen_print("\n");
    }
#else
    (void)argument;
    fwgen_print("this build does not measure operations\n");
#endif
}

static void command_log(const char *argument)
{
    static const char *const levels[] = {"none", "error", "info", "debug"};

    bool known = *argument == '\0';

    for (uint32_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(argument, levels[i]) == 0) {
            fwgen_log_level = (uint8_t)i;
            known = true;
        }
    }
    if (!known) {
        fwgen_print("no such level, try help\n");
        return;
    }
    fwgen_print("log level ");
    fwgen_print(levels[fwgen_log_level & 3u]);
    fwgen_print("\n");
}

#if FWGEN_NVMEM
static void print_slot(uint32_t slot)
{
    static uint8_t header[FWGEN_PACKAGE_HEADER];
    const struct fwgen_slots_state *state = fwgen_slots_state();
    struct fwgen_package package;

    print_pair("slot ", slot);
    if (fwgen_slots_look(slot, header, &package) != FWGEN_PACKAGE_GOOD) {
        fwgen_print(": no package\n");
        return;
    }
    fwgen_print(": ");
    fwgen_print(package.name);
    print_pair(", version ", package.version);
    print_pair(", bytes ", package.length);
    fwgen_print(slot == state->confirmed ? ", confirmed" : "");
    fwgen_print(slot == state->trial ? ", on trial" : "");
    fwgen_print(slot == state->running ? ", running\n" : "\n");
}

static void command_slots(const char *argument)
{
    const struct fwgen_slots_state *state = fwgen_slots_state();

    (void)argument;
    fwgen_nvmem_lock();
    for (uint32_t slot = 0; slot < FWGEN_SLOT_COUNT; slot++) {
        print_slot(slot);
    }
    fwgen_nvmem_unlock();
    if (state->running == FWGEN_NO_SLOT) {
        fwgen_print("the model of the image runs\n");
    }
    if (state->fault != FWGEN_PACKAGE_GOOD) {
        print_pair("the last trial was given up: ", state->fault);
        fwgen_print("\n");
    }
}

/* Partitions and the names of the settings. */
static void command_nvmem(const char *argument)
{
    const struct fwgen_store *settings = fwgen_settings();
    struct fwgen_store_entry entry;
    uint32_t cursor = 0;

    (void)argument;
    for (uint32_t i = 0; i < fwgen_partition_count; i++) {
        fwgen_print(fwgen_partitions[i].name);
        fwgen_print(": ");
        fwgen_print_hex(fwgen_partitions[i].offset);
        print_pair(", bytes ", fwgen_partitions[i].size);
        fwgen_print("\n");
    }
    fwgen_nvmem_lock();
    while (settings != NULL && fwgen_store_next(settings, &cursor, &entry)) {
        fwgen_print("  ");
        fwgen_print(entry.key);
        print_pair(": bytes ", entry.length);
        fwgen_print("\n");
    }
    fwgen_nvmem_unlock();
}
#endif

static void command_help(const char *argument);

static const struct command {
    const char *name;
    void (*run)(const char *argument);
    const char *help;
} commands[] = {
    {"help", command_help, "this list"},
    {"status", command_status, "state and counters of the accelerators"},
    {"models", command_models, "models and their tensors"},
    {"run", command_run, "run [NAME|NUMBER]: one inference"},
    {"profile", command_profile,
     "profile [NAME|NUMBER]: times of its last run"},
    {"tasks", command_tasks, "priorities, stacks, shares of the CPU"},
    {"mem", command_mem, "memory that is prepared at start"},
#if FWGEN_NVMEM
    {"slots", command_slots, "what the model slots hold, and which one runs"},
    {"nvmem", command_nvmem, "partitions, and names of settings"},
#endif
    {"log", command_log, "log [none|error|info|debug]: how much is told"},
};

static void command_help(const char *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        fwgen_print(commands[i].name);
        fwgen_print(" - ");
        fwgen_print(commands[i].help);
        fwgen_print("\n");
    }
}

static void execute(const char *name, const char *argument)
{
    for (uint32_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            commands[i].run(argument);
            return;
        }
    }
    fwgen_print(name);
    fwgen_print(": unknown command, try help\n");
}

void fwgen_shell_line(const uint8_t *line, uint32_t length)
{
    char text[LINE_MAX];
    char *argument;

    if (length == 0u || length >= sizeof(text)) {
        return;
    }
    for (uint32_t i = 0; i < length; i++) {
        if (line[i] < 0x20u || line[i] > 0x7eu) {
            return; /* noise */
        }
        text[i] = (char)line[i];
    }
    text[length] = '\0';
    argument = strchr(text, ' ');
    if (argument != NULL) {
        *argument++ = '\0';
    } else {
        argument = &text[length];
    }
    fwgen_console_lock();
    execute(text, argument);
    fwgen_console_unlock();
}

#endif
