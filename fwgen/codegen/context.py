"""Program, Layout, Board and options to the plain data that templates print.

Every number, name and decision of the generated sources is computed here or in
the modules this one calls; templates only loop and print.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fwgen import __version__
from fwgen.accel.registry import family
from fwgen.board.types import Accelerator, Board, PowerStep, Uart
from fwgen.board.watchdog import watchdog_load
from fwgen.build.application import FOLDER, Application
from fwgen.build.freertos import KERNEL_SOURCES
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.build.toolchain import INTEGER_FLAGS, architecture, core_flags
from fwgen.codegen.cortex_a import MmuMap, check_cache_lines, is_cortex_a, mmu_map, port_defines
from fwgen.codegen.linker import VECTOR_ENTRIES, LinkMap, link_map
from fwgen.codegen.model import ModelText, c_identifier, c_string, describe_model
from fwgen.codegen.nvmem import NvmemText, nvmem_text
from fwgen.codegen.runtime import runtime_files
from fwgen.codegen.words import encode_program, has_cache
from fwgen.errors import UsageError
from fwgen.plan.layout import Layout
from fwgen.plan.slots import slot_kernels
from fwgen.program.commands import Cpu, Kernel
from fwgen.program.program import Program

ACCELERATOR_LIMIT = 4
"""The runtime has this many interrupt handlers for accelerators."""

NO_IRQ = -1
"""Stands for an interrupt line where there is none."""

PRIORITY_LIMIT = 32
"""Largest configMAX_PRIORITIES: the kernel's port selects tasks with one CLZ."""

QUEUE_LIMIT = 64
"""Largest FWGEN_QUEUE_LENGTH."""

SLOT_OPERATIONS = 256
"""Operations that a model of a slot may have at least."""

SMALLEST_STACK_WORDS = 128
LARGEST_STACK_WORDS = 0xFFFF

ARMV8M_CORES = ("cortex-m33", "cortex-m55", "cortex-m85")

_UART_DRIVERS = {
    "cmsdk_uart": ("fwgen_uart_cmsdk", "uart_cmsdk.c"),
    "dw_apb_uart": ("fwgen_uart_dw_apb", "uart_dw_apb.c"),
    "imx_uart": ("fwgen_uart_imx", "uart_imx.c"),
    "meson_uart": ("fwgen_uart_meson", "uart_meson.c"),
    "pl011": ("fwgen_uart_pl011", "uart_pl011.c"),
}
"""Driver of the profile -> symbol and file in the runtime."""

_IDLE = {"spin": "FWGEN_IDLE_SPIN", "wfe": "FWGEN_IDLE_WFE", "wfi": "FWGEN_IDLE_WFI"}


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """One model of an image: what it does, where it lies, and who runs it.

    Attributes:
        accelerator: index into the board's; None: the first of the program's configuration.
    """

    program: Program
    layout: Layout
    accelerator: int | None = None


@dataclass(frozen=True, slots=True)
class AcceleratorText:
    """One initialiser of a struct fwgen_accelerator."""

    name: str
    family: str
    config: str
    base: str
    irq: int
    irq_priority: int
    timeout_ms: int
    identity: str
    reset_address: str
    reset_assert: str
    reset_release: str
    driver: str
    power_steps: tuple[str, ...]
    identities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WatchdogText:
    """The initialiser of struct fwgen_watchdog."""

    driver: str
    base: str
    load: str
    timeout_ms: int
    cause_register: str
    cause_mask: str


@dataclass(frozen=True, slots=True)
class UartText:
    """One struct fwgen_uart: its name and initialiser."""

    name: str
    driver: str
    base: str
    clock_hz: int
    baud: int
    rx_irq: int
    irq_priority: int


@dataclass(frozen=True, slots=True)
class Vector:
    """One external interrupt of the vector table; a free one is the application's."""

    number: int
    handler: str
    is_free: bool


@dataclass(frozen=True, slots=True)
class KernelConfig:
    """Numbers of FreeRTOSConfig.h."""

    cpu_clock_hz: int
    tick_hz: int
    max_priorities: int
    minimal_stack_words: int
    prio_bits: int
    syscall_priority: int
    kernel_interrupt_priority: str
    max_syscall_interrupt_priority: str
    task_priority: int
    stack_words: int
    irq: int
    is_armv8m: bool
    is_cortex_a: bool
    run_time_stats: bool


