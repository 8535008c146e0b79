"""Both clocks of an inference, joined: cases small enough to calculate by hand."""

from __future__ import annotations

from typing import Any

import pytest

from fwgen.machine.events import OperationEvent
from fwgen.profile import NO_EVENTS, NO_TICKS, OVERLAPPED, Profile, make_profile, match_events


def _event(unit: str, start: int, end: int, group: int = 0, macs: int = 0) -> OperationEvent:
    return OperationEvent("dla0", unit, group, start, end, macs, 100, 50, 0)


def _program(*units: str) -> dict[str, Any]:
    return {
        "model": "m",
        "family": "nvdla",
        "config": "nv_small",
        "operations": [
            {
                "index": i,
                "unit": unit,
                "name": f"op{i}",
                "summary": unit,
                "step": i // 2,
                "macs": 7,
                "bytes_read": 8,
                "bytes_written": 9,
            }
            for i, unit in enumerate(units)
        ],
    }


def _profile(
    units: tuple[str, ...], ticks: tuple[int, ...], events: list[OperationEvent], total: int
) -> Profile:
    # Two cycles of the accelerator are one tick of the firmware.
    return make_profile(_program(*units), "dla0", 200, 100, total, ticks, events)


def test_a_convolution_and_what_works_behind_it() -> None:
    """10 ticks to program CONV, 12 to program SDP; then both run 200 cycles = 100 ticks; the
    firmware wakes up 3 ticks later."""
    events = [_event("SDP", 1000, 1202), _event("CONV", 1000, 1200, macs=64)]
    p = _profile(("CONV", "SDP"), (10, 12 + 101 + 3), events, 130)
    conv, sdp = p.operations
    assert (conv.start_cycle, conv.end_cycle, conv.cycles) == (0, 200, 200)
    assert (sdp.start_cycle, sdp.end_cycle, sdp.cycles) == (0, 202, 202)
    assert (conv.macs, conv.bytes_read, conv.bytes_written) == (64, 100, 50)
    assert p.busy_cycles == 202
    # The accelerator's end is laid at the firmware's: 126 - 101.
    assert p.start_ticks == pytest.approx(25)
    assert (conv.cpu_ticks, sdp.cpu_ticks) == (10, 15)
    assert conv.share == pytest.approx((100 + 10) / 130)
    assert sdp.share == pytest.approx((1 + 15) / 130)
    assert p.notes == ()


def test_the_clocks_are_laid_at_the_step_that_leaves_least_room() -> None:
    # Two operations of 50 ticks; the second step's interrupt took longer to answer.
    events = [_event("CONV", 0, 100), _event("PDP", 130, 230)]
    p = _profile(("CONV", "PDP"), (10 + 50 + 2, 13 + 50 + 5), events, 130)
    assert p.start_ticks == pytest.approx(12)
    assert [o.cpu_ticks for o in p.operations] == [12, 18]
    assert sum(o.share or 0 for o in p.operations) == pytest.approx(1.0)


def test_turns_that_contradict_the_events_give_no_cpu_time() -> None:
    """A pipelined run: the second operation is programmed while the first one runs."""
    events = [_event("CONV", 0, 1000), _event("PDP", 1000, 1100)]
    p = _profile(("CONV", "PDP"), (5, 600), events, 605)
    assert [o.cpu_ticks for o in p.operations] == [None, None]
    assert p.notes == (OVERLAPPED,)
    assert p.operations[0].share == pytest.approx(500 / 605)


def test_the_cpu_family_has_ticks_alone() -> None:
    p = _profile(("CONV", "SDP"), (70, 20), [], 100)
    assert [o.cpu_ticks for o in p.operations] == [70, 20]
    assert [o.share for o in p.operations] == [0.7, 0.2]
    assert [o.macs for o in p.operations] == [7, 7]  # by descriptor
    assert p.busy_cycles is None and p.clock_hz is None
    assert p.notes == (NO_EVENTS,)


@pytest.mark.parametrize("ticks", [(), (0, 0), (1, 2, 3)])
def test_without_ticks_the_accelerator_alone_speaks(ticks: tuple[int, ...]) -> None:
    events = [_event("NN", 10, 30), _event("NN", 30, 40)]
    p = _profile(("NN", "NN"), ticks, events, 100)
    assert [o.cycles for o in p.operations] == [20, 10]
    assert [o.cpu_ticks for o in p.operations] == [None, None]
    assert p.notes == (NO_TICKS,)


def test_events_of_a_unit_follow_its_operations_in_order() -> None:
    events = [_event("SDP", 0, 9), _event("CONV", 20, 30), _event("CONV", 0, 8)]
    found = match_events(["CONV", "SDP", "CONV"], events)
    assert [found[i].end_cycle for i in range(3)] == [8, 9, 30]


def test_a_unit_with_events_too_few_or_too_many_gets_none() -> None:
    assert match_events(["CONV", "CONV"], [_event("CONV", 0, 1)]) == {}
    assert match_events(["CONV"], [_event("CONV", 0, 1), _event("CONV", 1, 2)]) == {}


def test_other_accelerators_do_not_count() -> None:
    other = OperationEvent("dla1", "CONV", 0, 0, 10, 1, 1, 1, 0)
    p = _profile(("CONV",), (4,), [other], 10)
    assert p.operations[0].cycles is None and p.busy_cycles is None
