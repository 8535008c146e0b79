"""Where the bytes of an image went: by component and by memory region.

Two sources: the linker's map says which object file each piece came from, the
script's regions say where it lies. Component names follow the folders of a generated
project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fwgen.build.elf import Section
from fwgen.plan.pools import LINE

COMPONENTS = (
    "kernel",
    "kernel port",
    "startup",
    "fault report",
    "driver + executor",
    "kernels",
    "link + shell",
    "settings + slots",
    "watchdog",
    "application",
    "program",
    "weights",
    "C library",
    "tensors",
    "task stacks",
    "main stack",
    "padding",
)
"""Order of the table."""

_FOLDERS = (
    ("obj/kernel/", "kernel"),
    ("obj/rtos/ports/", "kernel port"),
    ("obj/rtos/startup/", "startup"),
    ("obj/rtos/fault/", "fault report"),
    ("obj/src/vectors.", "startup"),
    ("obj/src/board.", "startup"),
    ("obj/rtos/drivers/uart", "link + shell"),
    ("obj/rtos/link/", "link + shell"),
    ("obj/rtos/shell/", "link + shell"),
    ("obj/rtos/kernels/", "kernels"),
    ("obj/rtos/exec/", "driver + executor"),
    ("obj/rtos/nvmem/", "settings + slots"),
    ("obj/rtos/watchdog/", "watchdog"),
    ("obj/rtos/drivers/", "driver + executor"),
    ("obj/rtos/", "application"),
    ("obj/src/", "program"),
    ("obj/", "application"),
)

_OUTPUT = re.compile(r"^(?P<name>[.\w][^\s(]*)(?:\s+0x[0-9a-f]+\s+0x[0-9a-f]+.*)?$")
_INPUT = re.compile(
    r"^ (?P<name>\.[^\s]+|COMMON|\*fill\*)\s+0x(?P<address>[0-9a-f]+)\s+0x(?P<size>[0-9a-f]+)"
    r"(?:[ \t]+(?P<file>\S.*))?$"
)
_MAP_START = "Linker script and memory map"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an output section that came from one file."""

    address: int
    size: int
    file: str
    name: str


@dataclass(frozen=True, slots=True)
class ComponentSize:
    """Bytes of one component: code and constants, initialised and zeroed variables."""

    name: str
    text: int
    data: int
    bss: int

    @property
    def total(self) -> int:
        """All bytes."""
        return self.text + self.data + self.bss


@dataclass(frozen=True, slots=True)
class RegionSize:
    """What is used of one memory region of the board: sections and the gaps that align them."""

    name: str
    base: int
    size: int
    used: int

    @property
    def percent(self) -> float:
        """Used part in percent, one decimal."""
        return round(100.0 * self.used / self.size, 1)


@dataclass(frozen=True, slots=True)
class SizeReport:
    """Sizes of an image."""

    components: tuple[ComponentSize, ...]
    regions: tuple[RegionSize, ...]

    @property
    def text(self) -> int:
        """Bytes of code and constants."""
        return sum(component.text for component in self.components)

    @property
    def data(self) -> int:
        """Bytes of initialised variables."""
        return sum(component.data for component in self.components)

    @property
    def bss(self) -> int:
        """Bytes of memory without initial contents."""
        return sum(component.bss for component in self.components)

    def to_json(self) -> dict[str, object]:
        """The report as JSON-ready data."""
        return {
            "text": self.text,
            "data": self.data,
            "bss": self.bss,
            "components": [
                {"name": c.name, "text": c.text, "data": c.data, "bss": c.bss, "total": c.total}
                for c in self.components
            ],
            "regions": [
                {
                    "name": r.name,
                    "base": r.base,
                    "size": r.size,
                    "used": r.used,
                    "percent": r.percent,
                }
                for r in self.regions
            ],
        }


def read_pieces(map_text: str) -> dict[str, list[Piece]]:
    """Output section -> its parts, from the linker's map."""
    _, found, text = map_text.partition(_MAP_START)
    if not found:
        return {}
    # Long section names stand on a line of their own; join the two.
    text = re.sub(r"^( ?\.[^\s]+)\n\s+0x", r"\1 0x", text, flags=re.MULTILINE)
    pieces: dict[str, list[Piece]] = {}
    section = ""
    for line in text.splitlines():
        part = _INPUT.match(line)
        if part and int(part["size"], 16):
            piece = Piece(
                int(part["address"], 16), int(part["size"], 16), part["file"] or "", part["name"]
            )
            pieces.setdefault(section, []).append(piece)
        elif not part:
            output = _OUTPUT.match(line)
            section = output["name"] if output else section
    return pieces


def function_owners(pieces: Mapping[str, Sequence[Piece]]) -> dict[str, str]:
    """Function -> object file, for files compiled with one section per function."""
    prefix = ".text."
    return {
        piece.name.removeprefix(prefix): piece.file
        for parts in pieces.values()
        for piece in parts
        if piece.name.startswith(prefix)
    }


def component_of(piece: Piece, section: Section) -> str:
    """The component that a piece of an output section belongs to."""
    if section.name == ".stack":
        return "main stack"
    if section.name.startswith(".constants."):
        return "weights"
    if piece.name == "*fill*":
        return "padding"
    if section.name == ".bss" and "stack" in piece.name:
        return "task stacks"
    for folder, component in _FOLDERS:
        if piece.file.startswith(folder):
            return component
    return "C library"


def _without_overlap(pieces: Sequence[Piece]) -> list[Piece]:
    """The same pieces, each ending where the next begins.

    The map gives texts the size that they had before the linker merged equal ones.
    """
    ordered = sorted(pieces, key=lambda piece: piece.address)
    ends = [piece.address for piece in ordered[1:]]
    clipped = [
        replace(piece, size=min(piece.size, end - piece.address))
        for piece, end in zip(ordered, ends, strict=False)
    ]
    return clipped + ordered[-1:]


def size_report(
    sections: Sequence[Section],
    pieces: Mapping[str, Sequence[Piece]],
    regions: Sequence[tuple[str, int, int]],
) -> SizeReport:
    """Add up an image.

    Args:
        sections: allocated sections of the ELF file.
        pieces: of each section, from the linker's map.
        regions: name, base and size of the board's memories.
    """
    sums = {name: [0, 0, 0] for name in COMPONENTS}
    for section in sections:
        kind = 2 if not section.has_contents else 1 if section.is_writable else 0
        inside = _without_overlap(pieces.get(section.name, ()))
        left = section.size
        for piece in inside:
            sums[component_of(piece, section)][kind] += piece.size
            left -= piece.size
        # Space that the script itself reserves or aligns.
        if section.name == ".stack":
            sums["main stack"][kind] += left
        elif not section.has_contents and not inside:
            sums["tensors"][kind] += left
        else:
            sums["padding"][kind] += left
    components = tuple(ComponentSize(name, *sums[name]) for name in COMPONENTS)
    return SizeReport(
        tuple(component for component in components if component.total),
        tuple(_region(sections, name, base, size) for name, base, size in regions),
    )


def _region(sections: Sequence[Section], name: str, base: int, size: int) -> RegionSize:
    places = sorted(
        (place, section.size, section.alignment)
        for section in sections
        for place in {section.address, section.load_address if section.has_contents else -1}
        if base <= place < base + size
    )
    used = 0
    end = base
    for start, length, alignment in places:
        # A gap that only aligns what follows is of no use to anybody else.
        gap = start - end
        used += length + (gap if 0 < gap < max(alignment, LINE) else 0)
        end = start + length
    return RegionSize(name, base, size, used)
