"""Static memory packing: buffers with lifetimes to offsets, as low as possible.

This is the dynamic storage allocation problem with all lifetimes known: each
buffer is a rectangle whose horizontal extent (time) is fixed and whose vertical
position (offset) is free; buffers that live at the same time must not overlap.
No plan can be lower than the largest sum of sizes alive at one time, so a plan
of that height is optimal and the search ends there.

Three methods run in turn until one reaches the goal: first fit over a set of
orders, an exact search (search.py), and an iterated repair of the
order of the best first fit. All are deterministic: effort is counted in steps,
never in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from fwgen.plan.search import search

REPAIR_ROUNDS = 400


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
        method: what found it: "first fit", "search" or "repair".
    """

    offsets: tuple[int, ...]
    height: int
    lower_bound: int
    method: str

    @property
    def optimal(self) -> bool:
        """True if no plan can be lower."""
        return self.height == self.lower_bound


def pack(items: Sequence[Item], goal: int | None = None, effort: int = 1) -> Packing:
    """Find offsets for all items.

    Args:
        items: what to place; an empty sequence gives height 0.
        goal: a height that is good enough; None asks for the lowest.
        effort: multiplies the steps that are tried before giving up.

    Returns:
        The lowest packing found. It is complete even if it is above the goal.
    """
    bound = lower_bound(items)
    target = max(bound, goal or 0)
    if not items:
        return Packing((), 0, 0, "first fit")
    neighbours = _neighbours(items)
    best: Packing | None = None
    best_order: list[int] = []
    for order in _orders(items):
        offsets = _first_fit(items, neighbours, order)
        height = max(o + item.size for o, item in zip(offsets, items, strict=True))
        if best is None or height < best.height:
            best, best_order = Packing(tuple(offsets), height, bound, "first fit"), order
        if height <= target:
            return best
    assert best is not None
    found = search(
        [(item.first, item.end, item.size, item.alignment) for item in items], target, effort
    )
    if found is not None:
        height = max(o + item.size for o, item in zip(found, items, strict=True))
        return Packing(tuple(found), height, bound, "search")
    return _repair(items, neighbours, best, best_order, target, effort)


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
    order: list[int],
    target: int,
    effort: int,
) -> Packing:
    """Move the items that make the height, and what lies under them, to the front."""
    random = Random(1)  # a fixed seed: the same items give the same plan
    current, offsets, height = list(order), list(best.offsets), best.height
    rounds = max(20, REPAIR_ROUNDS * 150 // max(150, len(items))) * effort
    for _ in range(rounds):
        top = [i for i in range(len(items)) if offsets[i] + items[i].size == height]
        chosen = random.choice(top)
        group = [chosen, *(j for j in neighbours[chosen] if random.random() < 0.3)]
        trial = list(current)
        position = {i: p for p, i in enumerate(trial)}
        moved = random.choice(group)
        trial.insert(random.randrange(position[chosen] + 1), trial.pop(position[moved]))
        new = _first_fit(items, neighbours, trial)
        new_height = max(o + item.size for o, item in zip(new, items, strict=True))
        # A little uphill keeps it from the first dead end.
        if new_height <= height or random.random() < 0.02:
            current, offsets, height = trial, new, new_height
        if new_height < best.height:
            best = Packing(tuple(new), new_height, best.lower_bound, "repair")
            if new_height <= target:
                break
    return best
