"""Charts and tables as plain data: every coordinate is known before a template sees it.

Coordinates are SVG units, rounded to hundredths, so that the same data gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH = 960
LETTER = 6.6
"""Width of a letter of a label, on the safe side (the style sheet sets 11 px)."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle. `tip` is what it tells, `op` the operation that it belongs to."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    tip: str
    op: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a scatter plot."""

    x: float
    y: float
    kind: str
    tip: str
    op: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str


@dataclass(frozen=True, slots=True)
class Label:
    """Text; `anchor` is that of SVG (start, middle, end)."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    kind: str = "label"


@dataclass(frozen=True, slots=True)
class Chart:
    """One drawing.

    Attributes:
        title: what a screen reader says of it; the table beside it has the data.
        legend: (kind, text) of its colours.
    """

    title: str
    height: float
    boxes: tuple[Box, ...] = ()
    dots: tuple[Dot, ...] = ()
    lines: tuple[Line, ...] = ()
    labels: tuple[Label, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    width: int = WIDTH


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and cells; `numbers` are the columns that are aligned to the right."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page. `missing` says why there is nothing to draw."""

    id: str
    title: str
    lead: str
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    missing: str = ""
    notes: tuple[str, ...] = field(default=())


def at(value: float) -> float:
    """A coordinate."""
    rounded = round(value, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def box(x: float, y: float, width: float, height: float, kind: str, tip: str, op: str = "") -> Box:
    """A rectangle of at least half a unit, so that it can be seen."""
    return Box(at(x), at(y), at(max(width, 0.5)), at(max(height, 0.5)), kind, tip, op)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Line:
    """A line with rounded ends of coordinates."""
    return Line(at(x1), at(y1), at(x2), at(y2), kind)


def label(x: float, y: float, text: str, anchor: str = "start", kind: str = "label") -> Label:
    """Text at a rounded place."""
    return Label(at(x), at(y), text, anchor, kind)


def fitting(text: str, width: float) -> str:
    """The text, or as much of it as fits with an ellipsis; nothing if that says nothing."""
    room = int((width - 6) / LETTER)
    if len(text) <= room:
        return text
    return text[: room - 1] + "…" if room >= 5 else ""


def in_box(b: Box, text: str) -> tuple[Label, ...]:
    """The label of a box, if there is room for one."""
    shown = fitting(text, b.width)
    if not shown or b.height < 12:
        return ()
    return (label(b.x + 4, b.y + b.height / 2 + 4, shown, kind="inside"),)


def bytes_text(count: float) -> str:
    """A number of bytes for a reader."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def hexadecimal(address: int) -> str:
    """An address."""
    return f"0x{address:08x}"


def ticks(end: float, most: int = 8) -> tuple[float, ...]:
    """Round numbers from 0 to `end`, at most so many steps."""
    if end <= 0:
        return (0.0,)
    step = 10 ** math.floor(math.log10(end / most))
    step *= next(f for f in (1, 2, 5, 10) if end / (step * f) <= most)
    return tuple(i * step for i in range(int(end / step + 1e-9) + 1))


def address_ticks(size: int, most: int = 6) -> tuple[int, ...]:
    """Multiples of a power of two from 0 to below `size`, at most so many steps."""
    step = 1
    while size / step > most:
        step *= 2
    return tuple(range(0, size + 1, step))


def number(value: float) -> str:
    """A round number without a tail of zeros, thousands apart."""
    text = f"{value:,.4f}".rstrip("0").rstrip(".")
    return text.replace(",", "\u202f")


def counted(values: Sequence[int | None]) -> tuple[str, ...]:
    """Integers as cells of a table."""
    return tuple("–" if value is None else number(value) for value in values)
