"""What only images for Cortex-A need: memory attributes, options of the port, checks.

The translation tables are filled at boot from a short list of ranges
(rtos/ports/cortex_a/mmu.c); the list is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.board.types import Board, Memory
from fwgen.errors import FitError
from fwgen.plan.layout import Layout
from fwgen.plan.pools import LINE

SECTION = 1 << 20
"""Bytes of one entry of the first-level table."""

_PSCI = {"none": "FWGEN_PSCI_NONE", "hvc": "FWGEN_PSCI_HVC", "smc": "FWGEN_PSCI_SMC"}


@dataclass(frozen=True, slots=True)
class MmuRange:
    """One initialiser of a struct fwgen_mmu_range."""

    first: str
    last: str
    kind: str
    comment: str


@dataclass(frozen=True, slots=True)
class MmuMap:
    """The ranges, and how many tables of pages they take."""

    ranges: tuple[MmuRange, ...]
    tables: int


def is_cortex_a(board: Board) -> bool:
    """Whether the board's firmware is for Cortex-A."""
    return board.cpu.core.startswith("cortex-a")


def mmu_map(board: Board) -> MmuMap:
    """The memory of a board as the MMU is told; empty on Cortex-M.

    Everything else is device memory, but for the first MiB where the board has
    nothing there: null pointers then abort.
    """
    if not is_cortex_a(board):
        return MmuMap((), 0)
    ranges = []
    if min(_known_addresses(board)) >= SECTION:
        ranges.append(_range(0, SECTION, "FWGEN_MMU_NONE", "null pointers"))
    split: set[int] = set()
    for memory in sorted(board.memories, key=lambda memory: memory.base):
        if memory.use == ("nvmem",):
            continue  # flash takes commands: a device
        ranges.append(_range(memory.base, memory.end, _kind(memory), memory.name))
        split |= {end // SECTION for end in (memory.base, memory.end) if end % SECTION}
    return MmuMap(tuple(ranges), max(1, len(split)))


def _known_addresses(board: Board) -> list[int]:
    cpu = board.cpu
    bases: list[int | None] = [memory.base for memory in board.memories]
    for accelerator in board.accelerators:
        bases += [accelerator.base, accelerator.reset_register]
    bases += [uart.base for uart in (board.console, board.link) if uart is not None]
    bases += [cpu.gic_distributor, cpu.gic_cpu_interface, cpu.gic_redistributor]
    return [base for base in bases if base is not None]


def _kind(memory: Memory) -> str:
    kinds = []
    if memory.cached:
        kinds.append("FWGEN_MMU_CACHED")
    if memory.has("code"):
        kinds.append("FWGEN_MMU_CODE")
    return " | ".join(kinds) or "0"


def _range(base: int, end: int, kind: str, comment: str) -> MmuRange:
    return MmuRange(f"0x{base:08x}u", f"0x{end - 1:08x}u", kind, comment)


def port_defines(board: Board) -> list[tuple[str, str, str]]:
    """Name, value and comment of the port's lines in fwgen_config.h."""
    if not is_cortex_a(board):
        return []
    cpu = board.cpu
    defines = [
        ("FWGEN_GIC", "2" if cpu.irq_controller == "gicv2" else "3", "architecture of the GIC"),
        ("FWGEN_GICD_BASE", _address(cpu.gic_distributor), "its distributor"),
    ]
    if cpu.irq_controller == "gicv2":
        defines.append(("FWGEN_GICC_BASE", _address(cpu.gic_cpu_interface), "its CPU interface"))
    else:
        defines.append(("FWGEN_GICR_BASE", _address(cpu.gic_redistributor), "its redistributors"))
    return [
        *defines,
        ("FWGEN_IRQ_COUNT", f"{cpu.external_irqs}u", "SPIs of the board"),
        ("FWGEN_TIMER_HZ", f"{cpu.timer_hz or 0}u", "where CNTFRQ is zero"),
        ("FWGEN_MMU_TABLES", f"{mmu_map(board).tables}u", "sections that are split into pages"),
        ("FWGEN_PSCI", _PSCI[cpu.psci], "how firmware is called"),
    ]


def _address(base: int | None) -> str:
    assert base is not None  # the loader refuses a profile without
    return f"0x{base:08x}u"


def check_cache_lines(board: Board, layouts: Sequence[Layout]) -> None:
    """Refuse layouts whose buffers share a cache line with anything else.

    Invalidating such a buffer would lose its neighbour's last writes.

    Raises:
        FitError: a buffer in cached memory does not start and end on lines.
    """
    cached = {memory.name for memory in board.memories if memory.cached}
    for layout in layouts:
        for placement in layout.placements:
            if placement.region in cached and (placement.address % LINE or placement.size % LINE):
                raise FitError(
                    f"buffer {placement.buffer} shares a cache line with its neighbour",
                    where=f"0x{placement.address:08x}, {placement.size} bytes in cached region "
                    f"{placement.region}",
                    expected=f"whole lines of {LINE} bytes",
                )
