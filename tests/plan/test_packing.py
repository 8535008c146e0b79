"""Packing against brute force, and on published instances that are known to be hard."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwgen.plan.packing import Item, Packing, lower_bound, pack
from fwgen.plan.search import columns, search


def check(items: Sequence[Item], packing: Packing) -> None:
    """A packing by its definition."""
    assert len(packing.offsets) == len(items)
    ends = [o + i.size for o, i in zip(packing.offsets, items, strict=True)]
    assert packing.height == max(ends, default=0)
    assert packing.lower_bound <= packing.proven <= packing.height
    for n, (a, low) in enumerate(zip(items, packing.offsets, strict=True)):
        assert low >= 0 and low % a.alignment == 0
        for b, other in zip(items[:n], packing.offsets[:n], strict=True):
            if a.first < b.end and b.first < a.end:
                assert low + a.size <= other or other + b.size <= low


def optimum(items: Sequence[Item]) -> int:
    """The least height: some order of lowest placements is always optimal."""
    best = sum(item.size + item.alignment for item in items)
    for order in permutations(items):
        placed: list[tuple[Item, int]] = []
        for item in order:
            others = [(o, o + i.size) for i, o in placed if i.first < item.end > item.first < i.end]
            spots = sorted({0, *(-(-end // item.alignment) * item.alignment for _, end in others)})
            low = next(s for s in spots if all(s + item.size <= a or b <= s for a, b in others))
            placed.append((item, low))
        best = min(best, max(o + i.size for i, o in placed))
    return best


ITEMS = st.lists(
    st.builds(
        lambda first, length, size: Item(first, first + length, size),
        st.integers(-2, 6),
        st.integers(1, 5),
        st.integers(1, 6),
    ),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(ITEMS)
def test_small_cases_are_optimal(items: list[Item]) -> None:
    packing = pack(items, steps=20_000)
    check(items, packing)
    if items:
        assert packing.height == optimum(items)
        assert packing.optimal


@settings(max_examples=100, deadline=None)
@given(ITEMS, st.integers(0, 40))
def test_search_decides(items: list[Item], height: int) -> None:
    """It finds a packing of a height exactly where there is one, and knows when not."""
    spans = columns([(item.first, item.end) for item in items])
    outcome = search(spans, [item.size for item in items], height, 50_000)
    possible = not items or optimum(items) <= height
    assert (outcome.offsets is not None) == possible
    assert outcome.exhausted == (not possible)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda first, length, size, shift: Item(first, first + length, size, 1 << shift),
            st.integers(0, 30),
            st.integers(1, 12),
            st.integers(0, 3000),
            st.integers(0, 8),
        ),
        max_size=30,
    )
)
def test_any_alignment_and_size(items: list[Item]) -> None:
    packing = pack(items, steps=3000)
    check(items, packing)
    assert packing == pack(items, steps=3000)


def test_nothing_and_zero_sizes() -> None:
    assert pack([]).height == 0
    assert pack([Item(0, 1, 0), Item(0, 1, 0)]).height == 0
    assert lower_bound([Item(0, 5, 3), Item(5, 6, 4)]) == 4


def test_columns_are_the_maximal_sets() -> None:
    assert columns([(0, 2), (1, 3), (2, 4), (10, 11)]) == [(0, 1), (0, 2), (1, 2), (2, 3)]


def test_goal_ends_the_work() -> None:
    items = [Item(0, 2, 3), Item(1, 3, 3), Item(2, 4, 3)]
    assert pack(items, goal=100).method == "first fit"


@pytest.mark.parametrize("name", ["A", "B", "D", "E", "G", "H", "J"])
def test_hard_published_sets_fit_their_memory(testdata: Path, name: str) -> None:
    """The challenging set of the MiniMalloc paper: 154 to 409 buffers, up to no slack at all."""
    with (testdata / "planner" / f"{name}.1048576.csv").open(newline="") as file:
        items = [
            Item(int(row["lower"]), int(row["upper"]), int(row["size"]))
            for row in csv.DictReader(file)
        ]
    packing = pack(items, goal=1_048_576)
    check(items, packing)
    assert packing.height <= 1_048_576
