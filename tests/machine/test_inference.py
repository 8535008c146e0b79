"""Cycle counts of an inference from the emulator's operation events."""

from __future__ import annotations

from dataclasses import replace

from fwgen.machine.events import OperationEvent
from fwgen.machine.inference import busy_cycles

EVENT = OperationEvent(
    accelerator="dla0",
    unit="CONV",
    group=0,
    start_cycle=0,
    end_cycle=0,
    macs=0,
    bytes_read=0,
    bytes_written=0,
    time_ns=0,
)


def _at(*times: tuple[int, int]) -> list[OperationEvent]:
    return [replace(EVENT, start_cycle=start, end_cycle=end) for start, end in times]


def test_overlapping_units_count_once_and_gaps_not_at_all() -> None:
    assert busy_cycles(_at((100, 150), (110, 160), (400, 410))) == 60 + 10


def test_an_operation_inside_another_adds_nothing() -> None:
    assert busy_cycles(_at((0, 100), (20, 30), (90, 120))) == 120


def test_the_order_of_the_events_does_not_matter() -> None:
    events = _at((5, 9), (0, 3), (2, 6))
    assert busy_cycles(events) == busy_cycles(events[::-1]) == 9


def test_no_operation_has_no_cycles() -> None:
    assert busy_cycles([]) is None
