"""Where the time of an inference went: the firmware's clock and the accelerator's events, joined.

Two clocks see an inference. The firmware notes for each operation how many ticks of its
timer passed while the operation was the one in hand (FWGEN_PROFILE, docs/program.md: MARK).
The emulated accelerator says in which of its cycles each operation ran (docs/emulator.md). Both
count the same emulated time. They are laid over each other by the one thing that is sure: no
operation can be over for the firmware before it is over in hardware.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fwgen.machine.events import OperationEvent
from fwgen.machine.inference import busy_cycles

NO_EVENTS = "no accelerator's events: a board, or a model that runs on the CPU"
NO_TICKS = (
    "the firmware's clock names no operation: built without profile, or all are submitted "
    "at once (--each-operation names them)"
)
OVERLAPPED = "operations overlap (a pipelined run): what the CPU did for each cannot be told apart"


@dataclass(frozen=True, slots=True)
class OperationTime:
    """One operation of the last inference.

    Attributes:
        index, unit, name, summary, step: as in operations.json.
        group: register group it ran in; None without an event.
        start_cycle, end_cycle: of the accelerator, from the first operation's start.
        macs, bytes_read, bytes_written: as the accelerator counted them, else by descriptor.
        ticks: of the firmware's timer while it was in hand: programming and waiting.
        cpu_ticks: those of them in which no unit of the accelerator worked.
        share: its part of the inference, 0 to 1: its accelerator time, of which what an
            earlier operation shares counts for that one, and its CPU time.
    """

    index: int
    unit: str
    name: str
    summary: str
    step: int | None
    group: int | None
    start_cycle: int | None
    end_cycle: int | None
    macs: int
    bytes_read: int
    bytes_written: int
    ticks: int | None
    cpu_ticks: int | None
    share: float | None

    @property
    def cycles(self) -> int | None:
        """How long the accelerator worked on it."""
        if self.start_cycle is None or self.end_cycle is None:
            return None
        return self.end_cycle - self.start_cycle


@dataclass(frozen=True, slots=True)
class Profile:
    """One inference of a model.

    Attributes:
        clock_hz: of the accelerator's cycles; None where there is no accelerator.
        timer_hz: of the firmware's ticks.
        duration_ticks: of the whole inference.
        busy_cycles: in which at least one unit worked.
        start_ticks: when the accelerator's first operation started, in ticks since the
            firmware began the inference; None where the clocks cannot be laid over each other.
        notes: what is missing, and why.
    """

    model: str
    accelerator: str
    family: str
    config: str
    clock_hz: int | None
    timer_hz: int
    duration_ticks: int
    busy_cycles: int | None
    start_ticks: float | None
    operations: tuple[OperationTime, ...]
    notes: tuple[str, ...]


def match_events(
    units: Sequence[str], events: Sequence[OperationEvent]
) -> dict[int, OperationEvent]:
    """Operation -> its event. A unit works its operations off in order.

    Args:
        units: the unit of each operation.
        events: of one inference and one accelerator.

    A unit with more or fewer events than operations gets none: they cannot be told apart.
    """
    found: dict[int, OperationEvent] = {}
    for unit in dict.fromkeys(units):
        mine = [i for i, name in enumerate(units) if name == unit]
        ran = sorted((e for e in events if e.unit == unit), key=lambda e: e.end_cycle)
        if len(mine) == len(ran):
            found |= dict(zip(mine, ran, strict=True))
    return found


def make_profile(
    program: Mapping[str, Any],
    accelerator: str,
    clock_hz: int | None,
    timer_hz: int,
    duration_ticks: int,
    ticks: Sequence[int],
    events: Sequence[OperationEvent],
) -> Profile:
    """Join both accounts of an inference.

    Args:
        program: a model's entry of operations.json.
        accelerator: whose events count; others are ignored.
        clock_hz: of the events' cycles.
        timer_hz, duration_ticks: of the firmware's clock.
        ticks: of each operation by that clock; empty where it was not asked.
        events: of this inference.
    """
    known = program["operations"]
    mine = [event for event in events if event.accelerator == accelerator]
    matched = match_events([operation["unit"] for operation in known], mine)
    notes = [] if matched else [NO_EVENTS]
    timed = len(ticks) == len(known) and any(ticks)
    if not timed:
        notes.append(NO_TICKS)
    first = min((event.start_cycle for event in mine), default=0)
    per_cycle = timer_hz / clock_hz if clock_hz else 0.0
    spans = {
        i: ((e.start_cycle - first) * per_cycle, (e.end_cycle - first) * per_cycle)
        for i, e in matched.items()
    }
    start = _anchor(ticks, spans) if timed else None
    if timed and spans and start is None:
        notes.append(OVERLAPPED)
    cpu = _cpu_ticks(ticks, spans, start) if timed and (start is not None or not spans) else {}
    own = _own_ticks(spans)
    operations = []
    for i, operation in enumerate(known):
        event = matched.get(i)
        share = None
        if duration_ticks and (i in own or i in cpu):
            share = (own.get(i, 0.0) + cpu.get(i, 0.0)) / duration_ticks
        operations.append(
            OperationTime(
                index=operation["index"],
                unit=operation["unit"],
                name=operation["name"],
                summary=operation["summary"],
                step=operation["step"],
                group=event.group if event else None,
                start_cycle=event.start_cycle - first if event else None,
                end_cycle=event.end_cycle - first if event else None,
                macs=event.macs if event else operation["macs"],
                bytes_read=event.bytes_read if event else operation["bytes_read"],
                bytes_written=event.bytes_written if event else operation["bytes_written"],
                ticks=ticks[i] if timed else None,
                cpu_ticks=round(cpu[i]) if i in cpu else None,
                share=share,
            )
        )
    return Profile(
        model=program["model"],
        accelerator=accelerator,
        family=program["family"],
        config=program["config"],
        clock_hz=clock_hz if mine else None,
        timer_hz=timer_hz,
        duration_ticks=duration_ticks,
        busy_cycles=busy_cycles(mine),
        start_ticks=start,
        operations=tuple(operations),
        notes=tuple(notes),
    )


def _anchor(ticks: Sequence[int], spans: Mapping[int, tuple[float, float]]) -> float | None:
    """When the accelerator's time 0 was, in ticks since the inference began.

    An operation's turn begins before it runs, and ends after: each gives a bound. The latest
    time that keeps all of them is taken, since the firmware wakes up a few instructions after
    the interrupt. None where the bounds contradict each other.
    """
    if not spans:
        return None
    turns = _turns(ticks)
    most = min(turns[i][1] - spans[i][1] for i in spans if _waited(i, spans))
    least = max(turns[i][0] - spans[i][0] for i in spans)
    return most if least <= most + 1 else None


def _waited(index: int, spans: Mapping[int, tuple[float, float]]) -> bool:
    """Whether the firmware waited in this operation's turn: it is the last of those at work."""
    return all(other <= index or spans[other][0] >= spans[index][1] - 1e-9 for other in spans)


