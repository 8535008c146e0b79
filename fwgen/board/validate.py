"""What must hold between the facts of a profile, beyond their types.

Each rule raises a UsageError that points at the file and line of the key that
breaks it. Interrupt rules: Armv7-M/Armv8-M (NVIC) and GIC architecture
manuals, FreeRTOS kernel (interrupts that call it must not be more urgent than
configMAX_SYSCALL_INTERRUPT_PRIORITY).
"""

from __future__ import annotations

from fwgen.accel.registry import configurations, families, has_hardware
from fwgen.board.machine_rules import check_machine
from fwgen.board.nvmem_rules import check_slots
from fwgen.board.rulebase import ADDRESS_SPACE, PAGE, UART_SIZE, Rules
from fwgen.board.types import Accelerator, Board, PowerStep
from fwgen.board.watchdog import check_watchdog
from fwgen.toml.document import Node
from fwgen.toml.lines import Path

LINE = 64  # bytes; the largest cache line and DMA burst of the supported systems

# Architectural limits of interrupt lines: NVIC external lines (Armv7-M 240,
# Armv8-M 480), GIC SPIs (INTID 32..1019).
_MAX_IRQS = {"nvic": 480, "gicv2": 988, "gicv3": 988}
_FPUS = {
    "cortex-m3": ("none",),
    "cortex-m4": ("none", "fpv4-sp-d16"),
    "cortex-m7": ("none", "fpv5-sp-d16", "fpv5-d16"),
    "cortex-m33": ("none", "fpv5-sp-d16"),
    "cortex-m55": ("none", "fpv5-d16"),
    "cortex-m85": ("none", "fpv5-d16"),
    "cortex-a7": ("neon-vfpv4",),
}


def known_configurations() -> dict[str, tuple[str, ...]]:
    """Accelerator families of this installation and their configurations."""
    return {name: configurations(name) for name in families()}


def check(board: Board, root: Node) -> None:
    """Check all rules.

    Raises:
        UsageError: the first rule broken.
    """
    rules = _Rules(board, root)
    rules.cpu()
    rules.memories()
    rules.uarts()
    rules.accelerators()
    rules.interrupts()
    rules.ranges()
    rules.nvmem()
    rules.flash()
    if board.watchdog is not None:
        check_watchdog(rules, board.watchdog)
    check_machine(board, root)


