"""Sizes of an image from size.json: components, stacks, what placement costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fwgen.report.chart import (
    WIDTH,
    Box,
    Chart,
    Label,
    Section,
    Table,
    box,
    bytes_text,
    label,
    number,
)

_LEFT, _RIGHT, _ROW = 150, 90, 24
_PARTS = (("text", "code"), ("data", "data"), ("bss", "bss"))


def size_section(size: Mapping[str, Any]) -> Section:
    """Text, initialised and zeroed variables of each component."""
    components = size["components"]
    small = [c for c in components if c["name"] not in ("weights", "tensors")]
    charts = [_components("Components without weights and tensors", small)]
    if len(small) != len(components):
        charts.append(_components("All components", components))
    rows = tuple(
        (c["name"], *(number(c[k]) for k in ("text", "data", "bss", "total"))) for c in components
    )
    return Section(
        "size",
        "Size by component",
        "Where the bytes of the image went, by the linker's map.",
        tuple(charts),
        (Table("Components", ("Component", "Text", "Data", "BSS", "Total"), rows, (1, 2, 3, 4)),),
    )


def _components(title: str, components: list[Mapping[str, Any]]) -> Chart:
    most = max([c["total"] for c in components], default=1) or 1
    scale = (WIDTH - _LEFT - _RIGHT) / most
    boxes: list[Box] = []
    labels: list[Label] = [label(12, 16, title, kind="heading")]
    for row, c in enumerate(components):
        y = 28 + row * _ROW
        labels.append(label(_LEFT - 8, y + 13, c["name"], "end", "lane"))
        x = float(_LEFT)
        for part, kind in _PARTS:
            if c[part]:
                tip = f"{c['name']}: {number(c[part])} bytes of {part}"
                boxes.append(box(x, y, c[part] * scale, 17, kind, tip))
                x += c[part] * scale
        labels.append(label(x + 6, y + 13, bytes_text(c["total"]), kind="axis"))
    legend = tuple((kind, part) for part, kind in _PARTS)
    return Chart(
        title, 34 + _ROW * len(components), tuple(boxes), labels=tuple(labels), legend=legend
    )


def stack_section(size: Mapping[str, Any], reserved: Mapping[str, int]) -> Section:
    """Bounds of stack use beside what is reserved.

    Args:
        reserved: bytes of the stacks whose size is known, by entry point.
    """
    stack = size.get("stack", {})
    bounds = [(t["entry"], t["bytes"], " → ".join(t["path"])) for t in stack.get("tasks", [])]
    if "main" in stack:
        bounds.append(("start-up, interrupts", stack["main"], "all handlers nested"))
    most = max([1, *(count for _, count, _ in bounds), *(reserved.get(n, 0) for n, _, _ in bounds)])
    scale = (WIDTH - _LEFT - _RIGHT) / most
    boxes: list[Box] = []
    labels: list[Label] = []
    for row, (name, count, path) in enumerate(bounds):
        y = 8 + row * _ROW
        labels.append(label(_LEFT - 8, y + 13, name, "end", "lane"))
        room = reserved.get(name)
        if room:
            tip = f"{name}: {number(room)} bytes reserved"
            boxes.append(box(_LEFT, y, room * scale, 17, "free", tip))
        tip = f"{name}: at most {number(count)} bytes; {path}"
        boxes.append(box(_LEFT, y, count * scale, 17, "stack", tip))
        text = f"{number(count)} B" + (f" of {number(room)}" if room else "")
        labels.append(label(_LEFT + max(count, room or 0) * scale + 6, y + 13, text, kind="axis"))
    chart = Chart(
        "Stack bounds",
        14 + _ROW * len(bounds),
        tuple(boxes),
        labels=tuple(labels),
        legend=(("stack", "at most used"), ("free", "reserved")),
    )
    table = Table(
        "Deepest calls",
        ("Entry", "At most", "Deepest chain of calls"),
        tuple((name, number(count), path) for name, count, path in bounds),
        (1,),
    )
    return Section(
        "stack",
        "Stack bounds",
        "Worst-case stack use, read from the machine code: the deepest chain of calls.",
        (chart,) if bounds else (),
        (table,),
        missing="" if bounds else "The build has no stack report.",
    )


def placement_section(size: Mapping[str, Any]) -> Section:
    """Bytes of each model by region, and what its placement costs besides."""
    models = size.get("placement", [])
    rows = tuple(
        (m["model"], b["region"], number(b["constants"]), number(b["tensors"]))
        for m in models
        for b in m["buffers"]
    )
    notes = []
    for m in models:
        copied, twins = m["copied_at_boot"], m["second_banks"]
        notes.append(
            f"{m['model']}: {number(copied)} bytes of constants are copied at boot and take memory "
            f"twice; second banks of a pipelined run take {number(twins)} bytes."
        )
    return Section(
        "placement",
        "Placement",
        "Which memory the models' bytes went to, and what that costs besides.",
        tables=(
            Table(
                "Bytes by region", ("Model", "Region", "Constants", "Tensors"), rows, (2, 3), True
            ),
        ),
        notes=tuple(notes),
    )
