/*
 * peripheral.h - small peripherals of boards: UARTs, watchdog, clock and power
 * controllers, as far as firmware needs them.
 *
 * A peripheral is a state machine behind 32-bit registers. It knows nothing of
 * QEMU: time, interrupt, serial line and machine reset are calls to its host.
 * The device module puts it on the bus (qemu/peripheral_device.c), tests drive
 * it directly. Every sequence of reads and writes is legal for the model; what
 * it does not know is reported through guest_error.
 */
#ifndef FWGEN_BOARD_PERIPHERAL_H
#define FWGEN_BOARD_PERIPHERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why the machine was reset. */
enum reset_cause {
    RESET_POWER_ON,
    RESET_EXTERNAL, /* the debugger, the emulator's user, the core itself */
    RESET_SOFTWARE_FIRST,
    RESET_SOFTWARE_SECOND,
    RESET_WATCHDOG,
};

#define PERIPHERAL_NO_ALARM UINT64_MAX

struct peripheral_host {
    void *opaque;
    /* Level of the interrupt line. Called only when it may have changed. */
    void (*irq)(void *opaque, bool level);
    /* One byte leaves the UART. */
    void (*transmit)(void *opaque, uint8_t byte);
    /* The UART has room again for what waits outside. */
    void (*receive_ready)(void *opaque);
    /* Virtual time in nanoseconds, and a call of alarm() at such a time
     * (PERIPHERAL_NO_ALARM: none). */
    uint64_t (*now)(void *opaque);
    void (*set_alarm)(void *opaque, uint64_t time_ns);
    void (*reset_machine)(void *opaque, enum reset_cause cause);
    /* message is a sentence; it is copied. */
    void (*guest_error)(void *opaque, const char *message);
};

/* A number in the peripheral's state that an option sets before init(). */
struct peripheral_option {
    const char *key;
    size_t offset; /* of a uint64_t in the state */
};

struct peripheral_kind {
    const char *name;
    uint32_t window; /* bytes of registers */
    size_t state_size;
    const struct peripheral_option *options; /* ends with key NULL; or NULL */
    bool has_serial;
    bool needs_irq;
    bool tells_state; /* a read of any register has no effect */
    /* The state is zeroed, with the options set. False with a sentence in
     * error when an option is impossible. */
    bool (*init)(void *state, const struct peripheral_host *host, char *error,
                 size_t size);
    void (*reset)(void *state, enum reset_cause cause);
    /* offset is a multiple of 4 and below the window. */
    uint32_t (*read)(void *state, uint32_t offset);
    void (*write)(void *state, uint32_t offset, uint32_t value);
    void (*alarm)(void *state);                    /* NULL: needs no time */
    unsigned (*receive_room)(const void *state);   /* bytes; serial only */
    void (*receive)(void *state, uint8_t byte);    /* serial only */
    const char *(*register_name)(uint32_t offset); /* NULL: unknown */
};

/* All kinds, NULL-terminated; and one by name, NULL when there is none. */
const struct peripheral_kind *const *peripheral_kinds(void);
const struct peripheral_kind *peripheral_find(const char *name);

/* Reports "VERB NAME (offset 0x..): WHY" as a guest error. */
void peripheral_complain(const struct peripheral_host *host,
                         const struct peripheral_kind *kind, const char *verb,
                         uint32_t offset, const char *why);

extern const struct peripheral_kind imx_uart_kind;
extern const struct peripheral_kind meson_uart_kind;
extern const struct peripheral_kind dw_wdt_kind;
extern const struct peripheral_kind rk_cru_kind;
extern const struct peripheral_kind rk_pmu_kind;
extern const struct peripheral_kind registers_kind;

#endif
