"""Roofline: what each layer reaches of what the configuration could do at most.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model" (2009): the
roof is the smaller of the peak rate and intensity times bandwidth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fwgen.accel.protocol import Peak
from fwgen.profile import OperationTime, Profile
from fwgen.report.chart import (
    WIDTH,
    Chart,
    Dot,
    Label,
    Line,
    Section,
    Table,
    at,
    fitting,
    label,
    line,
    number,
)
from fwgen.report.timeline import NOT_RUN, unit_kind

_LEFT, _RIGHT, _TOP, _HEIGHT = 72, 24, 20, 300


@dataclass(frozen=True, slots=True)
class Point:
    """A layer.

    Attributes:
        intensity: multiply-accumulates per byte of its traffic, and of what works behind it.
        rate: multiply-accumulates per cycle reached.
        roof: the most that the configuration could do at this intensity.
    """

    operation: OperationTime
    intensity: float
    rate: float
    roof: float

    @property
    def bound(self) -> str:
        """What holds the layer back, by the roof."""
        return "memory" if self.intensity < self.ridge else "multipliers"

    ridge: float = 0.0


def points(profile: Profile, peak: Peak) -> tuple[Point, ...]:
    """Layers with multiplications, ran by the accelerator.

    What works behind a layer without multiplying (an SDP behind its convolution) moves
    bytes for it: operations of the same step that start in the same cycle count together.
    """
    found = []
    for o in profile.operations:
        if not o.macs or not o.cycles:
            continue
        behind = [
            other
            for other in profile.operations
            if other is not o
            and not other.macs
            and other.step == o.step
            and other.start_cycle == o.start_cycle
        ]
        traffic = sum(p.bytes_read + p.bytes_written for p in (o, *behind))
        if not traffic:
            continue
        intensity = o.macs / traffic
        found.append(
            Point(
                o,
                intensity,
                o.macs / o.cycles,
                min(float(peak.macs), intensity * peak.bytes_per_cycle),
                peak.macs / peak.bytes_per_cycle,
            )
        )
    return tuple(found)


def roofline_section(profile: Profile | None, peak: Peak | None) -> Section:
    """Both axes logarithmic."""
    lead = (
        "Each dot is a layer: how many multiply-accumulates it does per byte of memory traffic, "
        "and per cycle. The line is what the configuration can do at most: under its slope the "
        "memory decides, under its flat part the multipliers."
    )
    if profile is None:
        return Section("roofline", "Roofline", lead, missing=NOT_RUN)
    if peak is None:
        reason = "No peak rates are published for what this model runs on."
        return Section("roofline", "Roofline", lead, missing=reason)
    found = points(profile, peak)
    if not found:
        reason = "No accelerator's operation with multiplications was seen."
        return Section("roofline", "Roofline", lead, missing=reason)
    table = Table(
        "Layers under the roof",
        ("Operation", "What", "MACs per byte", "MACs per cycle", "Roof", "Reached", "Bound by"),
        tuple(
            (
                p.operation.name,
                p.operation.summary,
                f"{p.intensity:.2f}",
                f"{p.rate:.2f}",
                f"{p.roof:.2f}",
                f"{100 * p.rate / p.roof:.0f} %",
                p.bound,
            )
            for p in found
        ),
        (2, 3, 4, 5),
    )
    peak_text = (
        f"Peak: {number(peak.macs)} multiply-accumulates and "
        f"{number(peak.bytes_per_cycle)} bytes per cycle ({peak.source})."
    )
    return Section(
        "roofline", "Roofline", lead, (_chart(found, peak),), (table,), notes=(peak_text,)
    )


def _decades(values: list[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)) - 0.05)
    high = math.ceil(math.log10(max(values)) + 0.05)
    return low, max(high, low + 1)


def _chart(found: tuple[Point, ...], peak: Peak) -> Chart:
    ridge = peak.macs / peak.bytes_per_cycle
    x_low, x_high = _decades([ridge, *(p.intensity for p in found)])
    y_low, y_high = _decades([float(peak.macs), *(p.rate for p in found)])
    x_scale = (WIDTH - _LEFT - _RIGHT) / (x_high - x_low)
    y_scale = _HEIGHT / (y_high - y_low)
    bottom = _TOP + _HEIGHT

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            at(_LEFT + (math.log10(x) - x_low) * x_scale),
            at(bottom - (math.log10(y) - y_low) * y_scale),
        )

    lines: list[Line] = []
    labels: list[Label] = [
        label(WIDTH - _RIGHT, bottom + 34, "multiply-accumulates per byte", "end", "axis"),
        label(12, 12, "multiply-accumulates per cycle", kind="axis"),
    ]
    for power in range(x_low, x_high + 1):
        x = _LEFT + (power - x_low) * x_scale
        lines.append(line(x, _TOP, x, bottom, "grid"))
        labels.append(label(x, bottom + 16, number(10.0**power), "middle", "axis"))
    for power in range(y_low, y_high + 1):
        y = bottom - (power - y_low) * y_scale
        lines.append(line(_LEFT, y, WIDTH - _RIGHT, y, "grid"))
        labels.append(label(_LEFT - 6, y + 4, number(10.0**power), "end", "axis"))
    # The slope ends where it leaves the drawing at its left or lower edge.
    start = max(10.0**x_low, 10.0**y_low / peak.bytes_per_cycle)
    left = place(start, start * peak.bytes_per_cycle)
    corner = place(ridge, peak.macs)
    right = place(10.0**x_high, peak.macs)
    lines += [line(*left, *corner, "roof"), line(*corner, *right, "roof")]
    labels.append(label(right[0], right[1] - 7, f"{number(peak.macs)} per cycle", "end", "bold"))
    dots = []
    for p in found:
        x, y = place(p.intensity, p.rate)
        o = p.operation
        tip = (
            f"{o.name} ({o.summary}): {p.intensity:.2f} MACs per byte, {p.rate:.2f} per cycle, "
            f"{100 * p.rate / p.roof:.0f} % of the roof, bound by {p.bound}"
        )
        dots.append(Dot(x, y, unit_kind(o.unit), tip, str(o.index)))
        # Names of close dots would cover each other; the table and the tips have them all.
        if all(abs(x - d.x) > 60 or abs(y - d.y) > 14 for d in dots[:-1]):
            side = "end" if x > WIDTH - 160 else "start"
            labels.append(
                label(x + (-9 if side == "end" else 9), y + 4, fitting(o.name, 150), side)
            )
    units = dict.fromkeys(p.operation.unit for p in found)
    return Chart(
        "Roofline: multiply-accumulates per cycle over multiply-accumulates per byte",
        bottom + 42,
        dots=tuple(dots),
        lines=tuple(lines),
        labels=tuple(labels),
        legend=(("roof", "peak of the configuration"), *((unit_kind(u), u) for u in units)),
    )
