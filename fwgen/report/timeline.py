"""Timeline of an inference: units and register groups, the CPU, the memory traffic."""

from __future__ import annotations

from collections.abc import Iterable

from fwgen.profile import OperationTime, Profile, merge
from fwgen.report.chart import (
    WIDTH,
    Box,
    Chart,
    Label,
    Line,
    Section,
    Table,
    box,
    counted,
    in_box,
    label,
    line,
    number,
    ticks,
)

_LEFT, _RIGHT, _TOP, _LANE, _BAR = 96, 16, 14, 34, 24
NOT_RUN = "Nothing was run for this page: `fwgen run DIR --report FILE.html` runs and draws it."


def unit_kind(unit: str) -> str:
    """Style of a unit: the same in every drawing."""
    known = ("CONV", "SDP", "PDP", "CDP", "BDMA", "RUBIK", "NN", "TP", "CPU")
    return f"unit-{unit.lower()}" if unit in known else "unit-other"


def timeline_section(profile: Profile | None) -> Section:
    """Lanes of boxes over microseconds, and the table of all operations."""
    lead = (
        "One inference. A lane for each unit and register group, one for the CPU and one for the "
        "accelerator's memory traffic; all by the emulator's clock and documented estimate."
    )
    if profile is None:
        return Section("timeline", "Timeline", lead, missing=NOT_RUN)
    total = profile.duration_ticks / profile.timer_hz * 1e6 if profile.timer_hz else 0.0
    lanes = _accelerator_lanes(profile)
    end = max([total, *(b for spans in lanes.values() for _, b, _ in spans)], default=0.0)
    cpu = _cpu_lane(profile, lanes, total)
    charts: tuple[Chart, ...] = ()
    if end > 0 and (lanes or cpu):
        charts = (_chart(profile, lanes, cpu, end),)
    return Section(
        "timeline",
        "Timeline",
        lead,
        charts,
        (_table(profile),),
        missing="" if charts else "Neither the firmware nor an accelerator said when it did what.",
        notes=profile.notes,
    )


Span = tuple[float, float, OperationTime]
CpuSpan = tuple[float, float, str, OperationTime | None]


def _microseconds(profile: Profile, cycle: int) -> float:
    """Time of an accelerator cycle, since the inference began where that is known."""
    before = (profile.start_ticks or 0.0) / profile.timer_hz * 1e6
    return before + cycle / (profile.clock_hz or 1) * 1e6


def _accelerator_lanes(profile: Profile) -> dict[str, list[Span]]:
    groups: dict[str, set[int]] = {}
    for o in profile.operations:
        if o.group is not None:
            groups.setdefault(o.unit, set()).add(o.group)
    lanes: dict[str, list[Span]] = {}
    for unit, used in groups.items():
        for group in sorted(used):
            name = f"{unit} {group}" if len(used) > 1 or profile.family == "nvdla" else unit
            lanes[name] = [
                (_microseconds(profile, o.start_cycle), _microseconds(profile, o.end_cycle), o)
                for o in profile.operations
                if o.unit == unit
                and o.group == group
                and o.start_cycle is not None
                and o.end_cycle is not None
            ]
    return lanes


def _cpu_lane(profile: Profile, lanes: dict[str, list[Span]], total: float) -> list[CpuSpan]:
    """What the CPU did while no unit worked: from, to, text, the operation if it is a kernel."""
    kernels = _kernels(profile)
    if not lanes:
        return kernels
    busy = merge([(a, b) for spans in lanes.values() for a, b, _ in spans])
    begin = 0.0 if profile.start_ticks is not None else busy[0][0]
    end = total if profile.start_ticks is not None else busy[-1][1]
    edges = [begin, *(edge for span in busy for edge in span), max(end, busy[-1][1])]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return [
        (
            a,
            b,
            f"CPU alone for {number(round(b - a, 1))} µs: programming, interrupts, kernels",
            None,
        )
        for a, b in gaps
        if b > a
    ] + (kernels if profile.start_ticks is not None else [])


def _kernels(profile: Profile) -> list[CpuSpan]:
    """Operations that no accelerator ran, in their turns of the firmware's clock."""
    now = 0.0
    result: list[CpuSpan] = []
    for o in profile.operations:
        length = (o.ticks or 0) / profile.timer_hz * 1e6
        if o.ticks is not None and o.group is None:
            text = f"{o.name} ({o.summary}): {number(round(length, 1))} µs on the CPU"
            result.append((now, now + length, text, o))
        now += length
    return result