def _turns(ticks: Sequence[int]) -> list[tuple[int, int]]:
    """Begin and end of each operation's turn."""
    turns, now = [], 0
    for count in ticks:
        turns.append((now, now + count))
        now += count
    return turns


def _cpu_ticks(
    ticks: Sequence[int], spans: Mapping[int, tuple[float, float]], start: float | None
) -> dict[int, float]:
    """For each operation the part of its turn in which no unit worked."""
    offset = start or 0.0
    busy = merge([(a + offset, b + offset) for a, b in spans.values()])
    result = {}
    for i, (begin, end) in enumerate(_turns(ticks)):
        inside = sum(max(0.0, min(end, b) - max(begin, a)) for a, b in busy)
        result[i] = max(0.0, end - begin - inside)
    return result


def _own_ticks(spans: Mapping[int, tuple[float, float]]) -> dict[int, float]:
    """For each operation the ticks in which it worked and no earlier one did."""
    result: dict[int, float] = {}
    covered: list[tuple[float, float]] = []
    for i in sorted(spans):
        begin, end = spans[i]
        shared = sum(max(0.0, min(end, b) - max(begin, a)) for a, b in covered)
        result[i] = end - begin - shared
        covered = merge([*covered, (begin, end)])
    return result


def merge(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of intervals, ascending."""
    result: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((begin, end))
    return result
