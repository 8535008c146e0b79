"""A map from byte ranges of one memory to the operations whose values they hold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

Values = frozenset[int]


class IntervalMap:
    """Every byte of [0, size) has a set of numbers; equal neighbours may be separate."""

    def __init__(self, size: int, value: Values) -> None:
        self._size = size
        self._lows = [0]
        self._values = [value]

    def overlap(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        """The pieces of [low, high) as (low, high, values)."""
        at = bisect_right(self._lows, low) - 1
        while at < len(self._lows) and self._lows[at] < high:
            end = self._lows[at + 1] if at + 1 < len(self._lows) else self._size
            yield max(low, self._lows[at]), min(high, end), self._values[at]
            at += 1

    def add(self, low: int, high: int, number: int, *, keep: bool) -> None:
        """Give [low, high) the set {number}, or add the number to what is there if `keep`."""
        if low >= high:
            return
        mine = frozenset((number,))
        pieces = [
            (start, value | mine if keep else mine) for start, _, value in self.overlap(low, high)
        ]
        merged = [pieces[0]]
        for start, value in pieces[1:]:
            if value != merged[-1][1]:
                merged.append((start, value))
        first = bisect_right(self._lows, low) - 1
        last = bisect_right(self._lows, high - 1) - 1
        lows = [start for start, _ in merged]
        values = [value for _, value in merged]
        if self._lows[first] < low:
            lows.insert(0, self._lows[first])
            values.insert(0, self._values[first])
        end = self._lows[last + 1] if last + 1 < len(self._lows) else self._size
        if end > high:
            lows.append(high)
            values.append(self._values[last])
        self._lows[first : last + 1] = lows
        self._values[first : last + 1] = values
