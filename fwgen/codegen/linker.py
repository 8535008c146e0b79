"""What the linker script says: regions between the planned arenas, fixed sections.

The planner has given every buffer an address. What is left of the board's regions is
free for code and variables; each free interval becomes a region of the script, so
that the linker itself reports an overflow by one byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.board.types import Board, Memory
from fwgen.codegen.model import ConstantSection, ModelText
from fwgen.errors import FitError
from fwgen.plan.layout import Layout
from fwgen.program.program import Program

VECTOR_ENTRIES = 16
"""System exceptions of Armv7-M and Armv8-M, before the external interrupts."""


A_VECTOR_ENTRIES = 8
A_VECTOR_ALIGNMENT = 32
"""Exceptions of Cortex-A in 32-bit state, and what VBAR demands of their table."""


@dataclass(frozen=True, slots=True)
class LinkRegion:
    """One entry of MEMORY.

    Attributes:
        name: in the script.
        attributes: "rx", "rw" or "r".
        origin, length: bytes.
        board_region: the region of the profile it is part of.
        comment: what lies in it.
    """

    name: str
    attributes: str
    origin: int
    length: int
    board_region: str
    comment: str


@dataclass(frozen=True, slots=True)
class FixedSection:
    """A section of constants at its planned address."""

    section: str
    symbol: str
    address: str
    region: str
    load_region: str | None


@dataclass(frozen=True, slots=True)
class ArenaSection:
    """A range of tensors that the image only reserves."""

    section: str
    symbol: str
    address: str
    size: int
    region: str


@dataclass(frozen=True, slots=True)
class LinkMap:
    """All that memory.ld needs.

    Region fields name entries of `regions`. Bits of `vector_mask` are zero in the
    address of the vector table. `data_load_region` equals
    `data_region` where the loader writes the variables' region itself.
    """

    regions: tuple[LinkRegion, ...]
    vector_region: str
    vector_address: str
    vector_mask: int
    code_region: str
    data_region: str
    data_load_region: str
    main_stack_bytes: int
    constants: tuple[FixedSection, ...]
    arenas: tuple[ArenaSection, ...]


@dataclass(frozen=True, slots=True)
class _Interval:
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def vector_alignment(entries: int) -> int:
    """Alignment of a vector table: the next power of two of its size, at least 128."""
    alignment = 128
    while alignment < entries * 4:
        alignment *= 2
    return alignment


def link_map(
    board: Board,
    plans: Sequence[tuple[Program, Layout]],
    models: Sequence[ModelText],
    main_stack_bytes: int,
) -> LinkMap:
    """Regions and sections for the models of an image.

    Args:
        board: where.
        plans: program and layout of each model; tensor arenas of models that are never
            in use together may overlap.
        models: the same models as text.
        main_stack_bytes: stack for start-up code and interrupts.

    Raises:
        FitError: nothing is left for vectors, code or variables.
    """
    arenas = _arenas(plans)
    has_one_image = board.cpu.irq_controller != "nvic"
    entries = A_VECTOR_ENTRIES if has_one_image else VECTOR_ENTRIES + board.cpu.external_irqs
    free = {
        memory.name: _free(
            memory, [(base, base + size) for r, base, size, _ in arenas if r == memory.name]
        )
        for memory in board.memories
    }
    regions: dict[str, LinkRegion] = {}

    def add(name: str, attributes: str, span: _Interval, memory: str, comment: str) -> str:
        regions[name] = LinkRegion(name, attributes, span.start, span.size, memory, comment)
        return name

    vectors = _containing(board, free, board.vector_table, entries * 4)
    if has_one_image:
        # From the entry point on, so that a binary of the image starts with it.
        code = _Interval(board.vector_table, vectors[1].end)
        vectors = (vectors[0], code)
        others = [span for span in free[board.code.name] if span.end != code.end]
        free[board.code.name] = [*others, code]
    else:
        code = _largest(free[board.code.name], board.code, "program code")
    code_name = add(_label(board.code, "CODE"), "rx", code, board.code.name, "program code")
    vector_name = code_name
    if vectors[1] != code:
        vector_name = add(
            _label(vectors[0], "VECTORS"), "rx", vectors[1], vectors[0].name, "vector table"
        )
    data_memory = board.data
    beside = [span for span in free[data_memory.name] if span != code or not has_one_image]
    data = _largest(beside or [code], data_memory, "variables")
    if data_memory.name == board.code.name and data == code:
        data_name = code_name
    else:
        data_name = add(
            _label(data_memory, "DATA"), "rw", data, data_memory.name, "variables and stacks"
        )
    loads: dict[str, str] = {}

    def load_name(region: str) -> str:
        """The script's region that takes load images for the board's region."""
        if region == board.code.name:
            return code_name
        if region not in loads:
            memory = board.memory(region)
            span = _largest(free[region], memory, "load images")
            loads[region] = add(_label(memory, "LOAD"), "r", span, region, "load images")
        return loads[region]

    arena_sections = []
    planned: dict[tuple[str, int, int], str] = {}
    for region, base, size, kind in arenas:
        memory = board.memory(region)
        name = _unique(_label(memory, kind.upper()), regions)
        span = _Interval(base, base + size)
        add(name, "r" if kind == "constants" else "rw", span, region, kind)
        planned[region, base, base + size] = name
        if kind == "tensors":
            suffix = name.lower()
            arena_sections.append(
                ArenaSection(f".{suffix}", f"__{suffix}", f"0x{base:08x}", size, name)
            )
    constants = [
        FixedSection(
            section.section,
            section.symbol,
            f"0x{section.address:08x}",
            _home(section, planned),
            load_name(section.load_region) if section.load_region else None,
        )
        for model in models
        for section in model.constants
    ]
    return LinkMap(
        regions=tuple(sorted(regions.values(), key=lambda region: region.origin)),
        vector_region=vector_name,
        vector_address=f"0x{board.vector_table:08x}",
        vector_mask=(A_VECTOR_ALIGNMENT if has_one_image else vector_alignment(entries)) - 1,
        code_region=code_name,
        data_region=data_name,
        data_load_region=load_name(data_memory.load)
        if data_memory.load
        else code_name
        if has_one_image
        else data_name,
        main_stack_bytes=main_stack_bytes,
        constants=tuple(constants),
        arenas=tuple(arena_sections),
    )


def _arenas(plans: Sequence[tuple[Program, Layout]]) -> list[tuple[str, int, int, str]]:
    """(region, base, size, kind) of all arenas; tensor arenas that overlap become one."""
    merged: list[tuple[str, int, int, str]] = []
    found = {(a.region, a.base, a.size, a.kind) for _, layout in plans for a in layout.arenas}
    for region, base, size, kind in sorted(found):
        if merged and kind == "tensors" == merged[-1][3] and region == merged[-1][0]:
            last_base, last_size = merged[-1][1:3]
            if base < last_base + last_size:
                end = max(last_base + last_size, base + size)
                merged[-1] = (region, last_base, end - last_base, kind)
                continue
        if size:
            merged.append((region, base, size, kind))
    return merged


def _free(memory: Memory, taken: Sequence[tuple[int, int]]) -> list[_Interval]:
    """The parts of a region outside all arenas, ascending."""
    spans = []
    position = memory.base
    for start, end in sorted(taken):
        if start > position:
            spans.append(_Interval(position, start))
        position = max(position, end)
    if position < memory.end:
        spans.append(_Interval(position, memory.end))
    return spans


def _largest(spans: Sequence[_Interval], memory: Memory, purpose: str) -> _Interval:
    if not spans:
        raise FitError(
            f"nothing is left of region {memory.name} for {purpose}",
            where=f"0x{memory.base:08x}..0x{memory.end:08x}",
            hints=("Let the planner leave room, or give the board another region.",),
        )
    return max(spans, key=lambda span: (span.size, -span.start))


def _containing(
    board: Board, free: dict[str, list[_Interval]], address: int, size: int
) -> tuple[Memory, _Interval]:
    for memory in board.memories:
        for span in free[memory.name]:
            if span.start <= address and address + size <= span.end:
                return memory, span
    raise FitError(
        "no room for the vector table",
        where=f"0x{address:08x}, {size} bytes",
        expected="free memory of the board at cpu.vector_table",
    )


def _label(memory: Memory, purpose: str) -> str:
    return f"{memory.name}_{purpose}".upper()


def _unique(name: str, taken: dict[str, LinkRegion]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate = f"{name}_{number}"
        number += 1
    return candidate


def _home(section: ConstantSection, planned: dict[tuple[str, int, int], str]) -> str:
    for (region, start, end), name in planned.items():
        inside = start <= section.address and section.address + section.size <= end
        if region == section.region and inside:
            return name
    raise ValueError(f"{section.section} lies outside the arenas of the layout")
