"""The nouns of a board profile: everything fwgen knows about one board.

A profile is one TOML file (docs/boards.md); `fwgen.board.profile` reads and
checks it. These classes hold facts only; each field's description below is the
text of the published JSON Schema and of the reference page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from fwgen.toml.decode import SIZE_PATTERN

Text = Annotated[str, Meta(min_length=1)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")]
Identifier = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Size = Annotated[
    int,
    Meta(ge=1, extra_json_schema={"type": ["integer", "string"], "pattern": SIZE_PATTERN}),
]
Address = Annotated[int, Meta(ge=0, le=2**40 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Word = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
SerialIndex = Annotated[int, Meta(ge=0, le=7)]
Frequency = Annotated[int, Meta(ge=1, le=10_000_000_000)]

Core = Literal[
    "cortex-m3",
    "cortex-m4",
    "cortex-m7",
    "cortex-m33",
    "cortex-m55",
    "cortex-m85",
    "cortex-a7",
    "cortex-a35",
    "cortex-a53",
    "cortex-a55",
    "cortex-a73",
]
Fpu = Literal["none", "fpv4-sp-d16", "fpv5-sp-d16", "fpv5-d16", "neon-vfpv4", "neon-fp-armv8"]
Controller = Literal["nvic", "gicv2", "gicv3"]
UartDriver = Literal["cmsdk_uart", "dw_apb_uart", "pl011", "imx_uart", "meson_uart"]
MemoryUse = Literal["code", "constants", "data", "tensors", "dma", "nvmem"]
Psci = Literal["none", "hvc", "smc"]
Idle = Literal["spin", "wfi", "wfe"]
FlashMethod = Literal[
    "mcc-sd",
    "openocd",
    "uboot-ymodem",
    "uboot-xmodem",
    "uboot-kermit",
    "uboot-tftp",
    "stm32-uart",
    "manual",
]
OverlayKind = Literal[
    "ram",
    "alias",
    "dw_apb_uart",
    "imx_uart",
    "meson_uart",
    "dw_wdt",
    "rk_cru",
    "rk_pmu",
    "registers",
    "clock",
]
Emulation = Literal["machine", "overlays", "stand-in", "none"]
MachinePart = Literal["memory", "interrupt_controller", "console", "link", "unassigned"]
PartitionKind = Literal["raw", "settings", "state", "slot"]


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor and its interrupt controller."""

    core: Annotated[Core, Meta(description="Processor core the firmware is compiled for.")]
    clock_hz: Annotated[
        Frequency, Meta(description="Core clock in Hz; on Cortex-M also the SysTick clock.")
    ]
    irq_controller: Annotated[Controller, Meta(description="Interrupt controller.")]
    external_irqs: Annotated[
        Positive,
        Meta(
            description="Number of interrupt lines: NVIC external lines, or GIC SPIs. "
            "Every `irq` of the profile is below it."
        ),
    ]
    prio_bits: Annotated[int, Meta(ge=2, le=8, description="Implemented interrupt priority bits.")]
    cores: Annotated[int, Meta(ge=1, le=64, description="Processor cores; one runs FreeRTOS.")] = 1
    fpu: Annotated[Fpu, Meta(description="Floating-point unit that the silicon has.")] = "none"
    vector_table: Annotated[
        Address | None,
        Meta(
            description="Address where the vector table (Cortex-M) or the entry point lies; "
            "the start of the first code region when left out."
        ),
    ] = None
    max_syscall_priority: Annotated[
        Count | None,
        Meta(
            description="configMAX_SYSCALL_INTERRUPT_PRIORITY as an unshifted number "
            "(0 is the most urgent). Left out: 5/16 of the priority range."
        ),
    ] = None
    gic_distributor: Annotated[Address | None, Meta(description="GICD base.")] = None
    gic_cpu_interface: Annotated[Address | None, Meta(description="GICC base (GICv2).")] = None
    gic_redistributor: Annotated[Address | None, Meta(description="GICR base (GICv3).")] = None
    timer_hz: Annotated[
        Frequency | None,
        Meta(
            description="Frequency of the Arm generic timer (Cortex-A), used only where firmware "
            "has left CNTFRQ zero."
        ),
    ] = None
    psci: Annotated[
        Psci,
        Meta(
            description="How a Cortex-A calls its firmware to switch off or reset (PSCI): `hvc`, "
            "`smc`, or `none`."
        ),
    ] = "none"

    @property
    def syscall_priority(self) -> int:
        """The most urgent priority from which FreeRTOS may be called, unshifted."""
        if self.max_syscall_priority is not None:
            return self.max_syscall_priority
        return max(1, (1 << self.prio_bits) * 5 // 16)

    @property
    def lowest_priority(self) -> int:
        """The least urgent priority, unshifted; the kernel's own interrupts use it.

        On a GIC the last priority never interrupts: its mask must be larger.
        """
        last = (1 << self.prio_bits) - 1
        return last if self.irq_controller == "nvic" else last - 1


@dataclass(frozen=True, slots=True)
class Memory:
    """A range of memory the firmware may use. The order in the file is the order of preference."""

    name: Annotated[Identifier, Meta(description="Unique name, lower case.")]
    base: Annotated[Address, Meta(description="First byte, a multiple of 64.")]
    size: Annotated[Size, Meta(description='Bytes, or text as "4MiB"; a multiple of 64.')]
    use: Annotated[
        tuple[MemoryUse, ...],
        Meta(
            min_length=1,
            description="What may lie here: `code` (vectors and text), `constants` (weights), "
            "`data` (variables, stacks), `tensors` (activations), `nvmem`; `dma` says "
            "that the accelerators can reach it.",
        ),
    ]
    load: Annotated[
        Identifier | None,
        Meta(
            description="Region that holds the initial contents, copied at boot. Left out: the "
            "loader writes this region itself."
        ),
    ] = None
    cached: Annotated[
        bool, Meta(description="The CPU caches it: buffers are cleaned and invalidated.")
    ] = False
    description: Annotated[str, Meta(description="What it is on the board.")] = ""

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.base + self.size

    def has(self, *uses: MemoryUse) -> bool:
        """Whether all of `uses` are allowed here."""
        return all(use in self.use for use in uses)


@dataclass(frozen=True, slots=True)
class Uart:
    """A serial port."""

    driver: Annotated[UartDriver, Meta(description="Driver in the runtime.")]
    base: Annotated[Address, Meta(description="Register base.")]
    clock_hz: Annotated[Frequency, Meta(description="Clock of the baud rate generator in Hz.")]
    irq: Annotated[
        Count | None, Meta(description="Combined interrupt; or give irq_rx and irq_tx.")
    ] = None
    irq_rx: Annotated[Count | None, Meta(description="Receive interrupt.")] = None
    irq_tx: Annotated[Count | None, Meta(description="Transmit interrupt.")] = None
    baud: Annotated[int, Meta(ge=300, le=12_000_000, description="Bits per second.")] = 115200
    serial: Annotated[
        SerialIndex, Meta(description="Index of the emulator's serial line (-serial).")
    ] = 0

    @property
    def receive_irq(self) -> int:
        """The interrupt that tells of received bytes."""
        irq = self.irq_rx if self.irq_rx is not None else self.irq
        assert irq is not None  # the loader refuses a port without
        return irq


@dataclass(frozen=True, slots=True)
class PowerStep:
    """One step of switching an accelerator on: a write, or a wait for a value."""

    register: Annotated[Address, Meta(description="Address, a multiple of 4.")]
    write: Annotated[Word | None, Meta(description="Value to write.")] = None
    mask: Annotated[
        Word | None, Meta(description="Bits to wait for, instead of `write`; not 0.")
    ] = None
    value: Annotated[Word, Meta(description="What those bits must become.")] = 0
    delay_us: Annotated[
        int, Meta(ge=0, le=100_000, description="Microseconds to wait after it.")
    ] = 0


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator: which hardware, where its registers and interrupt are."""

    name: Annotated[Identifier, Meta(description='Unique name, "dla0".')]
    family: Annotated[Identifier, Meta(description='Accelerator family, "nvdla".')]
    config: Annotated[Identifier, Meta(description='Hardware configuration, "nv_small".')]
    base: Annotated[
        Address | None,
        Meta(description="Base of the register window. Family `cpu` has none."),
    ] = None
    irq: Annotated[
        Count | None,
        Meta(
            description="Interrupt line (NVIC external number, or GIC SPI). Family `cpu` has none."
        ),
    ] = None
    clock_hz: Annotated[
        Frequency | None,
        Meta(
            description="Clock of the accelerator in Hz, for cycle estimates. Family `cpu` runs "
            "at the CPU's."
        ),
    ] = None
    window: Annotated[Size, Meta(description="Size of the register window in bytes.")] = 0x20000
    irq_priority: Annotated[
        Count | None,
        Meta(
            description="Interrupt priority, unshifted, 0 is the most urgent; it must allow "
            "FreeRTOS calls. Left out: in the middle of what does."
        ),
    ] = None
    timeout_ms: Annotated[
        Positive, Meta(description="Longest wait for one operation's interrupt.")
    ] = 1000
    reset_register: Annotated[
        Address | None,
        Meta(description="Register outside the window that resets the engine; left out: none."),
    ] = None
    reset_assert: Annotated[Count, Meta(description="Value that puts it into reset.")] = 1
    reset_release: Annotated[Count, Meta(description="Value that lets it run.")] = 0
    sram: Annotated[
        Identifier | None,
        Meta(description="Memory region behind the second (SRAM) port; left out: none."),
    ] = None
    driver_version: Annotated[
        str | None, Meta(description="Version of the vendor's stack that matches this hardware.")
    ] = None
    power_on: Annotated[
        tuple[PowerStep, ...],
        Meta(
            description="What switches it on at boot, in order: power domain, clocks, resets; "
            "`[[accelerator.power_on]]`."
        ),
    ] = ()

    @property
    def is_hardware(self) -> bool:
        """Whether it has registers and an interrupt; family `cpu` has neither."""
        return self.base is not None


@dataclass(frozen=True, slots=True)
class Partition:
    """A named range of the non-volatile memory."""

    name: Annotated[Identifier, Meta(description="Unique name.")]
    offset: Annotated[Count, Meta(description="Bytes from the region's base.")]
    size: Annotated[Size, Meta(description="Bytes, a multiple of the erase block.")]
    kind: Annotated[
        PartitionKind,
        Meta(
            description="`settings` (values by name), `state` (which slot runs; the runtime's "
            "own), `slot` (a model package; there are two) or `raw` (the application's)."
        ),
    ] = "raw"


@dataclass(frozen=True, slots=True)
class Nvmem:
    """Non-volatile memory for settings and model slots."""

    driver: Annotated[
        Literal["ram", "cfi_nor", "user"], Meta(description="Backend in the runtime.")
    ]
    memory: Annotated[Identifier, Meta(description="Memory region it lies in (use `nvmem`).")]
    erase_size: Annotated[Size, Meta(description="Bytes of one erase block.")]
    program_size: Annotated[
        Size, Meta(description="Bytes of one program unit; at most 512, divides `erase_size`.")
    ] = 1
    run: Annotated[
        Identifier | None,
        Meta(
            description="Memory region that a slot's model is copied to at start; left out: it "
            "is read in its slot, which the accelerators must reach."
        ),
    ] = None
    tensors: Annotated[
        Identifier | None,
        Meta(description="Memory region of the tensors of slots' models; needed for slots."),
    ] = None
    partitions: Annotated[
        tuple[Partition, ...], Meta(description="Ranges with names, `[[nvmem.partition]]`.")
    ] = ()

    def of_kind(self, kind: PartitionKind) -> tuple[Partition, ...]:
        """The partitions of a kind, in the order of the file."""
        return tuple(part for part in self.partitions if part.kind == kind)


@dataclass(frozen=True, slots=True)
class Watchdog:
    """The watchdog, for builds that use it (`--watchdog`)."""

    driver: Annotated[
        Literal["dw_wdt", "cmsdk_wdt"],
        Meta(
            description="`dw_wdt`: Synopsys DesignWare with fixed periods. `cmsdk_wdt`: of Arm's "
            "Cortex-M System Design Kit, on the NMI."
        ),
    ]
    base: Annotated[Address, Meta(description="Register base.")]
    clock_hz: Annotated[Frequency, Meta(description="Clock that it counts, in Hz.")]
    timeout_ms: Annotated[
        Positive,
        Meta(description="The board resets when nobody has fed it for this long, or a bit longer."),
    ] = 2000
    cause_register: Annotated[
        Address | None,
        Meta(description="Word of the SoC that tells the cause of the last reset; left out: none."),
    ] = None
    cause_mask: Annotated[
        Word, Meta(description="Its bits that mean the watchdog; writing ones clears them.")
    ] = 0


@dataclass(frozen=True, slots=True)
class Flash:
    """How an image gets onto the board."""

    method: Annotated[
        FlashMethod,
        Meta(
            description="Transport and loader. `fwgen flash` drives the `uboot-` methods "
            "over a serial console (YMODEM, XMODEM-1K, Kermit) and the `stm32-uart` ROM loader; "
            "for the others it says what a person has to do (docs/flash.md)."
        ),
    ]
    load_address: Annotated[
        Address | None, Meta(description="Where the loader puts the image.")
    ] = None
    start: Annotated[
        Literal["bootm", "go"],
        Meta(
            description="Command of U-Boot that starts the image. `bootm` switches caches and MMU "
            "off before, and checks the image's CRC."
        ),
    ] = "bootm"
    page_size: Annotated[
        Size | None,
        Meta(
            description="`stm32-uart`: bytes of an erasable page, where all have the same size; "
            "left out: only the whole flash can be erased."
        ),
    ] = None
    notes: Annotated[str, Meta(description="What a person has to do.")] = ""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Something that the device module adds to QEMU's machine."""

    name: Annotated[Identifier, Meta(description="Unique name, in messages and traces.")]
    kind: Annotated[
        OverlayKind,
        Meta(
            description="`ram`: memory of its own. `alias`: memory or registers that the machine "
            "has elsewhere. UARTs, watchdog (`dw_wdt`), Rockchip's clock and reset unit "
            "(`rk_cru`) and power management unit (`rk_pmu`). `registers`: words that "
            "keep what is written. `clock`: another frequency for a clock of the machine."
        ),
    ]
    base: Annotated[Address | None, Meta(description="First address; not for `clock`.")] = None
    size: Annotated[Size | None, Meta(description="Bytes; of `ram`, `registers` and `alias`.")] = (
        None
    )
    irq: Annotated[
        Count | None, Meta(description="Interrupt line, as for accelerators; UARTs, `dw_wdt`.")
    ] = None
    clock_hz: Annotated[
        Frequency | None, Meta(description="Frequency in Hz; `dw_wdt`, `dw_apb_uart`, `clock`.")
    ] = None
    serial: Annotated[
        SerialIndex | None, Meta(description="Index of the emulator's serial line; UARTs.")
    ] = None
    of: Annotated[
        str | None,
        Meta(description="Type or path in QEMU's object tree; `alias`, path only: `clock`."),
    ] = None
    mmio: Annotated[
        Count | None, Meta(description="Which memory region of that device; `alias`.")
    ] = None
    offset: Annotated[Address | None, Meta(description="First byte of that region; `alias`.")] = (
        None
    )
    hiword: Annotated[
        bool, Meta(description="Upper half of a write is a mask of the lower; `registers`.")
    ] = False
    status: Annotated[
        Count | None,
        Meta(description="Offset of GLB_RST_ST (`rk_cru`) or of the domains' status (`rk_pmu`)."),
    ] = None
    gate: Annotated[Count | None, Meta(description="Offset of the power gates; `rk_pmu`.")] = None
    request: Annotated[
        Count | None, Meta(description="Offset of the bus idle requests; `rk_pmu`.")
    ] = None
    idle: Annotated[Count | None, Meta(description="Offset of the bus idle status; `rk_pmu`.")] = (
        None
    )
    ack: Annotated[Count | None, Meta(description="Offset of the idle acknowledge; `rk_pmu`.")] = (
        None
    )
    off: Annotated[
        Word | None, Meta(description="Gates that are off after reset, as bits; `rk_pmu`.")
    ] = None
    parked: Annotated[
        Word | None, Meta(description="Buses that are idle after reset, as bits; `rk_pmu`.")
    ] = None


@dataclass(frozen=True, slots=True)
class Qemu:
    """How QEMU plays the board."""

    machine: Annotated[Text, Meta(description="-M, with its options.")]
    cpu: Annotated[str | None, Meta(description="-cpu; left out: the machine's own.")] = None
    memory: Annotated[str | None, Meta(description="-m; left out: the machine's own.")] = None
    args: Annotated[tuple[str, ...], Meta(description="Further arguments, one per string.")] = ()
    icount_shift: Annotated[
        int,
        Meta(ge=0, le=10, description="-icount shift: one instruction takes 2^shift ns."),
    ] = 5
    controller_type: Annotated[
        Text, Meta(description="QOM type of the device that takes the interrupt lines.")
    ] = "armv7m"
    irq_offset: Annotated[
        Count, Meta(description="Added to `irq` to give that device's input line.")
    ] = 0
    add: Annotated[
        tuple[MachinePart, ...],
        Meta(
            description="Parts of this profile that the machine lacks and the device module adds "
            "at the profile's own addresses: `memory` (all regions as RAM), "
            "`interrupt_controller` (the machine's GIC), `console`, `link`; `unassigned`: "
            "whatever else the machine has disappears, and an access there is a guest error."
        ),
    ] = ()
    overlays: Annotated[
        tuple[Overlay, ...],
        Meta(description="Further things on the bus, `[[qemu.overlay]]`."),
    ] = ()
    reboot: Annotated[
        bool,
        Meta(
            description="A reset of the machine starts the firmware again instead of ending the "
            "emulator."
        ),
    ] = False
    differences: Annotated[
        tuple[str, ...],
        Meta(description="Where the emulated machine differs from silicon, one sentence each."),
    ] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """One board.

    `memories` and `accelerators` are written `[[memory]]` and `[[accelerator]]`
    in the file.
    """

    name: Annotated[Name, Meta(description="Name of the board, equal to the file's name.")]
    description: Annotated[Text, Meta(description="One line for lists.")]
    docs: Annotated[tuple[str, ...], Meta(description="Public documents the facts come from.")]
    cpu: Cpu
    memories: tuple[Memory, ...]
    console: Uart
    accelerators: tuple[Accelerator, ...] = ()
    link: Annotated[
        Uart | None, Meta(description="Port of the serial link; left out: shares the console.")
    ] = None
    nvmem: Nvmem | None = None
    watchdog: Watchdog | None = None
    flash: Flash | None = None
    qemu: Annotated[Qemu | None, Meta(description="Left out: the board is not emulated.")] = None
    soc: Annotated[
        str, Meta(description="Vendor and SoC or FPGA board; lists are grouped by it.")
    ] = ""
    idle: Annotated[
        Idle,
        Meta(
            description="What the idle task does: `spin` (nothing), `wfi` or `wfe`. Under "
            "QEMU 7.2 with -icount a Cortex-M in WFI loses every second tick."
        ),
    ] = "spin"
    verified: Annotated[
        bool,
        Meta(
            description="Addresses, interrupts and sizes were checked against a public document "
            "or a running machine."
        ),
    ] = False
    unverified: Annotated[
        tuple[str, ...],
        Meta(
            description="Keys of this profile whose values have no public source or were not "
            'checked, as "accelerator.base" or "cpu.external_irqs".'
        ),
    ] = ()
    notes: Annotated[
        tuple[str, ...], Meta(description="What a user of the board should know.")
    ] = ()

    @property
    def emulation(self) -> Emulation:
        """How near the emulated machine is to the board.

        `machine`: QEMU has the board. `overlays`: a stock machine with the same core gets
        the board's addresses. `stand-in`: so does one whose core is another one, too.
        """
        if self.qemu is None:
            return "none"
        if self.qemu.cpu is not None and self.qemu.cpu.partition(",")[0] != self.cpu.core:
            return "stand-in"
        return "overlays" if self.qemu.add or self.qemu.overlays else "machine"

    def memory(self, name: str) -> Memory:
        """The region called `name`.

        Raises:
            KeyError: there is none.
        """
        for memory in self.memories:
            if memory.name == name:
                return memory
        raise KeyError(name)

    def regions(self, *uses: MemoryUse) -> tuple[Memory, ...]:
        """All regions that allow all of `uses`, in order of preference."""
        return tuple(memory for memory in self.memories if memory.has(*uses))

    @property
    def code(self) -> Memory:
        """The region of the program text (and of the vector table unless placed elsewhere)."""
        return self.regions("code")[0]

    @property
    def data(self) -> Memory:
        """The region of variables and stacks."""
        return self.regions("data")[0]

    @property
    def vector_table(self) -> int:
        """Address of the vector table or entry point."""
        return self.code.base if self.cpu.vector_table is None else self.cpu.vector_table

    def priority(self, accelerator: Accelerator) -> int:
        """Interrupt priority of an accelerator, unshifted, defaults applied."""
        if accelerator.irq_priority is not None:
            return accelerator.irq_priority
        return (self.cpu.syscall_priority + self.cpu.lowest_priority) // 2
