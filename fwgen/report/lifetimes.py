"""Buffer lifetimes: the planner's packing as address over step, from memory_map.json."""

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
    address_ticks,
    at,
    box,
    bytes_text,
    hexadecimal,
    in_box,
    label,
    line,
    number,
)

_LEFT, _RIGHT, _TOP, _HEIGHT = 96, 16, 34, 260


def lifetimes_section(memory: Mapping[str, Any], steps: Mapping[str, int]) -> Section:
    """One drawing an arena of tensors and model.

    Args:
        steps: number of steps of each model's program.
    """
    charts, rows, notes = [], [], []
    for arena in _arenas(memory):
        inside = [b for b in memory["buffers"] if _inside(b, arena)]
        for model in dict.fromkeys(b["model"] for b in inside):
            mine = [b for b in inside if b["model"] == model]
            charts.append(_chart(arena, model, mine, steps.get(model, 0)))
        gap = arena["size"] - arena["lower_bound"]
        bound = arena["lower_bound"]
        verdict = (
            "no plan can be smaller"
            if gap == 0
            else f"{bytes_text(gap)} ({100 * gap / bound:.1f} %) above the bound"
            if bound
            else "empty"
        )
        notes.append(
            f"{arena['region']}: {number(arena['size'])} bytes, lower bound "
            f"{number(bound)}: {verdict}."
        )
        rows += [
            (
                b["model"],
                b["name"],
                b["role"],
                hexadecimal(b["address"]),
                number(b["reserved"]),
                f"{b['first_step']} to {b['last_step']}",
            )
            for b in sorted(inside, key=lambda b: (b["address"], b["first_step"]))
        ]
    return Section(
        "lifetimes",
        "Buffer lifetimes",
        "Every tensor as a rectangle: as long as it is needed, as high as it is large. Rectangles "
        "one above the other live in different memory; side by side they share it. No plan can "
        "be lower than the bound, the largest sum of sizes alive at one step.",
        tuple(charts),
        (
            Table(
                "Buffers",
                ("Model", "Buffer", "Role", "Address", "Bytes", "Steps"),
                tuple(rows),
                (4,),
            ),
        ),
        missing="" if charts else "The build has no tensors in memory.",
        notes=tuple(notes),
    )


def _arenas(memory: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Arenas of tensors; models that share one name it once each."""
    found: dict[tuple[str, int, int], Mapping[str, Any]] = {}
    for arena in memory["arenas"]:
        if arena["kind"] == "tensors" and arena["size"]:
            found.setdefault((arena["region"], arena["base"], arena["size"]), arena)
    return list(found.values())


def _inside(buffer: Mapping[str, Any], arena: Mapping[str, Any]) -> bool:
    base = arena["base"]
    return bool(base <= buffer["address"] < base + arena["size"])


def _chart(
    arena: Mapping[str, Any], model: str, buffers: Sequence[Mapping[str, Any]], steps: int
) -> Chart:
    # The fill of inputs before step 0 and the reading of outputs after the last are drawn too.
    count = max([steps, *(b["last_step"] for b in buffers)]) + 2
    column = (WIDTH - _LEFT - _RIGHT) / count
    scale = _HEIGHT / arena["size"]
    bottom = _TOP + _HEIGHT
    boxes: list[Box] = []
    lines: list[Line] = []
    labels: list[Label] = [
        label(12, 16, f"{model} in {arena['region']}", kind="heading"),
        label(WIDTH - _RIGHT, bottom + 32, "step", "end", "axis"),
    ]
    every = max(1, round(count / 24))
    for step in range(-1, count - 1):
        x = _LEFT + (step + 1) * column
        lines.append(line(x, _TOP, x, bottom, "grid"))
        if step % every == 0 or count <= 24:
            text = "in" if step < 0 else "out" if step == count - 2 else str(step)
            labels.append(label(x + column / 2, bottom + 16, text, "middle", "axis"))
    for value in address_ticks(arena["size"]):
        y = bottom - value * scale
        lines.append(line(_LEFT, y, WIDTH - _RIGHT, y, "grid"))
        address = hexadecimal(arena["base"] + value)
        labels.append(label(_LEFT - 6, y + 4, address, "end", "axis"))
    for b in buffers:
        offset = b["address"] - arena["base"]
        tip = (
            f"{b['name']} ({b['role']}): {hexadecimal(b['address'])}, {number(b['size'])} bytes, "
            f"steps {b['first_step']} to {b['last_step']}"
        )
        drawn = box(
            _LEFT + (b["first_step"] + 1) * column,
            bottom - (offset + b["reserved"]) * scale,
            (b["last_step"] - b["first_step"] + 1) * column,
            b["reserved"] * scale,
            b["role"],
            tip,
        )
        boxes.append(drawn)
        labels += in_box(drawn, b["name"])
    bound = at(bottom - arena["lower_bound"] * scale)
    lines.append(line(_LEFT, bound, WIDTH - _RIGHT, bound, "bound"))
    labels.append(
        label(WIDTH - _RIGHT, bound - 5, f"bound {bytes_text(arena['lower_bound'])}", "end", "bold")
    )
    roles = tuple(dict.fromkeys(b["role"] for b in buffers))
    return Chart(
        f"Buffers of {model} in {arena['region']}, address over step",
        bottom + 42,
        tuple(boxes),
        lines=tuple(lines),
        labels=tuple(labels),
        legend=tuple((role, role) for role in sorted(roles)),
    )
