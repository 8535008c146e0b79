"""Covering registers by commands: against trying all covers."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from fwgen.program.runs import (
    COMMAND_COST,
    GAP_LIMIT,
    RUN_LIMIT,
    WORD_COST,
    Chunk,
    plan_chunks,
)


def cost(chunks: list[Chunk]) -> int:
    return sum(WORD_COST * chunk.words + COMMAND_COST for chunk in chunks)


def covered(chunks: list[Chunk]) -> list[int]:
    return [c.register + 4 * i for c in chunks for i in range(c.count)]


def cheapest(registers: list[int], small: set[int], bridge: set[int]) -> int:
    """Least cost over every way to cut the list into commands."""
    best = None
    count = len(registers)
    for cuts in range(count):
        for places in combinations(range(1, count), cuts):
            total = 0
            for start, end in zip((0, *places), (*places, count), strict=True):
                part = registers[start:end]
                span = range(part[0], part[-1] + 4, 4)
                gaps = [register for register in span if register not in part]
                longest = max(
                    (b - a) // 4 - 1 for a, b in zip(part, part[1:] or part, strict=False)
                )
                if any(g not in bridge for g in gaps) or longest > GAP_LIMIT:
                    break
                run = WORD_COST * (1 + len(span)) + COMMAND_COST
                if len(part) == 1 and part[0] in small:
                    run = min(run, WORD_COST + COMMAND_COST)
                total += run
            else:
                best = total if best is None else min(best, total)
    assert best is not None
    return best


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_cover_is_cheaper(data: st.DataObject) -> None:
    numbers = data.draw(st.sets(st.integers(0, 14), min_size=1, max_size=8))
    registers = sorted(0x1010 + 4 * number for number in numbers)
    every = [0x1010 + 4 * number for number in range(15)]
    small = set(data.draw(st.lists(st.sampled_from(registers))))
    others = [register for register in every if register not in registers]
    bridge = set(data.draw(st.lists(st.sampled_from(others)))) if others else set()
    chunks = plan_chunks(registers, small.__contains__, bridge.__contains__)
    found = covered(chunks)
    assert found == sorted(set(found))
    assert set(registers) <= set(found) <= set(registers) | bridge
    assert all(chunk.register in small for chunk in chunks if chunk.is_set)
    assert cost(chunks) == cheapest(registers, small, bridge)


def test_long_stretches_are_split() -> None:
    registers = [4 * number for number in range(600)]
    chunks = plan_chunks(registers, lambda _register: False)
    assert covered(chunks) == registers
    assert max(chunk.count for chunk in chunks) <= RUN_LIMIT
    assert len(chunks) == 3


def test_a_gap_without_known_value_is_not_closed() -> None:
    chunks = plan_chunks([0x10, 0x18], lambda _register: False)
    assert covered(chunks) == [0x10, 0x18]


def test_a_gap_of_one_known_value_is_closed() -> None:
    chunks = plan_chunks([0x10, 0x18], lambda _register: False, lambda _register: True)
    assert chunks == [Chunk(0x10, 3, False)]
