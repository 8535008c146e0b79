"""Static memory packing: buffers with lifetimes to offsets, as low as possible.

This is the dynamic storage allocation problem with all lifetimes known: each
buffer is a rectangle whose horizontal extent (time) is fixed and whose vertical
position (offset) is free; buffers that live at the same time must not overlap.
No plan can be lower than the largest sum of sizes alive at one time, so a plan
of that height is optimal and the work ends there.

Three methods run in turn until one reaches the goal: first fit in several
orders, the exact search of search.py, and repair of the best first fit's
order where the search gave nothing. All are deterministic: effort is counted
in steps, never in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from random import Random

from fwgen.plan.search import columns, search

DEFAULT_STEPS = 150_000  # some ten seconds of a slow machine
_REPAIR_COST = 400  # search steps that take as long as one first fit


@dataclass(frozen=True, slots=True)
class Item:
    """A buffer: it lives in [first, end) and takes `size` bytes.

    Times are integers of any origin; `end` is exclusive and above `first`.
    The offset will be a multiple of `alignment`.
    """

    first: int
    end: int
    size: int
    alignment: int = 1


@dataclass(frozen=True, slots=True)
class Packing:
    """Offsets of the items in their order, and how good that is.

    Attributes:
        height: bytes from offset 0 to the end of the highest item.
        lower_bound: the largest sum of sizes alive at one time.
        proven: no packing is lower than this: `lower_bound`, or more where the
            search went through all there is.
        method: what found it: "first fit", "search" or "repair".
    """

    offsets: tuple[int, ...]
    height: int
    lower_bound: int
    proven: int
    method: str

    @property
    def optimal(self) -> bool:
        """True if no plan can be lower."""
        return self.height == self.proven


def pack(items: Sequence[Item], goal: int | None = None, steps: int = DEFAULT_STEPS) -> Packing:
    """Find offsets for all items.

    Args:
        items: what to place; an empty sequence gives height 0.
        goal: a height that is good enough; None asks for the lowest.
        steps: how much to try before giving up.

    Returns:
        The lowest packing found. It is complete even if it is above the goal.
    """
    bound = lower_bound(items)
    target = max(bound, goal or 0)
    if not items:
        return Packing((), 0, 0, 0, "first fit")
    neighbours = _neighbours(items)
    best: Packing | None = None
    best_order: list[int] = []
    for order in _orders(items):
        offsets = _first_fit(items, neighbours, order)
        height = _height(items, offsets)
        if best is None or height < best.height:
            best, best_order = Packing(tuple(offsets), height, bound, bound, "first fit"), order
        if height <= target:
            return best
    assert best is not None
    best = _improve(items, best, target, steps)
    if best.method == "search" or best.optimal:
        return best
    return _repair(items, neighbours, best, best_order, target, steps // _REPAIR_COST)


def _height(items: Sequence[Item], offsets: Sequence[int]) -> int:
    return max(offset + item.size for offset, item in zip(offsets, items, strict=True))


def _improve(items: Sequence[Item], best: Packing, target: int, steps: int) -> Packing:
    """Search at the target height, then between what is known to be possible and not."""
    solid = [i for i, item in enumerate(items) if item.size > 0]
    unit = gcd(*(items[i].size for i in solid))
    if any(unit % items[i].alignment for i in solid):
        return best  # the search knows no alignment but that of the sizes
    spans = columns([(items[i].first, items[i].end) for i in solid])
    sizes = [items[i].size for i in solid]
    # Every packing that cannot sink has a height in whole units.
    height = max(best.lower_bound, target // unit * unit)
    floor = height  # nothing lower is asked for
    share = steps if target > best.lower_bound else steps // 2  # a goal is all that counts
    while steps > 0 and best.height > floor:
        outcome = search(spans, sizes, height, min(share, steps))
        steps -= max(1, outcome.steps)
        if outcome.offsets is not None:
            offsets = [0] * len(items)
            for i, offset in zip(solid, outcome.offsets, strict=True):
                offsets[i] = offset
            best = replace(
                best, offsets=tuple(offsets), height=_height(items, offsets), method="search"
            )
        else:
            floor = height + unit
            if outcome.exhausted:
                best = replace(best, proven=max(best.proven, floor))
        share = max(1000, share // 2)
        height = (floor + best.height - unit) // 2 // unit * unit
        height = max(height, floor)
    return best


def lower_bound(items: Iterable[Item]) -> int:
    """The largest sum of sizes of items that are alive at the same time."""
    changes: dict[int, int] = {}
    for item in items:
        changes[item.first] = changes.get(item.first, 0) + item.size
        changes[item.end] = changes.get(item.end, 0) - item.size
    live = most = 0
    for time in sorted(changes):
        live += changes[time]
        most = max(most, live)
    return most


def _neighbours(items: Sequence[Item]) -> list[list[int]]:
    """For each item those that live at the same time."""
    result: list[list[int]] = [[] for _ in items]
    by_start = sorted(range(len(items)), key=lambda i: (items[i].first, i))
    active: list[int] = []
    for i in by_start:
        active = [j for j in active if items[j].end > items[i].first]
        for j in active:
            result[i].append(j)
            result[j].append(i)
        active.append(i)
    return result


def _orders(items: Sequence[Item]) -> Iterable[list[int]]:
    """Orders in which first fit does well on one kind of network or another."""
    numbers = range(len(items))

    def length(i: int) -> int:
        return items[i].end - items[i].first

    yield sorted(numbers, key=lambda i: (-items[i].size, -length(i), i))
    yield sorted(numbers, key=lambda i: (-length(i), -items[i].size, i))
    yield sorted(numbers, key=lambda i: (-length(i) * items[i].size, i))
    yield sorted(numbers, key=lambda i: (items[i].first, -items[i].size, i))
    yield sorted(numbers, key=lambda i: (-items[i].end, -items[i].size, i))
    # Items of the most crowded moment first: there the height is decided.
    crowd = _crowding(items)
    yield sorted(numbers, key=lambda i: (-crowd[i], -length(i), -items[i].size, i))
    yield sorted(numbers, key=lambda i: (-crowd[i], -items[i].size, -length(i), i))


def _crowding(items: Sequence[Item]) -> list[int]:
    """For each item the largest sum of sizes alive at some time of its life."""
    times = sorted({item.first for item in items})
    live = [sum(i.size for i in items if i.first <= t < i.end) for t in times]
    return [
        max(total for t, total in zip(times, live, strict=True) if item.first <= t < item.end)
        for item in items
    ]


def _first_fit(
    items: Sequence[Item], neighbours: Sequence[Sequence[int]], order: Sequence[int]
) -> list[int]:
    """Place items in order, each as low as those before it allow."""
    offsets = [-1] * len(items)
    for i in order:
        item = items[i]
        mask = item.alignment - 1
        taken = sorted((offsets[j], items[j].size) for j in neighbours[i] if offsets[j] >= 0)
        low = 0
        for offset, size in taken:
            if low + item.size <= offset:
                break
            if offset + size > low:
                low = (offset + size + mask) & ~mask
        offsets[i] = low
    return offsets


def _repair(
    items: Sequence[Item],
    neighbours: Sequence[Sequence[int]],
    best: Packing,
    order: Sequence[int],
    target: int,
    rounds: int,
) -> Packing:
    """Move the items that make the height, and what lies under them, to the front."""
    random = Random(1)
    current, offsets, height = list(order), list(best.offsets), best.height
    for _ in range(rounds):
        top = [i for i in range(len(items)) if offsets[i] + items[i].size == height]
        chosen = random.choice(top)
        moved = random.choice([chosen, *(j for j in neighbours[chosen] if random.random() < 0.3)])
        trial = list(current)
        place = random.randrange(trial.index(chosen) + 1)
        trial.remove(moved)
        trial.insert(place, moved)
        new = _first_fit(items, neighbours, trial)
        new_height = _height(items, new)
        # A little uphill leads out of the first dead end.
        if new_height <= height or random.random() < 0.02:
            current, offsets, height = trial, new, new_height
        if new_height < best.height:
            best = replace(best, offsets=tuple(new), height=new_height, method="repair")
            if new_height <= target:
                break
    return best
