/*
 * power.c - cuts power at each flash operation of an update.
 *
 *     power OLD NEW ERASE PROGRAM SLOT BLOCKS STRIDE DOUBLES
 *
 * OLD and NEW are packages for this board. For each starting state of the
 * device a whole update (transfer, a setting in between, trial, confirmation)
 * is played once to count its flash operations, then once for each operation
 * and each kind of tear, with power cut there. Every STRIDEth operation is
 * tried; in each of those, DOUBLES operations of the recovery are cut too.
 * Then with a stuck bit in one cell of many instead of a cut.
 *
 * After each cut the device starts anew and must run a model that the moment
 * allows: what was promised before the cut must hold. Then the update is done
 * again and must succeed. Prints what it counted; ends with 1 at the first
 * violation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "fwgen_link.h"

#define CHUNK 512u

static struct package {
    uint8_t *bytes;
    uint32_t length;
    const char *name;
} old_package, new_package;

/* What the script has reached; it lives through a cut. */
static volatile struct {
    bool on_trial;            /* FINISH said OK */
    bool confirmed;           /* CONFIRM said OK */
    bool setting;             /* the new value was set */
    bool is_expected_to_fail; /* a stuck bit: errors are allowed */
} reached;

static uint64_t cuts, doubles, stuck_runs, stuck_failures, scripts;
static const char *state_name = "?";
static char context[160];

static void violation(const char *what)
{
    printf("VIOLATION: %s; start state %s, %s\n", what, state_name, context);
    (void)fflush(stdout);
    abort();
}

static struct package load(const char *path)
{
    struct package package = {NULL, 0, path};
    FILE *file = fopen(path, "rb");
    long size;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(3);
    }
    size = ftell(file);
    rewind(file);
    package.bytes = malloc((size_t)size);
    if (fread(package.bytes, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(3);
    }
    (void)fclose(file);
    package.length = (uint32_t)size;
    return package;
}

/* ---- the script ---- */

static bool check(enum fwgen_result result, const char *what)
{
    if (result != FWGEN_OK && !reached.is_expected_to_fail) {
        printf("result %d\n", (int)result);
        violation(what);
    }
    return result == FWGEN_OK;
}

static bool set(const char *key, const char *value)
{
    struct fwgen_store *store = fwgen_settings();

    return store != NULL &&
           check(fwgen_store_set(store, key, value, (uint32_t)strlen(value)),
                 "a setting was not written");
}

static bool is_set(const char *key, const char *value)
{
    char found[FWGEN_VALUE_MAX];
    uint32_t length = 0;

    return fwgen_store_get(fwgen_settings(), key, found, sizeof(found),
                           &length) == FWGEN_OK &&
           length == strlen(value) && memcmp(found, value, length) == 0;
}

static void start(void)
{
    fwgen_models[0] = (struct fwgen_model){.name = "image"};
    (void)check(fwgen_slots_start(&sim_board), "the device did not start");
}

/* Whether the running model is the one of a package, by all its bytes. */
static bool runs(const struct package *package)
{
    const struct fwgen_bound_model *bound = fwgen_slots_model();

    return bound != NULL &&
           memcmp((const void *)bound->base, package->bytes, package->length) ==
               0 &&
           fwgen_models[0].program == bound->model.program;
}

static bool transfer(const struct package *package, bool with_setting)
{
    struct fwgen_update update;
    enum fwgen_package_fault fault;
    uint32_t next;
    bool done = false;

    if (!check(fwgen_update_begin(package->bytes, &update, &fault),
               "BEGIN refused")) {
        return false;
    }
    for (next = update.next; next < package->length;) {
        const uint32_t rest = package->length - next;
        const uint32_t part = rest < CHUNK ? rest : CHUNK;

        if (with_setting && !done && next > package->length / 2u) {
            done = set("gain", "new");
            reached.setting |= done;
        }
        if (!check(fwgen_update_data(next, &package->bytes[next], part, &next),
                   "DATA refused")) {
            return false;
        }
    }
    return check(fwgen_update_finish(&fault), "FINISH refused");
}

/* From whatever state to the new model, confirmed. */
static void script(void)
{
    scripts++;
    start();
    if (!runs(&new_package) || fwgen_slots_state()->trial != FWGEN_NO_SLOT) {
        if (fwgen_slots_state()->running == fwgen_slots_state()->trial &&
            fwgen_slots_state()->trial != FWGEN_NO_SLOT) {
            /* A trial runs; its self-test passes. */
            const bool is_new = runs(&new_package);

            if (check(fwgen_slots_confirm(), "CONFIRM failed")) {
                reached.confirmed |= is_new;
            }
        }
        if (!runs(&new_package)) {
            if (!transfer(&new_package, true)) {
                return;
            }
            reached.on_trial = true;
            start();
            if (!runs(&new_package)) {
                if (reached.is_expected_to_fail) {
                    return;
                }
                violation("a good package does not start");
            }
            if (!check(fwgen_slots_confirm(), "CONFIRM failed")) {
                return;
            }
            reached.confirmed = true;
        }
    }
    reached.setting |= set("gain", "new");
    start();
}

