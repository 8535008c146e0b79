"""A TP job: a window of pixels, perhaps maxima, the value function, seven output loops.

Written for reading: a Python loop for each output. Facts: Mesa's etnaviv (fields of the
descriptor) and vendor simulator outputs (reference data).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fwgen.reference.nvdla.memory import DRAM, Memory, ReferenceGuestError, ReferenceUnsupported
from fwgen.reference.vip.nn_descriptor import Ring
from fwgen.reference.vip.tp_fc import run_fc
from fwgen.reference.vip.tp_value import TABLE_ENTRIES, cut_float, look_up, requantise

Bits = Callable[[int, int, int], int]

# (word, low bit, bits, the only value that is understood)
_FIXED = (
    (6, 2, 1, 0), (6, 3, 1, 1), (6, 4, 1, 1), (6, 5, 1, 0), (6, 18, 1, 0), (6, 26, 1, 0),
    (6, 28, 1, 0), (6, 29, 1, 1), (12, 0, 1, 0), (12, 1, 1, 1), (12, 5, 23, 0),
    (12, 29, 1, 0), (24, 0, 5, 10), (24, 5, 5, 0), (24, 15, 9, 0), (24, 28, 4, 0),
    (29, 0, 16, 0),
)  # fmt: skip
_TAP_STRIDE = {0: 1, 1: 1, 3: 2}


def signed(value: int, bits: int) -> int:
    """Two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


def wrap(address: int, ring: Ring) -> int:
    """The ring rule: what lies behind the end starts again at the beginning."""
    address &= 0xFFFFFFFF
    while ring.size and address >= ring.end:
        address -= ring.size
    return address


@dataclass
class Loops:
    """Seven counters, the first the fastest, and where they point.

    A counter that reaches its count starts again and advances the next; a count of 0 is
    never reached. Counters 1 to 3 may be ended by an event instead of their count.
    """

    increments: Sequence[int]
    counts: Sequence[int]
    ended_by_event: Sequence[bool]  # of counters 1, 2, 3

    def __post_init__(self) -> None:
        self.counters = [0] * 7

    def offset(self) -> int:
        """Bytes from the output address."""
        return sum(c * i for c, i in zip(self.counters, self.increments, strict=True))

    def advance(self, k: int) -> None:
        """One step of counter k."""
        self.counters[k] += 1
        if k == 6 or (1 <= k <= 3 and self.ended_by_event[k - 1]):
            return
        if self.counters[k] == self.counts[k]:
            self.counters[k] = 0
            self.advance(k + 1)

    def row_done(self) -> None:
        """An output row of a tile is complete."""
        if self.ended_by_event[0]:
            self.counters[0] = self.counters[1] = 0
            self.advance(2)

    def tile_done(self) -> None:
        """A tile is complete."""
        if self.ended_by_event[1]:
            self.counters[2] = 0
            self.advance(3)
        if self.ended_by_event[2]:
            self.counters[3] = 0
            self.advance(4)


def _tiles(window: int, tile: int, step: int, taps: int) -> Iterator[tuple[int, int]]:
    """(start, size) of the tiles in one direction."""
    at = 0
    while at < window and (at == 0 or window - at >= taps):
        yield at, min(tile, window - at)
        at += step


def _loops(bits: Bits) -> Loops:
    def increment(word: int) -> int:
        return signed(bits(word, 0, 32), 32)

    return Loops(
        [increment(word) for word in (14, 15, 17, 18, 20, 21, 23)],
        [
            bits(16, 0, 16), bits(16, 16, 16), bits(19, 0, 16), bits(19, 16, 16),
            bits(22, 0, 16), bits(22, 16, 16), 0,
        ],
        [bool(bits(12, 2, 1)), bool(bits(12, 3, 1)), bool(bits(12, 4, 1))],
    )  # fmt: skip


def _values(bits: Bits, memory: Memory) -> list[int]:
    """The value function of each byte."""
    in_zero = bits(29, 24, 8)
    shift = signed(bits(24, 26, 2) << 5 | bits(24, 10, 5), 7)
    table: list[int] = []
    if bits(6, 27, 1):
        if bits(6, 30, 2) != 3:
            raise ReferenceUnsupported("a table that is not loaded from memory")
        raw = memory.gather(DRAM, bits(11, 0, 32) + np.arange(4 * TABLE_ENTRIES))
        table = [int(word) for word in raw.view("<u4")]
    found = []
    for byte in range(256):
        if table:
            y0 = cut_float(look_up(table, byte - in_zero, bool(bits(12, 28, 1))))
        else:
            y0 = Fraction(byte - in_zero)
        found.append(requantise(y0, bits(30, 8, 15), shift, bits(30, 0, 8)))
    return found


