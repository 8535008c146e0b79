"""Walks over the bit streams of kernels, to see that each holds what its job takes.

Facts: the coding that Mesa's etnaviv driver writes for V8 (Huffman symbols in pairs) and
V7 (runs of zero weights), and reference data. A damaged stream would stop the engine, or
make it write planes anywhere; weights that are merely different are not noticed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

# Code of 3 bits -> (symbol, whether the code holds one bit of the value); the code 2 is
# followed by 2 bits.
_CODES = {0: (0, 1), 4: (0, 1), 1: (1, 1), 5: (1, 1), 7: (2, 0), 3: (3, 0), 6: (4, 0)}
_LONG = {1: (5, 1), 3: (5, 1), 2: (6, 0), 0: (7, 0)}
_BIT = {4: 1, 5: 1}  # codes whose bit of the value is 1; of the long ones, suffix 3

Symbol = tuple[int, int, int]
"""Symbol, whether its code holds the lowest bit, and that bit."""

_SHORT_SYMBOLS: tuple[Symbol | None, ...] = tuple(
    None if code == 2 else (*_CODES[code], _BIT.get(code, 0)) for code in range(8)
)
_LONG_SYMBOLS: tuple[Symbol, ...] = tuple((*_LONG[suffix], int(suffix == 3)) for suffix in range(4))


@dataclass(frozen=True, slots=True)
class HuffmanCoder:
    """The symbols of a blob, by its header.

    Attributes:
        lengths: bit length of each of the 8 symbols.
        runs: run-length table; empty in plain mode.
    """

    lengths: tuple[int, ...]
    runs: bytes

    def value_bits(self, symbol: int) -> int:
        """Bits of a symbol's value."""
        length = self.lengths[symbol]
        if self.runs and length == 7:
            return 8
        if self.runs and length == 8:
            return max(1, (len(self.runs) - 3).bit_length())
        return max(length, 1)


def _windows(data: bytes) -> tuple[int, ...]:
    """For each 32-bit word of a stream, that word and the next one above it."""
    padded = data + bytes(8 + -len(data) % 4)
    words = struct.unpack(f"<{len(padded) // 4}I", padded)
    return tuple(low | high << 32 for low, high in zip(words, words[1:], strict=False))


def walk_huffman(coder: HuffmanCoder, data: bytes, bits: int, wanted: int) -> str | int:
    """Walk over a V8 stream of `bits` bits that should hold `wanted` bytes.

    Codes, suffixes and values of a pair of symbols are two steps apart.

    Returns:
        The number of kernels, which the first two bytes give; or what is wrong.
    """
    windows = _windows(data)
    value_bits = [coder.value_bits(symbol) for symbol in range(8)]
    length_of = coder.lengths
    runs = coder.runs
    codes: tuple[int, int] | None = None
    pair: tuple[Symbol, Symbol] | None = None
    at = done = kernels = 0
    while done < wanted:
        if at >= bits:
            return "the stream ends too early"
        window = windows[at >> 5] >> (at & 31)
        following = (window & 7, window >> 3 & 7)
        window >>= 6
        at += 6
        resolved: list[Symbol] = []
        for code in codes or ():
            symbol = _SHORT_SYMBOLS[code]
            if symbol is None:
                symbol = _LONG_SYMBOLS[window & 3]
                window >>= 2
                at += 2
            resolved.append(symbol)
        for number, in_code, bit in pair or ():
            count = value_bits[number] - in_code
            value = window & ((1 << count) - 1)
            window >>= count
            at += count
            value = value << 1 | bit if in_code else value
            length = length_of[number]
            size, byte = 1, 0
            if runs and length in (0, 8):
                index = value + (2 if length == 8 else 0)
                if index >= len(runs):
                    return "a run length outside its table"
                size = runs[index] + 1
            elif done < 2 or done >= wanted:
                byte = _byte(value, length, bool(runs))
            if done >= wanted:
                if size != 1 or byte:
                    return "a symbol behind the last weight"
                continue
            if done < 2:
                kernels |= byte << 8 * done
            done += size
        codes, pair = following, (resolved[0], resolved[1]) if resolved else None
    if done > wanted:
        return "a run passes the last weight"
    if at != bits:
        return f"{bits - at} bits are left behind the last weight"
    return kernels