/* ---- starting states ---- */

static void fresh(void)
{
    memset(sim_flash.cells, 0xff, sim_flash.size);
    start();
    (void)set("serial", "1234");
    (void)set("gain", "old");
}

static void install(const struct package *package)
{
    (void)transfer(package, false);
    start();
    (void)check(fwgen_slots_confirm(), "CONFIRM failed");
}

static void state_blank(void)
{
    fresh();
}

static void state_confirmed_a(void)
{
    fresh();
    install(&old_package);
}

/* Slot B is confirmed; A holds the new package from an earlier update. */
static void state_confirmed_b(void)
{
    fresh();
    install(&new_package);
    install(&old_package);
}

static void state_on_trial(void)
{
    state_confirmed_a();
    (void)transfer(&new_package, false);
}

static void state_trial_started(void)
{
    state_on_trial();
    start();
}

static void state_rolled_back(void)
{
    state_trial_started();
    (void)fwgen_slots_reject(FWGEN_PACKAGE_SELF_TEST);
    start();
}

static void state_interrupted(void)
{
    struct fwgen_update update;
    enum fwgen_package_fault fault;
    uint32_t next = FWGEN_PACKAGE_HEADER;

    state_confirmed_a();
    (void)fwgen_update_begin(new_package.bytes, &update, &fault);
    while (next < new_package.length * 3u / 4u / CHUNK * CHUNK) {
        (void)fwgen_update_data(next, &new_package.bytes[next], CHUNK, &next);
    }
}

/* The same, with another package. */
static void state_another(void)
{
    struct fwgen_update update;
    enum fwgen_package_fault fault;
    uint32_t next = FWGEN_PACKAGE_HEADER;

    state_confirmed_a();
    (void)fwgen_update_begin(old_package.bytes, &update, &fault);
    while (next < old_package.length * 3u / 4u / CHUNK * CHUNK) {
        (void)fwgen_update_data(next, &old_package.bytes[next], CHUNK, &next);
    }
}

/* A full log of settings, so that it moves to the next block often. */
static void state_worn(void)
{
    char value[100];

    state_confirmed_a();
    memset(value, 'x', sizeof(value));
    value[99] = '\0';
    for (uint32_t i = 0; i < 40u; i++) {
        value[0] = (char)('a' + i % 26u);
        (void)fwgen_store_set(fwgen_settings(), "noise", value, 40u);
    }
}

static const struct {
    const char *name;
    void (*make)(void);
    bool image; /* whether the model of the image is what runs before */
} states[] = {
    {"blank", state_blank, true},
    {"A confirmed", state_confirmed_a, false},
    {"B confirmed, A full", state_confirmed_b, false},
    {"B on trial", state_on_trial, false},
    {"trial started", state_trial_started, false},
    {"rolled back", state_rolled_back, false},
    {"interrupted", state_interrupted, false},
    {"another interrupted", state_another, false},
    {"worn settings", state_worn, false},
};

/* ---- judging ---- */

/* The device has started after a cut: is that what may be? */
static void judge(bool image)
{
    const bool is_new = runs(&new_package);
    const bool is_old =
        image ? fwgen_slots_model() == NULL : runs(&old_package);

    if (!is_new && !is_old) {
        violation("neither the old nor the new model runs");
    }
    if ((reached.on_trial || reached.confirmed) && !is_new) {
        violation("the new model was promised and does not run");
    }
    if (!is_set("serial", "1234")) {
        violation("a setting that nobody touched is lost");
    }
    if (!is_set("gain", "new") && (reached.setting || !is_set("gain", "old"))) {
        violation("a setting has neither its old nor its new value");
    }
}

static void forget(void)
{
    reached.on_trial = false;
    reached.confirmed = false;
    reached.setting = false;
    reached.is_expected_to_fail = false;
}

/* Plays the script with a cut; true if power failed. */
static bool cut_script(uint64_t at, enum tear tear)
{
    sim_power_on(at, tear);
    if (setjmp(sim_flash.power) != 0) {
        return true;
    }
    script();
    return false;
}

static void finish_and_judge(bool image)
{
    sim_power_on(0, TEAR_NOTHING);
    start();
    judge(image);
    script();
    if (!runs(&new_package) || fwgen_slots_state()->trial != FWGEN_NO_SLOT ||
        !is_set("gain", "new") || !is_set("serial", "1234")) {
        violation("the update does not succeed after a cut");
    }
}

