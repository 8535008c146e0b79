"""Exact search for a packing of a given height: fill the notches of a skyline.

Time is cut into columns, one for each maximal set of items that live together.
`floor[c]` is the height up to which column c is settled. A notch is a run of
columns of equal floor between higher neighbours:

      ___            An item that covers the notch's leftmost column and also
     |   |  notch    lies inside the notch must start at its left wall; any
     |   |_______    other item over that column rests on a wall or on an item
     |           |   inside. So either one of the few items that start there is
                     the next one, or the column stays empty up to a known
                     height: that is all that can happen, a complete branching.
                     The same holds for the rightmost column.

What a column can waste is known: the height minus its floor minus the sizes
still to come. Columns without slack leave one or two choices, so the search
works on the notch with the fewest, and prefers columns that were dead ends
before. A column that the items inside a notch cannot fill up to its lower wall
wastes the rest, and what it wastes must not be more than it can.

What happens in a notch depends on nothing but the columns in and beside it. So a
dead end has a reason, a set of columns: the search jumps back over the moves that
touch none of them (independent sections of time do not multiply), and a state
found dead once, by whatever stacking of the same items, is not entered again, in
later runs neither.

A run that meets too many dead ends is given up for one with other
preferences among the choices. Steps are counted, not seconds, and the random
source has a fixed seed: the same input gives the same packing everywhere.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random

# Tuned on hard instances with 154 to 409 items and 0 to 6 % slack: weighting items
# by a power of the lifetime times size, each power suits some of them.
_LIFETIME_POWERS = (1, 2, 0.5, 3)
_DEAD_ENDS = (300, 1000)  # per run; both double every eight runs, so that small
_DOUBLING = 8  # instances without a solution are searched to the end
_FORGET = 0.7  # what remains of the memory of dead ends after a run
_CALM = 10.0  # dead ends that matter as much as the number of choices
_EMPTY_CHOICE = 2  # leaving a column empty counts as further choices: it decides little

Rectangle = tuple[int, int, int]  # first column, one past the last, size
Move = tuple[int, int, int, int]  # item or -1, first column, one past the last, new floor


@dataclass(slots=True)
class Outcome:
    """What a search found.

    Attributes:
        offsets: of the items, or None.
        exhausted: with offsets None: there is no packing of this height.
        steps: moves tried.
    """

    offsets: list[int] | None
    exhausted: bool
    steps: int


_DEAD = (-1, 0.0, 0)
_FORCED = (0, 0.0, 0)


@dataclass(slots=True)
class _Notch:
    """A place where the skyline can be filled, and all that can happen there.

    `rank` orders notches by how little choice they leave.
    """

    left: int
    right: int
    rank: tuple[int, float, int]
    moves: list[Move] = field(default_factory=list)


@dataclass(slots=True)
class _Choice:
    """A notch on the way down, and what is still to try in it.

    `reason` has the columns, as bits, that make what was tried impossible: it stays
    impossible while no move over these columns changes.
    """

    notches: list[_Notch]
    notch: _Notch
    moves: Iterator[Move]
    reason: int
    key: bytes


def search(
    spans: Sequence[tuple[int, int]], sizes: Sequence[int], height: int, budget: int
) -> Outcome:
    """Look for offsets such that nothing ends above `height`.

    Args:
        spans: first column and one past the last of each item, as `columns` gives.
        sizes: of the items, all above 0.
        height: largest end allowed.
        budget: steps to spend.
    """
    rectangles = [(a, b, size) for (a, b), size in zip(spans, sizes, strict=True)]
    width = max((b for _, b in spans), default=0)
    load = [0] * width
    for a, b, size in rectangles:
        for column in range(a, b):
            load[column] += size
    if max(load, default=0) > height:
        return Outcome(None, True, 0)
    random = Random(1)
    trouble = [0.0] * width
    dead: dict[bytes, int] = {}
    steps = number = 0
    while steps < budget:
        power = _LIFETIME_POWERS[number % len(_LIFETIME_POWERS)]
        dead_ends = (
            _DEAD_ENDS[number // len(_LIFETIME_POWERS) % len(_DEAD_ENDS)] << number // _DOUBLING
        )
        weights = [(b - a) ** power * size * (1 + random.random()) for a, b, size in rectangles]
        run = _Run(rectangles, load, height, weights, trouble, dead)
        outcome = run.search(dead_ends, budget - steps)
        steps += outcome.steps
        if outcome.offsets is not None or outcome.exhausted:
            return Outcome(outcome.offsets, outcome.exhausted, steps)
        trouble = [count * _FORGET for count in trouble]
        number += 1
    return Outcome(None, False, steps)


def columns(lifetimes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Lifetimes [first, end) to column ranges: one column a maximal set of live items."""
    changes = sorted(
        [(first, 1, i) for i, (first, _) in enumerate(lifetimes)]
        + [(end, 0, i) for i, (_, end) in enumerate(lifetimes)]
    )
    result = [(0, 0)] * len(lifetimes)
    column = 0
    grown = False  # whether something started since the last column was closed
    starts = [0] * len(lifetimes)
    for _, is_start, i in changes:
        if is_start:
            starts[i] = column
            grown = True
        else:
            if grown:
                column += 1
                grown = False
            result[i] = (starts[i], column)
    return result