@dataclass(frozen=True, slots=True)
class Define:
    """One line of fwgen_config.h."""

    name: str
    value: str
    comment: str


@dataclass(frozen=True, slots=True)
class Table:
    """Initialisers of an array that must not be empty in C.

    Attributes:
        count: how many of the rows mean something.
        rows: initialisers; one placeholder when count is 0.
        symbols: what the rows refer to and the template declares.
    """

    count: int
    rows: tuple[str, ...]
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplicationText:
    """The user's sources, with their paths in the project.

    Attributes:
        sources: in link order.
        includes: folders of the include path.
        defines: "NAME" or "NAME=VALUE".
        digest: of everything above and the files' contents.
    """

    sources: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Everything the templates see.

    Attributes:
        build_id: 16 bytes as two rows of C text.
        core_flags: compiler flags that select the core.
        integer_flags: those that sources without floating point are compiled with besides.
        architecture: directory below rtos/startup/ and rtos/ports/.
        kernel_sources: of the FreeRTOS kernel, paths below kernel/.
        port_include: folder of portmacro.h.
        runtime_files: files of the runtime, relative to rtos/.
        kernels: C function of each CPU kernel number, NULL where unused.
        generated_sources, runtime_sources, assembler_sources: paths in the project.
    """

    version: str
    build_id: tuple[str, ...]
    board_name: str
    board_description: str
    is_test: bool
    core: str
    core_flags: tuple[str, ...]
    integer_flags: tuple[str, ...]
    architecture: str
    kernel_sources: tuple[str, ...]
    port_include: str
    generated_sources: tuple[str, ...]
    assembler_sources: tuple[str, ...]
    runtime_sources: tuple[str, ...]
    runtime_files: tuple[str, ...]
    application: ApplicationText
    kernel_config: KernelConfig
    defines: tuple[Define, ...]
    vector_count: int
    vectors: tuple[Vector, ...]
    uarts: tuple[UartText, ...]
    accelerators: tuple[AcceleratorText, ...]
    drivers: tuple[str, ...]
    models: tuple[ModelText, ...]
    with_operation_names: bool
    kernels: Table
    boot_copies: Table
    boot_clears: Table
    canaries: Table
    mmu: MmuMap
    link: LinkMap
    nvmem: NvmemText | None
    watchdog: WatchdogText | None


def project_context(
    plans: Sequence[ModelPlan], board: Board, options: BuildOptions
) -> ProjectContext:
    """Compute the context of one image.

    Raises:
        UsageError: an option is out of its range, or the board asks for what the
            runtime lacks.
        FitError: no room is left for code or variables, or a buffer lies where the
            accelerator cannot reach it.
    """
    _check_options(board, options)
    check_cache_lines(board, [plan.layout for plan in plans])
    folder = architecture(board.cpu.core)
    models = _models(plans, board, options)
    link = link_map(
        board, [(p.program, p.layout) for p in plans], models, options.main_stack(folder)
    )
    nvmem = nvmem_text(board, options)
    watchdog = _watchdog(board, options)
    kernels = _kernels(plans, slot_kernels(board) if nvmem is not None else ())
    accelerators = tuple(
        _accelerator(board, accelerator, index, options)
        for index, accelerator in enumerate(board.accelerators)
    )
    families = sorted({accelerator.family for accelerator in board.accelerators})
    drivers = [_uart_driver(board, uart)[1] for _, uart, _ in _uarts(board)]
    drivers += [source for name in families for source in family(name).driver_sources]
    runtime = runtime_files(
        folder,
        board.cpu.irq_controller,
        frozenset(drivers),
        frozenset(name for name in kernels.rows if name != "NULL"),
        shell=options.with_shell,
        nvmem=None if nvmem is None else frozenset(nvmem.left_out),
        watchdog=None if watchdog is None else f"{watchdog.driver.removeprefix('fwgen_')}.c",
    )
    context = ProjectContext(
        version=__version__,
        build_id=(),
        board_name=board.name,
        board_description=board.description,
        is_test=options.kind is BuildKind.TEST,
        core=board.cpu.core,
        core_flags=core_flags(board.cpu.core),
        integer_flags=INTEGER_FLAGS[folder],
        architecture=folder,
        kernel_sources=KERNEL_SOURCES if is_cortex_a(board) else (*KERNEL_SOURCES, "port/port.c"),
        port_include=f"rtos/ports/{folder}" if is_cortex_a(board) else "kernel/port",
        generated_sources=(
            *(f"src/model_{model.identifier}_program.c" for model in models),
            "src/model_tables.c",
            "src/board.c",
            "src/vectors.c",
            *(("src/nvmem.c",) if nvmem is not None else ()),
        ),
        assembler_sources=tuple(
            f"src/model_{model.identifier}_weights.S" for model in models if model.constants
        ),
        runtime_sources=tuple(f"rtos/{name}" for name in runtime if not name.endswith(".h")),
        runtime_files=runtime,
        application=_application(options.app),
        kernel_config=_kernel_config(board, options),
        defines=_defines(board, plans, options),
        vector_count=VECTOR_ENTRIES + board.cpu.external_irqs,
        vectors=_vectors(board, options),
        uarts=tuple(_uart(board, name, uart) for name, uart, _ in _uarts(board)),
        accelerators=accelerators,
        drivers=tuple(sorted({accelerator.driver for accelerator in accelerators})),
        models=models,
        with_operation_names=options.operation_names,
        kernels=kernels,
        boot_copies=_boot_copies(models),
        boot_clears=_boot_clears(link),
        canaries=_canary_table(plans, options),
        mmu=mmu_map(board),
        link=link,
        nvmem=nvmem,
        watchdog=watchdog,
    )
    return _with_build_id(context)


def _with_build_id(context: ProjectContext) -> ProjectContext:
    """Give the context an identity: it changes with everything that is in the image."""
    digest = hashlib.sha256()
    for model in context.models:
        digest.update(hashlib.sha256(model.weights).digest())
    bare = tuple(replace(model, weights=b"") for model in context.models)
    digest.update(repr(replace(context, models=bare)).encode())
    texts = [f"0x{byte:02x}" for byte in digest.digest()[:16]]
    return replace(context, build_id=(", ".join(texts[:8]), ", ".join(texts[8:])))


def _check_options(board: Board, options: BuildOptions) -> None:
    core_flags(board.cpu.core)
    _range("max_priorities", options.max_priorities, 2, PRIORITY_LIMIT)
    _range("task_priority", options.task_priority, 1, options.max_priorities - 1)
    for name in ("stack_words", "link_stack_words"):
        _range(name, getattr(options, name), SMALLEST_STACK_WORDS, LARGEST_STACK_WORDS)
    main_stack = options.main_stack(architecture(board.cpu.core))
    _range("main_stack_bytes", main_stack, 512, 1 << 20)
    _range("queue_length", options.queue_length, 1, QUEUE_LIMIT)
    _range("tick_hz", options.tick_hz, 1, 100_000)
    if options.timeout_ms is not None:
        _range("timeout_ms", options.timeout_ms, 1, (1 << 20) - 1)
    if main_stack % 8:
        raise UsageError("main_stack_bytes is not a multiple of 8", where="build options")
    if not board.accelerators:
        raise UsageError("the board has no accelerator", where=board.name)
    if len(board.accelerators) > ACCELERATOR_LIMIT:
        raise UsageError(
            f"{len(board.accelerators)} accelerators are more than the runtime serves",
            where=board.name,
            expected=f"at most {ACCELERATOR_LIMIT}",
        )
    if options.irq is not None:
        _range("irq", options.irq, 0, board.cpu.external_irqs - 1)
    if options.idle is not None and options.idle not in _IDLE:
        raise UsageError(
            f"unknown idle mode {options.idle!r}",
            where="build options",
            expected="one of " + ", ".join(_IDLE),
        )
    cpu = board.cpu
    for accelerator in board.accelerators:
        priority = board.priority(accelerator)
        if not cpu.syscall_priority <= priority <= cpu.lowest_priority:
            raise UsageError(
                f"interrupt priority {priority} must not call FreeRTOS",
                where=f"{board.name}, accelerator {accelerator.name}, irq_priority",
                expected=f"{cpu.syscall_priority}..{cpu.lowest_priority}: not more urgent than "
                f"cpu.max_syscall_priority, within {cpu.prio_bits} priority bits",
            )


def _range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UsageError(
            f"{name} = {value} is out of range",
            where="build options",
            expected=f"{low}..{high}",
        )


def _models(
    plans: Sequence[ModelPlan], board: Board, options: BuildOptions
) -> tuple[ModelText, ...]:
    models: list[ModelText] = []
    for plan in plans:
        encoded = encode_program(
            plan.program, plan.layout, board, optimised=options.optimise_program
        )
        name = plan.program.model_name
        models.append(
            describe_model(
                encoded.program,
                plan.layout,
                encoded.lines,
                encoded.pipelined,
                identifier=c_identifier(name, [m.identifier for m in models]),
                accelerator=_accelerator_index(plan, board),
            )
        )
    return tuple(models)


def _accelerator_index(plan: ModelPlan, board: Board) -> int:
    program = plan.program
    if plan.accelerator is not None:
        return plan.accelerator
    for index, accelerator in enumerate(board.accelerators):
        if (accelerator.family, accelerator.config) == (program.family, program.config):
            return index
    has = ", ".join(f"{a.family} {a.config}" for a in board.accelerators)
    raise UsageError(
        f"{program.model_name} is made for {program.family} {program.config}",
        where=board.name,
        expected=f"an accelerator of the board: {has}",
    )


def _accelerator(
    board: Board, accelerator: Accelerator, index: int, options: BuildOptions
) -> AcceleratorText:
    facts = family(accelerator.family).configuration_facts(accelerator.config)
    identity = facts.get("identity", 0)
    return AcceleratorText(
        name=c_string(accelerator.name),
        family=c_string(accelerator.family),
        config=c_string(accelerator.config),
        base=f"0x{accelerator.base or 0:08x}u",
        irq=_irq(accelerator, index, options),
        irq_priority=board.priority(accelerator),
        timeout_ms=options.timeout_ms or accelerator.timeout_ms,
        identity=f"0x{identity if isinstance(identity, int) else 0:08x}u",
        reset_address=f"0x{accelerator.reset_register or 0:08x}u",
        reset_assert=f"0x{accelerator.reset_assert:x}u",
        reset_release=f"0x{accelerator.reset_release:x}u",
        driver=f"fwgen_{accelerator.family}_driver",
        power_steps=tuple(_power_step(step) for step in accelerator.power_on),
        identities=tuple(
            f"{{0x{offset:03x}u, 0x{value:08x}u}}"
            for offset, value in family(accelerator.family).identity_registers(accelerator.config)
        ),
    )


def _power_step(step: PowerStep) -> str:
    """One initialiser of a struct fwgen_power_step."""
    mask, value = (0, step.write) if step.write is not None else (step.mask, step.value)
    return f"{{0x{step.register:08x}u, 0x{mask or 0:08x}u, 0x{value or 0:08x}u, {step.delay_us}u}}"


def _watchdog(board: Board, options: BuildOptions) -> WatchdogText | None:
    if not options.watchdog:
        return None
    facts = board.watchdog
    if facts is None:
        raise UsageError(
            "the profile names no watchdog",
            where=board.name,
            expected="a board with [watchdog], or a build without --watchdog",
        )
    load = watchdog_load(facts)
    assert load is not None  # the loader refuses such a profile
    return WatchdogText(
        driver=f"fwgen_watchdog_{facts.driver.removesuffix('_wdt')}",
        base=f"0x{facts.base:08x}u",
        load=f"0x{load:x}u",
        timeout_ms=facts.timeout_ms,
        cause_register=f"0x{facts.cause_register or 0:08x}u",
        cause_mask=f"0x{facts.cause_mask:08x}u",
    )


def _irq(accelerator: Accelerator, index: int, options: BuildOptions) -> int:
    """Interrupt line of an accelerator, NO_IRQ where it is the CPU."""
    if accelerator.irq is None:
        return NO_IRQ
    return options.irq if index == 0 and options.irq is not None else accelerator.irq


def _uarts(board: Board) -> list[tuple[str, Uart, str]]:
    """Object, port and interrupt handler of each serial port that the runtime uses."""
    console = ("fwgen_console_uart", board.console, "fwgen_console_rx_IRQHandler")
    if board.link is None:
        return [(*console[:2], "fwgen_uart_rx_IRQHandler")]
    return [console, ("fwgen_link_uart", board.link, "fwgen_uart_rx_IRQHandler")]


def _uart_driver(board: Board, uart: Uart) -> tuple[str, str]:
    driver = _UART_DRIVERS.get(uart.driver)
    if driver is None:
        raise UsageError(
            f"the runtime has no driver for the UART {uart.driver} yet",
            where=board.name,
            expected="one of " + ", ".join(_UART_DRIVERS),
        )
    return driver


def _uart(board: Board, name: str, uart: Uart) -> UartText:
    return UartText(
        name=name,
        driver=_uart_driver(board, uart)[0],
        base=f"0x{uart.base:08x}u",
        clock_hz=uart.clock_hz,
        baud=uart.baud,
        rx_irq=uart.receive_irq,
        # The most urgent that may call the kernel, so that no received byte is lost.
        irq_priority=board.cpu.syscall_priority,
    )


def _vectors(board: Board, options: BuildOptions) -> tuple[Vector, ...]:
    handlers: dict[int, str] = {}
    for name, uart, handler in _uarts(board):
        if handlers.setdefault(uart.receive_irq, handler) != handler:
            raise UsageError(
                f"interrupt {uart.receive_irq} of {name} is taken",
                where=board.name,
                expected="a free line",
            )
    for index, accelerator in enumerate(board.accelerators):
        irq = _irq(accelerator, index, options)
        if irq == NO_IRQ:
            continue
        if irq in handlers:
            raise UsageError(
                f"interrupt {irq} of {accelerator.name} is taken",
                where=board.name,
                expected="a free line",
            )
        handlers[irq] = f"fwgen_accel{index}_IRQHandler"
    return tuple(
        Vector(
            number,
            handlers.get(number, f"fwgen_irq{number}_IRQHandler"),
            number not in handlers,
        )
        for number in range(board.cpu.external_irqs)
    )


def _kernel_config(board: Board, options: BuildOptions) -> KernelConfig:
    cpu = board.cpu
    shift = 8 - cpu.prio_bits
    return KernelConfig(
        cpu_clock_hz=cpu.clock_hz,
        tick_hz=options.tick_hz,
        max_priorities=options.max_priorities,
        minimal_stack_words=SMALLEST_STACK_WORDS,
        prio_bits=cpu.prio_bits,
        syscall_priority=cpu.syscall_priority,
        kernel_interrupt_priority=f"0x{cpu.lowest_priority << shift:02x}",
        max_syscall_interrupt_priority=f"0x{cpu.syscall_priority << shift:02x}",
        task_priority=options.task_priority,
        stack_words=options.stack_words,
        irq=_irq(board.accelerators[0], 0, options),
        is_armv8m=cpu.core in ARMV8M_CORES,
        is_cortex_a=is_cortex_a(board),
        run_time_stats=options.with_shell,
    )


def _defines(board: Board, plans: Sequence[ModelPlan], options: BuildOptions) -> tuple[Define, ...]:
    test = options.kind is BuildKind.TEST
    operations = max([1, *(len(p.program.operations) for p in plans)])
    if options.nvmem:
        operations = max(operations, SLOT_OPERATIONS)
    only_cpu = not any(accelerator.is_hardware for accelerator in board.accelerators)
    # The engine's task sleeps while an accelerator works, but not while the CPU does: then
    # the link must be able to interrupt it.
    link_priority = options.task_priority + 1 if only_cpu else options.task_priority - 1
    link_priority = max(1, min(link_priority, options.max_priorities - 2))
    return (
        Define("FWGEN_ACCEL_COUNT", str(len(board.accelerators)), "accelerators of the board"),
        Define("FWGEN_MAX_OPERATIONS", str(operations), "of the largest model"),
        Define("FWGEN_QUEUE_LENGTH", str(options.queue_length), "jobs that wait per accelerator"),
        Define("FWGEN_PROFILE", _flag(options.profile), "time of each operation"),
        Define("FWGEN_PIPELINE", str(_depth(plans)), "operations programmed ahead"),
        Define("FWGEN_FAULT_BITS", f"0x{_fault_bits(board):08x}u", "errors of the accelerators"),
        Define(
            "FWGEN_POWER_STEPS",
            _flag(any(a.power_on for a in board.accelerators)),
            "accelerators are switched on first",
        ),
        Define("FWGEN_CANARIES", _flag(options.with_canaries), "guard words between buffers"),
        Define("FWGEN_SEMIHOSTING", _flag(test), "faults and EXIT end the emulator"),
        Define("FWGEN_TEST_BUILD", _flag(test), "misuse of the interface asserts"),
        Define("FWGEN_LINK_UART", _flag(board.link is not None), "the link has its own port"),
        Define("FWGEN_LINK", _flag(options.link), "the serial link's task"),
        Define("FWGEN_UART_RX_BUFFER", _receive_buffer(options), "bytes a port"),
        Define("FWGEN_SHELL", _flag(options.with_shell), "text commands on the console"),
        Define(
            "FWGEN_LINK_TASK_PRIORITY",
            str(link_priority),
            "above the task that computes" if only_cpu else "below the accelerator task",
        ),
        Define("FWGEN_LINK_STACK_SIZE", str(options.link_stack_words), "in words"),
        Define("FWGEN_IDLE", _IDLE[options.idle or board.idle], "what the idle task does"),
        Define("FWGEN_DCACHE", _flag(has_cache(board)), "the CPU's data cache is switched on"),
        Define("FWGEN_CPU_FAMILY", _flag(_has_cpu(board)), "an accelerator is the CPU itself"),
        Define(
            "FWGEN_VIP_FAMILY",
            _flag(any(a.family == "vip" for a in board.accelerators)),
            "an accelerator is a VeriSilicon VIP",
        ),
        Define("FWGEN_NVMEM", _flag(options.nvmem), "settings and model slots"),
        Define(
            "FWGEN_FAULT_RESET",
            _flag(options.nvmem or options.watchdog),
            "a fault resets",
        ),
        Define("FWGEN_WATCHDOG", _flag(options.watchdog), "a supervisor feeds the watchdog"),
        Define("FWGEN_SIGNED_UPDATE", _flag(options.update_key is not None), "packages have keys"),
        Define("FWGEN_ANTI_ROLLBACK", _flag(options.anti_rollback), "no older packages"),
        *(Define(*define) for define in port_defines(board)),
    )


def _receive_buffer(options: BuildOptions) -> str:
    """Bytes: a frame, or several while the flash keeps the reader waiting."""
    if not options.link:
        return "128"
    return "4096" if options.nvmem else "2048"


def _has_cpu(board: Board) -> bool:
    return not all(accelerator.is_hardware for accelerator in board.accelerators)


def _application(app: Application | None) -> ApplicationText:
    if app is None:
        return ApplicationText()
    return ApplicationText(
        tuple(f"{FOLDER}/{name}" for name in app.sources),
        tuple(FOLDER if name == "." else f"{FOLDER}/{name}" for name in app.includes),
        app.defines,
        app.digest(),
    )


def _depth(plans: Sequence[ModelPlan]) -> int:
    return max((p.program.pipeline_depth for p in plans), default=1)


def _fault_bits(board: Board) -> int:
    bits = 0
    for accelerator in board.accelerators:
        bits |= family(accelerator.family).fault_bits
    return bits


def _flag(value: bool) -> str:
    return "1" if value else "0"


def _kernels(plans: Sequence[ModelPlan], more: Sequence[Kernel]) -> Table:
    used = {int(kernel): f"fwgen_kernel_{kernel.name.lower()}" for kernel in more}
    used |= {
        int(command.kernel): f"fwgen_kernel_{command.kernel.name.lower()}"
        for plan in plans
        for command in plan.program.commands
        if isinstance(command, Cpu)
    }
    count = max(used) + 1 if used else 0
    rows = tuple(used.get(number, "NULL") for number in range(count))
    return Table(count, rows or ("NULL",))


def _boot_copies(models: Sequence[ModelText]) -> Table:
    sections = [s for model in models for s in model.constants if s.load_region]
    rows = tuple(f"{{{s.symbol}_start, {s.symbol}_load, {s.size}}}" for s in sections)
    return Table(len(rows), rows or ("{NULL, NULL, 0}",), tuple(s.symbol for s in sections))


def _boot_clears(link: LinkMap) -> Table:
    rows = tuple(f"{{{arena.symbol}_start, {arena.size}}}" for arena in link.arenas)
    symbols = tuple(arena.symbol for arena in link.arenas)
    return Table(len(rows), rows or ("{NULL, 0}",), symbols)


def _canary_table(plans: Sequence[ModelPlan], options: BuildOptions) -> Table:
    addresses = sorted({a for plan in plans for a in plan.layout.guards})
    addresses = addresses if options.with_canaries else []
    rows = tuple(f"(uint32_t *)0x{address:08x}u" for address in addresses)
    return Table(len(rows), rows or ("NULL",))