static void cut_everywhere(uint32_t state, uint32_t stride,
                           uint32_t double_count)
{
    uint8_t *before = malloc(sim_flash.size);
    uint8_t *after_first = malloc(sim_flash.size);
    uint64_t total;

    forget();
    sim_power_on(0, TEAR_NOTHING);
    states[state].make();
    memcpy(before, sim_flash.cells, sim_flash.size);
    (void)snprintf(context, sizeof(context), "no cut");
    sim_power_on(0, TEAR_NOTHING);
    script();
    total = sim_flash.operations;
    if (!runs(&new_package)) {
        violation("the update does not succeed without a cut");
    }
    for (uint64_t at = 1; at <= total; at += stride) {
        for (uint32_t tear = 0; tear < TEAR_COUNT; tear++) {
            (void)snprintf(
                context, sizeof(context), "cut at %llu of %llu, tear %u",
                (unsigned long long)at, (unsigned long long)total, tear);
            forget();
            memcpy(sim_flash.cells, before, sim_flash.size);
            if (!cut_script(at, (enum tear)tear)) {
                violation("power did not fail");
            }
            cuts++;
            memcpy(after_first, sim_flash.cells, sim_flash.size);
            for (uint32_t i = 0; i < double_count; i++) {
                /* the first few operations of the recovery, then anywhere */
                const uint64_t second =
                    i < 4u ? i + 1u : 5u + sim_random() % (total + 1u);
                const bool was_trial = reached.on_trial;
                const bool was_confirmed = reached.confirmed;
                const bool was_set = reached.setting;

                memcpy(sim_flash.cells, after_first, sim_flash.size);
                if (cut_script(second,
                               (enum tear)(sim_random() % TEAR_COUNT))) {
                    doubles++;
                }
                finish_and_judge(states[state].image);
                reached.on_trial = was_trial;
                reached.confirmed = was_confirmed;
                reached.setting = was_set;
            }
            memcpy(sim_flash.cells, after_first, sim_flash.size);
            finish_and_judge(states[state].image);
        }
    }
    free(before);
    free(after_first);
}

/* A bit that cannot be erased: the update may fail, but says so, and what ran
 * before still runs. The settings may refuse a write; what they say is true. */
static void stuck_everywhere(uint32_t state)
{
    uint8_t *before = malloc(sim_flash.size);

    forget();
    sim_power_on(0, TEAR_NOTHING);
    states[state].make();
    memcpy(before, sim_flash.cells, sim_flash.size);
    const uint32_t stores = sim_board.slots[0]->offset;

    for (uint32_t at = 0; at < sim_flash.size; at += at < stores ? 13u : 67u) {
        const uint8_t mask = (uint8_t)(1u << (at % 8u));

        if ((before[at] & mask) == 0u || before[at] != 0xffu) {
            continue; /* a cell in use: that is decay, not a bad block */
        }
        (void)snprintf(context, sizeof(context), "stuck bit at 0x%x", at);
        forget();
        reached.is_expected_to_fail = true;
        memcpy(sim_flash.cells, before, sim_flash.size);
        sim_flash.stuck_at = at;
        sim_flash.stuck_mask = mask;
        script();
        stuck_runs++;
        if (!reached.confirmed) {
            stuck_failures++;
        }
        start();
        {
            const bool is_new = runs(&new_package);
            const bool is_old = states[state].image
                                    ? fwgen_slots_model() == NULL
                                    : runs(&old_package);

            if (!is_new && !is_old) {
                violation("neither the old nor the new model runs");
            }
            if (reached.confirmed && !is_new) {
                violation("a confirmed model does not run");
            }
            if (fwgen_settings() == NULL || !is_set("serial", "1234")) {
                violation("a setting that nobody touched is lost");
            }
            if (!is_set("gain", "new") &&
                (reached.setting || !is_set("gain", "old"))) {
                violation("a setting has neither its old nor its new value");
            }
        }
        sim_flash.stuck_mask = 0;
    }
    free(before);
}

int main(int count, char **arguments)
{
    if (count != 9) {
        (void)fprintf(stderr, "power OLD NEW ERASE PROGRAM SLOT BLOCKS STRIDE "
                              "DOUBLES\n");
        return 2;
    }
    old_package = load(arguments[1]);
    new_package = load(arguments[2]);
    if (!sim_make((uint32_t)strtoul(arguments[3], NULL, 0),
                  (uint32_t)strtoul(arguments[4], NULL, 0),
                  (uint32_t)strtoul(arguments[5], NULL, 0),
                  (uint32_t)strtoul(arguments[6], NULL, 0))) {
        return 2;
    }
    for (uint32_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        state_name = states[i].name;
        cut_everywhere(i, (uint32_t)strtoul(arguments[7], NULL, 0),
                       (uint32_t)strtoul(arguments[8], NULL, 0));
        stuck_everywhere(i);
    }
    printf(
        "cuts %llu, double cuts %llu, stuck bits %llu (updates refused %llu), "
        "scripts %llu\n",
        (unsigned long long)cuts, (unsigned long long)doubles,
        (unsigned long long)stuck_runs, (unsigned long long)stuck_failures,
        (unsigned long long)scripts);
    return 0;
}