class _Run:
    """One depth-first descent with fixed preferences.

    Args:
        load: sum of sizes by column.
        weights: of the items; the heavier is tried first.
        trouble: dead ends seen by column, counted up here.
        dead: states without a packing and the columns that are the reason, added to here.
    """

    def __init__(
        self,
        items: list[Rectangle],
        load: list[int],
        height: int,
        weights: list[float],
        trouble: list[float],
        dead: dict[bytes, int],
    ) -> None:
        self.dead = dead
        self.items = items
        self.height = height
        self.trouble = trouble
        self.floor = [0] * len(load)
        self.rest = list(load)  # sizes still to come, by column
        self.placed = bytearray(len(items))
        self.offsets = [0] * len(items)
        by_weight = sorted(range(len(items)), key=lambda i: (-weights[i], i))
        self.preference = [0] * len(items)
        self.starting: list[list[int]] = [[] for _ in load]
        for place, i in enumerate(by_weight):
            self.preference[i] = place
            self.starting[items[i][0]].append(i)
        self.covering: list[list[int]] = [[] for _ in load]
        for i in sorted(by_weight, key=lambda i: items[i][1] - items[i][0]):
            for column in range(items[i][0], items[i][1]):
                self.covering[column].append(i)

    def search(self, dead_ends: int, budget: int) -> Outcome:
        """Descend until a packing, the end of all choices or a limit is reached."""
        notches = list(self.notches_in(0, len(self.floor)))
        stack: list[_Choice] = []
        undo: list[tuple[int, int, int, list[int]]] = []
        dead = self.dead
        steps = 0
        while notches:
            key = self.state()
            reason = dead.get(key)
            if reason is None:
                chosen = min(notches, key=lambda notch: notch.rank)
                moves = iter(chosen.moves)
                stack.append(_Choice(notches, chosen, moves, _around(chosen), key))
            while True:
                if reason is not None:
                    # Back to the last move that has to do with it.
                    while True:
                        dead_ends -= 1
                        if not undo:
                            return Outcome(None, True, steps)
                        if dead_ends < 0:
                            return Outcome(None, False, steps)
                        last = undo.pop()
                        self.take_back(*last)
                        if reason & ((1 << last[2]) - (1 << last[1])):
                            break
                        stack.pop()
                    stack[-1].reason |= reason
                choice = stack[-1]
                move = next(choice.moves, None)
                if move is not None:
                    break
                reason = choice.reason
                dead[choice.key] = reason
                stack.pop()
            steps += 1
            if steps > budget:
                return Outcome(None, False, steps)
            undo.append(self.apply(move))
            chosen = choice.notch
            notches = [notch for notch in choice.notches if notch is not chosen]
            notches += self.notches_in(chosen.left, chosen.right)
        return Outcome(self.offsets, False, steps)

    def state(self) -> bytes:
        """What all that follows depends on."""
        return blake2b(self.placed + array("q", self.floor), digest_size=16).digest()

    def apply(self, move: Move) -> tuple[int, int, int, list[int]]:
        item, a, b, top = move
        floor, rest = self.floor, self.rest
        before = floor[a:b]
        if item < 0:
            floor[a:b] = [top] * (b - a)
            return (item, a, b, before)
        size = self.items[item][2]
        self.placed[item] = 1
        self.offsets[item] = top - size
        for column in range(a, b):
            rest[column] -= size
            # Nothing more to come: the column is a wall.
            floor[column] = top if rest[column] else self.height
        return (item, a, b, before)

    def take_back(self, item: int, a: int, b: int, before: list[int]) -> None:
        self.floor[a:b] = before
        if item >= 0:
            self.placed[item] = 0
            size = self.items[item][2]
            for column in range(a, b):
                self.rest[column] += size

    def notches_in(self, left: int, right: int) -> Iterator[_Notch]:
        """Notches among the runs that touch [left, right) or its neighbours."""
        floor, width = self.floor, len(self.floor)
        if left > 0:
            left -= 1
            while left > 0 and floor[left - 1] == floor[left]:
                left -= 1
        column = left
        while column <= right and column < width:
            start, level = column, floor[column]
            while column < width and floor[column] == level:
                column += 1
            if level >= self.height:
                continue
            if start > 0 and floor[start - 1] < level:
                continue
            if column < width and floor[column] < level:
                continue
            yield self.notch(start, column, level)

    def notch(self, left: int, right: int, level: int) -> _Notch:
        """All that can happen in a notch, by its end column that leaves less choice."""
        items, placed, rest, floor = self.items, self.placed, self.rest, self.floor
        room = self.height - level
        inside = [
            i
            for column in range(left, right)
            for i in self.starting[column]
            if not placed[i] and items[i][1] <= right
        ]
        low = min((floor[c] for c in (left - 1, right) if 0 <= c < len(floor)), default=self.height)
        if not inside:
            if low - level > room - max(rest[left:right]):
                for column in range(left, right):
                    self.trouble[column] += 1 / (right - left)
                return _Notch(left, right, _DEAD)
            return _Notch(left, right, _FORCED, [(-1, left, right, low)])
        # Whatever is not inside rests on a wall, so this much of the notch has to be filled.
        missing = [low - level] * (right - left)
        for i in inside:
            a, b, size = items[i]
            for column in range(a - left, b - left):
                missing[column] -= size
        for column, gap in enumerate(missing, left):
            if gap > room - rest[column]:
                self.trouble[column] += 1
                return _Notch(left, right, _DEAD)
        best: _Notch | None = None
        for column in (left, right - 1):
            slack = room - rest[column]
            here = [i for i in inside if items[i][0] <= column < items[i][1]]
            here.sort(key=self.preference.__getitem__)
            # Items of one shape are the same choice.
            shapes = {items[i]: i for i in reversed(here)}
            moves: list[Move] = [
                (i, a, b, level + size) for (a, b, size), i in reversed(shapes.items())
            ]
            if slack > 0:
                top = self.next_level(left, right, level, column, inside, here)
                if top - level <= slack:
                    moves.append((-1, column, column + 1, top))
            if not moves:
                self.trouble[column] += 1
                return _Notch(left, right, _DEAD)
            if len(moves) == 1:
                return _Notch(left, right, _FORCED, moves)
            choices = len(moves) + (_EMPTY_CHOICE if slack > 0 else 0)
            rank = (1, choices / (_CALM + self.trouble[column]), level)
            if best is None or rank < best.rank:
                best = _Notch(left, right, rank, moves)
        assert best is not None
        return best

    def next_level(
        self,
        left: int,
        right: int,
        level: int,
        column: int,
        inside: list[int],
        here: list[int],
    ) -> int:
        """The lowest place above `level` where an item over `column` can rest."""
        items, floor, placed = self.items, self.floor, self.placed
        top = self.height
        if here:
            beside = [items[i][2] for i in inside if not items[i][0] <= column < items[i][1]]
            top = level + min(beside, default=self.height)
        # No other item can rest lower than the lower wall; mostly the first
        # ones, which are short, reach that far.
        least = min(
            floor[left - 1] if left > 0 else top, floor[right] if right < len(floor) else top
        )
        for i in self.covering[column]:
            if top <= least:
                break
            if not placed[i]:
                a, b, _ = items[i]
                if a < left or b > right:
                    top = min(top, max(floor[a:b]))
        return top


def _around(notch: _Notch) -> int:
    """The columns that decide what can happen in a notch, as bits."""
    return (1 << (notch.right + 1)) - (1 << max(0, notch.left - 1))