class _Rules(Rules):
    def cpu(self) -> None:
        cpu = self.board.cpu
        is_m = cpu.core.startswith("cortex-m")
        if is_m != (cpu.irq_controller == "nvic"):
            self.fail(
                ("cpu", "irq_controller"),
                f"a {cpu.core} has no {cpu.irq_controller}",
                "'nvic'" if is_m else "'gicv2' or 'gicv3'",
            )
        limit = _MAX_IRQS[cpu.irq_controller]
        if cpu.core in ("cortex-m3", "cortex-m4", "cortex-m7"):
            limit = 240
        if cpu.external_irqs > limit:
            self.fail(
                ("cpu", "external_irqs"),
                f"{cpu.external_irqs} interrupt lines are more than a {cpu.core} can have",
                f"at most {limit}",
            )
        fpus = _FPUS.get(cpu.core, ("neon-fp-armv8",))
        if cpu.fpu not in fpus:
            self.fail(("cpu", "fpu"), f"a {cpu.core} has no {cpu.fpu}", " or ".join(fpus))
        top = cpu.max_syscall_priority
        if top is not None and not 1 <= top <= cpu.lowest_priority:
            self.fail(
                ("cpu", "max_syscall_priority"),
                f"priority {top} does not exist with {cpu.prio_bits} priority bits",
                f"1 to {cpu.lowest_priority}",
            )
        if not is_m:
            needed = ["gic_distributor"]
            needed.append("gic_cpu_interface" if cpu.irq_controller == "gicv2" else "")
            needed.append("gic_redistributor" if cpu.irq_controller == "gicv3" else "")
            for key in filter(None, needed):
                if getattr(cpu, key) is None:
                    self.fail(
                        ("cpu",),
                        f"the key 'cpu.{key}' is missing",
                        f"the base address, as {cpu.irq_controller} has one",
                    )

    def memories(self) -> None:
        board = self.board
        self.unique(("memory",), (memory.name for memory in board.memories))
        for index, memory in enumerate(board.memories):
            path: Path = ("memory", index)
            self.aligned((*path, "base"), memory.base, LINE)
            self.aligned((*path, "size"), memory.size, LINE)
            if memory.end > ADDRESS_SPACE:
                self.fail(
                    (*path, "size"),
                    f"'{memory.name}' ends at {memory.end:#x}, above the 32-bit address space",
                    f"an end of at most {ADDRESS_SPACE:#x}",
                )
            for number, use in enumerate(memory.use):
                if use in memory.use[:number]:
                    self.fail((*path, "use", number), f"the use '{use}' is given twice")
            if memory.load is not None:
                self.load(path, memory.name, memory.load)
        for use, why in (("code", "the program"), ("data", "variables and stacks")):
            if not any(use in memory.use for memory in board.memories):
                self.fail(("memory",), f"no memory for {why}", f'a [[memory]] with use "{use}"')
        if board.accelerators:
            if not board.regions("tensors", "dma"):
                self.fail(
                    ("memory",),
                    "no memory that the accelerators can reach for tensors",
                    'a [[memory]] with use "tensors" and "dma"',
                )
            if not board.regions("constants"):
                self.fail(
                    ("memory",),
                    "no memory for constants",
                    'a [[memory]] with use "constants"',
                )
        vectors = board.vector_table
        if not any(m.base <= vectors < m.end for m in board.regions("code")):
            self.fail(
                ("cpu", "vector_table"),
                f"the vector table at {vectors:#x} lies in no memory for code",
                ", ".join(f"{m.base:#x} to {m.end - 1:#x}" for m in board.regions("code")),
            )
        if board.cpu.irq_controller != "nvic":
            self.pages()
        else:
            # VTOR: aligned to the table's size rounded up to a power of two.
            size = 4 * (16 + board.cpu.external_irqs)
            self.aligned(("cpu", "vector_table"), vectors, max(128, 1 << (size - 1).bit_length()))

    def pages(self) -> None:
        """What the translation tables and VBAR of a Cortex-A can express."""
        self.aligned(("cpu", "vector_table"), self.board.vector_table, LINE)
        for index, memory in enumerate(self.board.memories):
            self.aligned(("memory", index, "base"), memory.base, PAGE)
            self.aligned(("memory", index, "size"), memory.size, PAGE)

    def load(self, path: Path, name: str, load: str) -> None:
        names = [memory.name for memory in self.board.memories]
        if load not in names:
            names.remove(name)
            self.unknown((*path, "load"), "memory", load, names)
        source = self.board.memory(load)
        if load == name or source.load is not None:
            self.fail(
                (*path, "load"),
                f"'{load}' holds no initial contents itself",
                "a region that the loader writes",
            )

    def uarts(self) -> None:
        for key, uart in self.ports():
            self.aligned((key, "base"), uart.base, 4)
            if uart.irq is None and uart.irq_rx is None:
                self.fail((key,), f"[{key}] has no interrupt", "'irq', or 'irq_rx' and 'irq_tx'")
            if uart.irq is not None and (uart.irq_rx is not None or uart.irq_tx is not None):
                self.fail(
                    (key, "irq"),
                    f"[{key}] has a combined interrupt and separate ones",
                    "either 'irq', or 'irq_rx' and 'irq_tx'",
                )
            if uart.clock_hz < 16 * uart.baud:
                self.fail(
                    (key, "baud"),
                    f"{uart.baud} bit/s cannot be made from {uart.clock_hz} Hz",
                    f"at most {uart.clock_hz // 16}",
                )
        link = self.board.link
        if link is not None and link.serial == self.board.console.serial:
            self.fail(
                ("link", "serial"),
                f"link and console are both serial line {link.serial} of the emulator",
                "another index",
            )

    def accelerators(self) -> None:
        board = self.board
        known = known_configurations()
        self.unique(("accelerator",), (item.name for item in board.accelerators))
        for index, item in enumerate(board.accelerators):
            path: Path = ("accelerator", index)
            if item.family not in known:
                self.unknown((*path, "family"), "accelerator family", item.family, known)
            if item.config not in known[item.family]:
                self.unknown(
                    (*path, "config"),
                    f"{item.family} configuration",
                    item.config,
                    known[item.family],
                )
            if not self.hardware(path, item):
                continue
            self.aligned((*path, "base"), item.base or 0, PAGE)
            self.aligned((*path, "window"), item.window, PAGE)
            lowest, top = board.cpu.lowest_priority, board.cpu.syscall_priority
            priority = board.priority(item)
            if priority > lowest:
                self.fail(
                    (*path, "irq_priority"),
                    f"priority {priority} does not exist with {board.cpu.prio_bits} priority bits",
                    f"{top} to {lowest}",
                )
            if priority < top:
                self.fail(
                    (*path, "irq_priority"),
                    f"priority {priority} is too urgent to call FreeRTOS from",
                    f"{top} (max_syscall_priority) to {lowest}",
                )
            if item.reset_register is not None:
                self.aligned((*path, "reset_register"), item.reset_register, 4)
                if item.reset_register == 0:
                    self.fail(
                        (*path, "reset_register"),
                        "address 0 is no reset register",
                        "its address, or no such key",
                    )
            for number, step in enumerate(item.power_on):
                self.power_step((*path, "power_on", number), step)
            if item.sram is not None:
                names = [memory.name for memory in board.memories]
                if item.sram not in names:
                    self.unknown((*path, "sram"), "memory", item.sram, names)
                if not board.memory(item.sram).has("dma"):
                    self.fail(
                        (*path, "sram"),
                        f"the accelerators cannot reach '{item.sram}'",
                        'a memory with use "dma"',
                    )

    def power_step(self, path: Path, step: PowerStep) -> None:
        self.aligned((*path, "register"), step.register, 4)
        if (step.write is None) is (step.mask is None):
            self.fail(path, "a step either writes or waits", "`write`, or `mask` and `value`")
        if step.mask == 0 or (step.mask is not None and step.value & ~step.mask):
            self.fail(
                (*path, "mask"),
                f"bits {step.mask:#x} never become {step.value:#x}",
                "a mask with at least the bits of the value",
            )

    def hardware(self, path: Path, item: Accelerator) -> bool:
        """Check that registers and interrupt are stated where there are any."""
        keys = ("base", "irq", "clock_hz")
        if has_hardware(item.family):
            for key in keys:
                if getattr(item, key) is None:
                    self.fail(
                        path,
                        f"the key '{key}' is missing",
                        f"the {key} of the accelerator, as family '{item.family}' has one",
                    )
            return True
        for key in (*keys, "irq_priority", "reset_register", "sram", "power_on"):
            if getattr(item, key) not in (None, ()):
                self.fail(
                    (*path, key),
                    f"family '{item.family}' has no '{key}': it is no hardware",
                    "no such key",
                )
        return False

    def interrupts(self) -> None:
        board = self.board
        lines: list[tuple[Path, int]] = []
        for key, uart in self.ports():
            for name in ("irq", "irq_rx", "irq_tx"):
                irq = getattr(uart, name)
                # One line for both directions of one port is fine.
                if irq is not None and not (name == "irq_tx" and irq == uart.irq_rx):
                    lines.append(((key, name), irq))
        lines += [
            (("accelerator", i, "irq"), a.irq)
            for i, a in enumerate(board.accelerators)
            if a.irq is not None
        ]
        taken: dict[int, Path] = {}
        for path, irq in lines:
            if irq >= board.cpu.external_irqs:
                self.fail(
                    path,
                    f"interrupt {irq} does not exist on this {board.cpu.irq_controller.upper()}",
                    f"0 to {board.cpu.external_irqs - 1}",
                )
            if irq in taken:
                other = self.root.where(taken[irq]).rpartition(", ")[2]
                self.fail(path, f"interrupt {irq} is taken by {other}", "a line of its own")
            taken[irq] = path

    def ranges(self) -> None:
        """No two things at one address."""
        board = self.board
        spans: list[tuple[int, int, Path, str]] = [
            (memory.base, memory.end, ("memory", i, "base"), f"memory '{memory.name}'")
            for i, memory in enumerate(board.memories)
        ]
        spans += [
            (item.base, item.base + item.window, ("accelerator", i, "base"), f"'{item.name}'")
            for i, item in enumerate(board.accelerators)
            if item.base is not None
        ]
        spans += [
            (register, register + 4, ("accelerator", i, "reset_register"), "the reset register")
            for i, item in enumerate(board.accelerators)
            if (register := item.reset_register) is not None
        ]
        spans += [
            (uart.base, uart.base + UART_SIZE, (key, "base"), f"[{key}]")
            for key, uart in self.ports()
        ]
        for number, (start, end, path, name) in enumerate(spans):
            if end > ADDRESS_SPACE:
                self.fail(path, f"{name} ends at {end:#x}, above the 32-bit address space")
            for other_start, other_end, _, other in spans[:number]:
                if start < other_end and other_start < end:
                    self.fail(
                        path,
                        f"{name} ({start:#x} to {end - 1:#x}) overlaps {other} "
                        f"({other_start:#x} to {other_end - 1:#x})",
                    )

    def nvmem(self) -> None:
        nvmem = self.board.nvmem
        if nvmem is None:
            return
        names = [memory.name for memory in self.board.memories]
        if nvmem.memory not in names:
            self.unknown(("nvmem", "memory"), "memory", nvmem.memory, names)
        memory = self.board.memory(nvmem.memory)
        if not memory.has("nvmem"):
            self.fail(
                ("nvmem", "memory"),
                f"memory '{memory.name}' is not for non-volatile data",
                'a memory with use "nvmem"',
            )
        self.unique(("nvmem", "partition"), (part.name for part in nvmem.partitions))
        for index, part in enumerate(nvmem.partitions):
            path: Path = ("nvmem", "partition", index)
            self.aligned((*path, "offset"), part.offset, nvmem.erase_size)
            self.aligned((*path, "size"), part.size, nvmem.erase_size)
            if part.offset + part.size > memory.size:
                self.fail(
                    (*path, "size"),
                    f"partition '{part.name}' ends {part.offset + part.size - memory.size} bytes "
                    f"behind memory '{memory.name}'",
                )
            for other in nvmem.partitions[:index]:
                if part.offset < other.offset + other.size and other.offset < (
                    part.offset + part.size
                ):
                    self.fail((*path, "offset"), f"partition '{part.name}' overlaps '{other.name}'")
        check_slots(self, self.board, nvmem)

    def flash(self) -> None:
        flash = self.board.flash
        if flash is None:
            return
        if flash.page_size is not None and flash.method != "stm32-uart":
            self.fail(("flash", "page_size"), f"'{flash.method}' erases no pages", "stm32-uart")
        if flash.load_address is None:
            if flash.method.startswith(("uboot-", "stm32-")):
                self.fail(
                    ("flash", "method"),
                    f"'{flash.method}' needs an address to load to",
                    "load_address",
                )
            return
        address = flash.load_address
        if not any(memory.base <= address < memory.end for memory in self.board.memories):
            self.fail(
                ("flash", "load_address"),
                f"{address:#x} lies in no memory of the board",
                ", ".join(f"{m.base:#x} to {m.end - 1:#x}" for m in self.board.memories),
            )
        if self.board.cpu.irq_controller != "nvic" and address != self.board.vector_table:
            self.fail(
                ("flash", "load_address"),
                f"the image starts at {self.board.vector_table:#x} and would be loaded to "
                f"{address:#x}",
                "the address of cpu.vector_table",
            )