def run_tp_job(words: Sequence[int], memory: Memory) -> None:
    """Run one job in a memory whose segments lie in the space DRAM.

    Raises:
        ReferenceGuestError: the job is wrong.
        ReferenceUnsupported: it asks for what is not known.
    """

    def bits(word: int, low: int, count: int) -> int:
        return words[word] >> low & ((1 << count) - 1)

    for word, low, count, value in _FIXED:
        if bits(word, low, count) != value:
            raise ReferenceUnsupported(f"word {word}, bit {low}: {bits(word, low, count)}")
    in_ring = Ring(bits(25, 0, 26) << 6, bits(26, 0, 26) << 6)
    out_ring = Ring(bits(27, 0, 26) << 6, bits(28, 0, 26) << 6)

    def load(address: int) -> int:
        return int(memory.gather(DRAM, np.array([wrap(address, in_ring)]))[0])

    def store(address: int, byte: int) -> None:
        memory.scatter(DRAM, np.array([wrap(address, out_ring)]), np.array([byte]))

    sequence = bits(6, 0, 2)
    if sequence == 3:
        shift = signed(bits(24, 26, 2) << 5 | bits(24, 10, 5), 7)
        run_fc(words, memory, load, store, shift)
        return
    if sequence != 0 or bits(24, 24, 2) > 1:
        raise ReferenceUnsupported("tile sequence or border mode")
    _run_window(bits, load, store, _values(bits, memory))


def _run_window(
    bits: Bits,
    load: Callable[[int], int],
    store: Callable[[int, int], None],
    values: Sequence[int],
) -> None:
    width, height, planes = bits(0, 0, 16), bits(1, 0, 16), bits(1, 16, 16)
    x_start, y_start = signed(bits(4, 0, 16), 16), signed(bits(4, 16, 16), 16)
    columns = signed(bits(5, 0, 16), 16) - x_start + 1
    rows = signed(bits(5, 16, 16), 16) - y_start + 1
    if 0 in (width, height) or columns < 1 or rows < 1:
        raise ReferenceGuestError("no image or no window")
    if 0 in (bits(8, 0, 16), bits(8, 16, 16), bits(9, 0, 16), bits(9, 16, 16)):
        raise ReferenceGuestError("tiles of no size or step")
    h, v = bits(6, 6, 3), bits(6, 16, 2)
    if h not in _TAP_STRIDE or v not in _TAP_STRIDE:
        raise ReferenceUnsupported(f"processing {h}, {v}")
    h_taps = bits(6, 9, 6) + 1 if h else 1
    v_taps = bits(6, 19, 6) + 1 if v else 1
    replicate = bits(24, 24, 2) == 1

    def pixel(z: int, x: int, y: int) -> int:
        x, y = x + x_start, y + y_start
        if replicate:
            x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
        elif not (0 <= x < width and 0 <= y < height):
            return bits(29, 24, 8)
        return load(bits(10, 0, 32) + z * bits(3, 0, 32) + y * bits(2, 0, 16) + x)

    loops = _loops(bits)
    for z in range(planes):
        for ty, tile_rows in _tiles(rows, bits(8, 16, 16), bits(9, 16, 16), v_taps):
            for tx, tile_columns in _tiles(columns, bits(8, 0, 16), bits(9, 0, 16), h_taps):
                for oy in range((tile_rows - v_taps) // _TAP_STRIDE[v] + 1):
                    for ox in range((tile_columns - h_taps) // _TAP_STRIDE[h] + 1):
                        x, y = tx + ox * _TAP_STRIDE[h], ty + oy * _TAP_STRIDE[v]
                        value = max(
                            pixel(z, x + i, y + j) for j in range(v_taps) for i in range(h_taps)
                        )
                        store(bits(13, 0, 32) + loops.offset(), values[value])
                        loops.advance(0)
                    loops.row_done()
                loops.tile_done()