def _byte(value: int, length: int, with_runs: bool) -> int:
    """The byte that a value stands for."""
    if with_runs and length == 7:
        return value
    magnitude = value >> 1 | (1 << (length - 1) if length else 0)
    if not value & 1:
        return magnitude
    return (-magnitude if with_runs else ~magnitude) & 0xFF


@dataclass(frozen=True, slots=True)
class DenseShape:
    """What a V7 stream is made of.

    Attributes:
        channels: of the input.
        area: taps of a kernel in one channel.
        per_core: kernels in a block of kernels.
        together: input channels that follow each other for one kernel.
    """

    channels: int
    area: int
    per_core: int
    together: int


class _Runs:
    """Reads weights, most of them without looking, and words between them."""

    def __init__(self, data: bytes) -> None:
        self._windows = _windows(data)
        self._bits = 8 * len(data)
        self._open = 0  # zero weights of the run that is left, and the value behind it
        self.at = 24
        self.run_bits = self._windows[0] & 0xFF
        self.kernels = self._windows[0] >> 8 & 0xFFFF

    @property
    def is_short(self) -> bool:
        """Whether more was read than there is."""
        return self.at > self._bits

    @property
    def is_open(self) -> bool:
        """Whether a run goes on."""
        return self._open > 0

    def _take(self, count: int) -> int:
        at = self.at
        self.at += count
        if self.at > self._bits:
            return 0
        return self._windows[at >> 5] >> (at & 31) & ((1 << count) - 1)

    def word(self) -> int:
        """32 bits that stand between weights."""
        return self._take(32)

    def skip(self, weights: int) -> None:
        """Go over so many weights."""
        if not self.run_bits:
            self.at += 8 * weights
            return
        while weights and not self.is_short:
            if not self._open:
                self._open = self._take(self.run_bits) + 1
                self.at += 8
            step = min(self._open, weights)
            self._open -= step
            weights -= step


def walk_runs(data: bytes, shape: DenseShape) -> str | list[int]:
    """Walk over a V7 stream.

    Returns:
        The output offset of each kernel; or what is wrong.
    """
    stream = _Runs(data)
    if stream.run_bits > 8:
        return f"run lengths of {stream.run_bits} bits"
    offsets: list[int] = []
    for first in range(0, stream.kernels, shape.per_core):
        count = min(shape.per_core, stream.kernels - first)
        for channel in range(0, shape.channels, shape.together):
            depth = min(shape.together, shape.channels - channel)
            is_last = channel + depth == shape.channels
            if channel and not is_last:
                stream.skip(count * depth * shape.area)
                continue
            for _ in range(count):
                rest = depth * shape.area
                if not channel:
                    stream.skip(1)
                    stream.word()  # the bias
                    rest -= 1
                stream.skip(rest)
                if is_last:
                    offsets.append(stream.word())
                if stream.is_short:
                    return "the stream ends too early"
    if stream.is_open:
        return "a run passes the last weight"
    if -(-stream.at // 512) * 512 != 8 * len(data):
        return "bytes are left behind the last weight"
    return offsets


def kernels_of_cores(channels: int, cores: int, per_core: int, depthwise: bool) -> Sequence[int]:
    """Kernels that each core of a V8 engine has."""
    used = min(channels, cores)
    if depthwise:
        return [len(range(core, channels, cores)) for core in range(used)]
    blocks = -(-channels // (cores * per_core))
    before = (blocks - 1) * per_core
    rest = channels - used * before
    return [before + rest // used + (core < rest % used) for core in range(used)]