def _chart(
    profile: Profile,
    lanes: dict[str, list[Span]],
    cpu: list[CpuSpan],
    end: float,
) -> Chart:
    scale = (WIDTH - _LEFT - _RIGHT) / end
    boxes: list[Box] = []
    lines: list[Line] = []
    labels: list[Label] = []
    names = [*lanes, *(["CPU"] if cpu else []), *(["DMA"] if lanes else [])]
    bottom = _TOP + _LANE * len(names)
    for value in ticks(end):
        x = _LEFT + value * scale
        lines.append(line(x, _TOP - 6, x, bottom, "grid"))
        labels.append(label(x, bottom + 16, number(value), "middle", "axis"))
    labels.append(label(WIDTH - _RIGHT, bottom + 32, "µs", "end", "axis"))
    for row, name in enumerate(names):
        labels.append(label(_LEFT - 8, _TOP + row * _LANE + 17, name, "end", "lane"))
    for row, (_, spans) in enumerate(lanes.items()):
        for a, b, o in spans:
            tip = (
                f"{o.name} ({o.summary}): {number(round(b - a, 1))} µs, {number(o.cycles or 0)} "
                f"cycles, group {o.group}"
            )
            drawn = box(
                _LEFT + a * scale,
                _TOP + row * _LANE,
                (b - a) * scale,
                _BAR,
                unit_kind(o.unit),
                tip,
                str(o.index),
            )
            boxes.append(drawn)
            labels += in_box(drawn, o.name)
    row = len(lanes)
    for a, b, text, op in cpu:
        drawn = box(
            _LEFT + a * scale,
            _TOP + row * _LANE,
            (b - a) * scale,
            _BAR,
            "unit-cpu",
            text,
            str(op.index) if op else "",
        )
        boxes.append(drawn)
        labels += in_box(drawn, op.name) if op else ()
    if lanes:
        boxes += _traffic(lanes, scale, _TOP + (row + (1 if cpu else 0)) * _LANE)
    units = dict.fromkeys(o.unit for spans in lanes.values() for _, _, o in spans)
    legend = [(unit_kind(unit), unit) for unit in units]
    legend += [("unit-cpu", "CPU")] if cpu else []
    legend += [("traffic", "DMA, bytes per µs")] if lanes else []
    return Chart(
        f"Timeline of an inference of {profile.model}, {number(round(end, 1))} microseconds",
        bottom + 40,
        tuple(boxes),
        lines=tuple(lines),
        labels=tuple(labels),
        legend=tuple(legend),
    )


def _traffic(lanes: dict[str, list[Span]], scale: float, top: float) -> Iterable[Box]:
    """Bytes per microsecond as heights: an operation's bytes spread over its time."""
    spans = [span for lane in lanes.values() for span in lane if span[1] > span[0]]
    edges = sorted({edge for a, b, _ in spans for edge in (a, b)})
    rates = []
    for a, b in zip(edges, edges[1:], strict=False):
        active = [
            (o.bytes_read + o.bytes_written) / (e - s) for s, e, o in spans if s < b and e > a
        ]
        rates.append((a, b, sum(active)))
    most = max((rate for _, _, rate in rates), default=0.0)
    for a, b, rate in rates:
        if rate > 0 and (b - a) * scale >= 0.05:
            height = _BAR * rate / most
            tip = f"DMA: {number(round(rate, 1))} bytes per µs"
            yield box(
                _LEFT + a * scale, top + _BAR - height, (b - a) * scale, height, "traffic", tip
            )


def _table(profile: Profile) -> Table:
    def percent(o: OperationTime) -> str:
        return "–" if o.share is None else f"{o.share * 100:.1f} %"

    def cpu(o: OperationTime) -> str:
        return "–" if o.cpu_ticks is None else f"{o.cpu_ticks / profile.timer_hz * 1e6:.1f}"

    return Table(
        "Operations",
        (
            *("#", "Operation", "What", "Unit", "Group", "Start", "End", "Cycles"),
            *("MACs", "Read", "Written", "CPU µs", "Share"),
        ),
        tuple(
            (
                str(o.index),
                o.name,
                o.summary,
                o.unit,
                *counted((o.group, o.start_cycle, o.end_cycle, o.cycles)),
                *counted((o.macs, o.bytes_read, o.bytes_written)),
                cpu(o),
                percent(o),
            )
            for o in profile.operations
        ),
        (0, *range(4, 13)),
        is_open=True,
    )
