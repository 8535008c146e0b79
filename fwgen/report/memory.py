"""Memory map by region, from memory_map.json: real addresses, to scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fwgen.report.chart import (
    WIDTH,
    Box,
    Chart,
    Label,
    Line,
    Section,
    Table,
    box,
    bytes_text,
    hexadecimal,
    in_box,
    label,
    line,
)

_LEFT, _RIGHT = 12, 12
_SPAN = WIDTH - _LEFT - _RIGHT
_ZOOM_BELOW = 0.4
_FAR = 0.2  # a gap of that part of the used bytes is left out of the enlarged bar
_BREAK = 28
_ADDRESS = 76  # width of an address
_KINDS = (
    (".stack", "stack"),
    (".vectors", "code"),
    (".text", "code"),
    (".rodata", "code"),
    (".ARM", "code"),
    (".constants", "weights"),
    (".arena", "tensors"),
    (".data", "data"),
)
_LEGEND = (
    ("code", "code and read-only data"),
    ("weights", "weights"),
    ("data", "variables"),
    ("stack", "main stack"),
    ("tensors", "tensors"),
    ("free", "free"),
)


Part = tuple[int, int, str, str]
"""First address, end, name and kind of what lies somewhere."""


def memory_section(memory: Mapping[str, Any]) -> Section:
    """Each region as a bar of its real extent; a second bar enlarges what is used of it."""
    charts, rows = [], []
    for region in memory["regions"]:
        parts = _parts(memory, region)
        charts.append(_chart(region, parts))
        rows += [
            (region["name"], hexadecimal(a), hexadecimal(b - 1), bytes_text(b - a), name, kind)
            for a, b, name, kind in parts
        ]
    return Section(
        "memory",
        "Memory map",
        "What lies where on the board. Each bar is a whole region, to scale; where little of it "
        "is used, a second bar enlarges the used part.",
        tuple(charts),
        (Table("Used ranges", ("Region", "First", "Last", "Size", "What", "Kind"), tuple(rows)),),
    )


def _parts(memory: Mapping[str, Any], region: Mapping[str, Any]) -> list[Part]:
    """(first address, end, name, kind) of what lies in a region, ascending."""
    low, high = region["base"], region["base"] + region["size"]
    found = {}
    for section in memory["sections"]:
        name, size = section["name"], section["size"]
        load = section["load_address"]
        places = {section["address"]: name}
        if load is not None and load != section["address"]:
            places[load] = f"{name} (initial contents)"
        for address, text in places.items():
            if size and low <= address < high:
                found[address, address + size] = (text, _kind(name))
    # The linker has a section for most arenas; what it has, stands there by its name.
    for arena in memory["arenas"]:
        a, b = arena["base"], arena["base"] + arena["size"]
        kind = "weights" if arena["kind"] == "constants" else "tensors"
        if arena["region"] != region["name"]:
            continue
        same = [place for place in found if place[0] < b and a < place[1]]
        if not same and a < b:
            found[a, b] = (arena["kind"], kind)
        for place in same:
            found[place] = (found[place][0], kind)
    return [(a, b, *found[a, b]) for a, b in sorted(found)]


def _kind(section: str) -> str:
    return next((kind for prefix, kind in _KINDS if section.startswith(prefix)), "data")


def _chart(region: Mapping[str, Any], parts: Sequence[Part]) -> Chart:
    low, size = region["base"], region["size"]
    covered, reached = 0, 0
    for a, b, _, _ in parts:
        covered += max(0, b - max(a, reached))
        reached = max(reached, b)
    heading = (
        f"{region['name']}  {hexadecimal(low)}, {bytes_text(size)}, "
        f"{bytes_text(covered)} used ({100 * covered / size:.1f} %)"
    )
    boxes: list[Box] = []
    lines: list[Line] = []
    labels: list[Label] = [label(_LEFT, 16, heading, kind="heading")]
    whole = [(low, low + size, float(_LEFT), float(_SPAN))]
    _bar(boxes, labels, 24, whole, parts)
    height = 68
    if parts and covered / size < _ZOOM_BELOW:
        pieces = _enlarged(parts)
        for a, b, x, width in pieces:
            for address, end in ((a, x), (b, x + width)):
                lines.append(line(_LEFT + _SPAN * (address - low) / size, 48, end, 82, "zoom"))
        _bar(boxes, labels, 82, pieces, parts)
        height = 126
    kinds = {kind for _, _, _, kind in parts}
    return Chart(
        f"Memory region {heading}",
        height,
        tuple(boxes),
        lines=tuple(lines),
        labels=tuple(labels),
        legend=tuple(entry for entry in _LEGEND if entry[0] in kinds or entry[0] == "free"),
    )


Piece = tuple[int, int, float, float]
"""First address, end, and where it is drawn: x and width."""


def _enlarged(parts: Sequence[Part]) -> list[Piece]:
    """The used ranges side by side to one scale, with what lies far between left out."""
    used = sum(b - a for a, b, _, _ in parts)
    ranges: list[tuple[int, int]] = []
    for a, b, _, _ in parts:
        if ranges and a - ranges[-1][1] <= used * _FAR:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], b))
        else:
            ranges.append((a, b))
    scale = (_SPAN - _BREAK * (len(ranges) - 1)) / sum(b - a for a, b in ranges)
    pieces, x = [], float(_LEFT)
    for a, b in ranges:
        pieces.append((a, b, x, (b - a) * scale))
        x += (b - a) * scale + _BREAK
    return pieces


def _bar(
    boxes: list[Box],
    labels: list[Label],
    top: float,
    pieces: Sequence[Piece],
    parts: Sequence[Part],
) -> None:
    for low, high, left, width in pieces:
        scale = width / (high - low)
        boxes.append(
            box(left, top, width, 24, "free", f"{hexadecimal(low)} to {hexadecimal(high)}")
        )
        for a, b, name, kind in parts:
            if low <= a < high:
                tip = f"{name}: {hexadecimal(a)} to {hexadecimal(b)}, {bytes_text(b - a)}"
                drawn = box(left + (a - low) * scale, top, (b - a) * scale, 24, kind, tip)
                boxes.append(drawn)
                labels += in_box(drawn, name)
        if width > 2 * _ADDRESS:
            labels.append(label(left, top + 37, hexadecimal(low), kind="axis"))
            labels.append(label(left + width, top + 37, hexadecimal(high), "end", "axis"))
        elif width > _ADDRESS or len(pieces) == 1:
            labels.append(label(left, top + 37, hexadecimal(low), kind="axis"))
