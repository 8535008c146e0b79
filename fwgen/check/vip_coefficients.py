"""Writes coefficient blobs of the VIP's NN engine: what the readers of them are tested with.

Where a coding leaves a choice (another symbol for the same byte, other run
lengths, dummy symbols at the end), a random one is made, so that decoders meet
more than one compiler's habits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

RUN_TABLES = (0, 4, 6, 10, 18)
_BLOCK = 9
_FILL = 0  # what stands behind the last weight of a kernel

# Symbol -> (code, suffix) by the lowest bit of its value, or one of them for any value.
_WITH_BIT = {
    0: ((0, None), (4, None)),
    1: ((1, None), (5, None)),
    5: ((2, 1), (2, 3)),
}
_WITHOUT_BIT = {2: (7, None), 3: (3, None), 4: (6, None), 6: (2, 2), 7: (2, 0)}


class BitWriter:
    """Bits, least significant first."""

    def __init__(self) -> None:
        self._done = bytearray()
        self._rest = 0
        self.length = 0

    def put(self, value: int, count: int) -> None:
        """Append the low `count` bits."""
        self._rest |= (value & ((1 << count) - 1)) << (self.length - 8 * len(self._done))
        self.length += count
        whole = self.length // 8 - len(self._done)
        self._done += (self._rest & ((1 << 8 * whole) - 1)).to_bytes(whole, "little")
        self._rest >>= 8 * whole

    def bytes(self, multiple: int = 64) -> bytes:
        """All of them, filled up with zeros to a multiple of so many bytes."""
        data = bytes(self._done) + bytes([self._rest] if self.length % 8 else [])
        return data.ljust(-(-len(data) // multiple) * multiple, b"\0")


@dataclass(frozen=True)
class _Token:
    """One symbol: its code, suffix and the bits of its value."""

    code: int
    suffix: int | None
    value: int
    count: int


class HuffmanCoder:
    """Codes bytes for V8, with a random symbol map and run-length table.

    Args:
        rng: makes the choices.
        table_size: entries of the run-length table, 0 for none.
    """

    def __init__(self, rng: random.Random, table_size: int) -> None:
        self._rng = rng
        self.table = [rng.randrange(rng.choice([4, 20, 256])) for _ in range(table_size)]
        lengths = list(range(8))
        if table_size:
            left_out = rng.randrange(1, 7)
            lengths = [n for n in range(9) if n != left_out]
        rng.shuffle(lengths)
        self.lengths = lengths

    def header(self) -> bytes:
        """The first 28 bytes of a blob."""
        symbols = sum(n << (4 * s) for s, n in enumerate(self.lengths))
        table = bytes(self.table).ljust(18, b"\0")
        return bytes([0x10, len(self.table)]) + table + symbols.to_bytes(4, "little") + bytes(4)

    def _token(self, length: int, value: int, count: int) -> _Token:
        symbol = self.lengths.index(length)
        if symbol in _WITH_BIT:
            code, suffix = _WITH_BIT[symbol][value & 1]
            return _Token(code, suffix, value >> 1, count - 1)
        code, suffix = _WITHOUT_BIT[symbol]
        return _Token(code, suffix, value, count)

    def _byte(self, byte: int) -> _Token:
        signed = byte - 256 if byte > 127 else byte
        if not self.table:
            magnitude = ~signed if signed < 0 else signed
            length = magnitude.bit_length()
            value = (magnitude & ~(1 << length >> 1)) << 1 | (signed < 0)
            return self._token(length, value, max(length, 1))
        length = abs(signed).bit_length()
        if length == 0 or length not in self.lengths or length > 6 or self._rng.random() < 0.05:
            return self._token(7, byte, 8)
        value = (abs(signed) & ~(1 << length >> 1)) << 1 | (signed < 0)
        return self._token(length, value, length)

    def _run(self, index: int) -> _Token:
        if index < 2:
            return self._token(0, index, 1)
        size = len(self.table) - 2
        return self._token(8, index - 2, max(1, (size - 1).bit_length()))

    def _tokens(self, data: bytes) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while at < len(data):
            window = data[at : at + 256]
            zeros = len(window) - len(window.lstrip(b"\0"))
            fitting = [i for i, n in enumerate(self.table) if n + 1 <= zeros]
            if fitting and self._rng.random() < 0.9:
                longest = max(fitting, key=lambda i: self.table[i])
                index = longest if self._rng.random() < 0.8 else self._rng.choice(fitting)
                tokens.append(self._run(index))
                at += self.table[index] + 1
            else:
                tokens.append(self._byte(data[at]))
                at += 1
        return tokens

    def _dummies(self) -> list[_Token]:
        codes = [self._rng.randrange(8) for _ in range(2)]
        return [_Token(c, self._rng.randrange(4) if c == 2 else None, 0, 0) for c in codes]

    def stream(self, data: bytes) -> BitWriter:
        """Code these bytes."""
        tokens = self._tokens(data)
        if len(tokens) % 2:
            tokens.append(self._byte(0))
        pairs = [tokens[i : i + 2] for i in range(0, len(tokens), 2)]
        count = len(pairs)
        pairs += [self._dummies(), self._dummies()]
        bits = BitWriter()
        for step, pair in enumerate(pairs):
            for token in pair:
                bits.put(token.code, 3)
            for token in pairs[step - 1] if step >= 1 else ():
                if token.suffix is not None:
                    bits.put(token.suffix, 2)
            for token in pairs[step - 2] if 2 <= step < count + 2 else ():
                bits.put(token.value, token.count)
        return bits


def v8_kernels_of_cores(
    kernels: int, cores: int, per_core: int, depthwise: bool
) -> list[list[list[int]]]:
    """Kernels of each used core, by superblock."""
    used = min(kernels, cores)
    owned: list[list[list[int]]] = [[] for _ in range(used)]
    if depthwise:
        groups = [list(range(kernels))[g : g + used] for g in range(0, kernels, used)]
        for group in groups:
            for core, kernel in enumerate(reversed(group)):
                owned[core].append([kernel])
        return owned
    at = 0
    while at < kernels:
        now = min(per_core * used, kernels - at)
        for core in range(used):
            count = now // used + (core < now % used)
            owned[core].append(list(range(at, at + count)))
            at += count
    return owned


def encode_v8(
    rng: random.Random,
    weights: Bytes,
    start: Ints,
    *,
    cores: int,
    per_core: int,
    weight_zero: int,
    table_size: int = 0,
    depthwise: bool = False,
) -> bytes:
    """A blob for V8.

    Args:
        rng: makes the choices.
        weights: (kernels, channels, rows, columns), channels 1 if depthwise.
        start: what each kernel's sums start with, int32 values.
        cores: NN cores of the configuration.
        per_core: kernels per core of a superblock.
        weight_zero: zero point of the weights.
        table_size: one of RUN_TABLES.
        depthwise: order of depthwise kernels.
    """
    coder = HuffmanCoder(rng, table_size)
    kernels = weights.shape[0]
    flat = (weights.reshape(kernels, -1).astype(np.int64) - weight_zero) % 256
    size = flat.shape[1]
    blocks = -(-size // _BLOCK)
    padded = np.full((kernels, blocks * _BLOCK), _FILL, np.uint8)
    padded[:, :size] = flat
    streams: list[BitWriter] = []
    for owned in v8_kernels_of_cores(kernels, cores, per_core, depthwise):
        data = sum(len(k) for k in owned).to_bytes(2, "little")
        for superblock in owned:
            for block in range(blocks):
                for kernel in superblock:
                    data += padded[kernel, block * _BLOCK : (block + 1) * _BLOCK].tobytes()
        streams.append(coder.stream(data))
    header = coder.header()
    for core in range(cores):
        length = streams[core].length if core < len(streams) else 0
        header += length.to_bytes(4, "little")
    header = header.ljust(-(-len(header) // 64) * 64, b"\0")
    body = b"".join(stream.bytes() for stream in streams)
    return header + body + start.astype("<i4").tobytes()


def _v7_order(members: Sequence[int], channels: int, block: int) -> list[tuple[int, int]]:
    return [
        (kernel, channel)
        for first in range(0, channels, block)
        for kernel in members
        for channel in range(first, min(first + block, channels))
    ]


def encode_v7(
    rng: random.Random,
    weights: Bytes,
    start: Ints,
    planes: Ints,
    *,
    cores: int,
    per_core: int,
    weight_zero: int,
    run_bits: int = 0,
    zdp: bool = False,
) -> bytes:
    """A blob for V7, its kernels dealt out to the cores at random.

    Args:
        rng: makes the choices.
        weights: (kernels, channels, rows, columns).
        start: what each kernel's sums start with, int32 values.
        planes: offset of each kernel's output plane.
        cores: NN cores of the configuration.
        per_core: kernels per core of a superblock.
        weight_zero: zero point of the weights.
        run_bits: bits of a run length, 0 for none.
        zdp: 1x1 kernels go by blocks of 6 channels.
    """
    kernels, channels = weights.shape[:2]
    order = list(range(kernels))
    rng.shuffle(order)
    cuts = sorted(rng.randrange(kernels + 1) for _ in range(cores - 1))
    owned = [order[a:b] for a, b in zip([0, *cuts], [*cuts, kernels], strict=True)]
    block = 6 if zdp and weights.shape[2:] == (1, 1) else 1
    table = b""
    body = b""
    for mine in owned:
        stream = _v7_stream(
            [
                (kernel, channel, weights[kernel, channel].reshape(-1))
                for at in range(0, len(mine), per_core)
                for kernel, channel in _v7_order(mine[at : at + per_core], channels, block)
            ],
            start,
            planes,
            weight_zero,
            run_bits,
            len(mine),
        )
        data = stream.bytes() if mine else b""
        table += len(data).to_bytes(4, "little")
        body += data
    return table.ljust(-(-len(table) // 64) * 64, b"\0") + body


def _v7_stream(
    pieces: list[tuple[int, int, Bytes]],
    start: Ints,
    planes: Ints,
    zero: int,
    run_bits: int,
    kernels: int,
) -> BitWriter:
    """One core's stream; pieces are (kernel, channel, taps) in their order."""
    bits = BitWriter()
    bits.put(run_bits, 8)
    bits.put(kernels, 16)
    values = [int(value) for piece in pieces for value in piece[2]]
    last_channel = max((channel for _, channel, _ in pieces), default=0)
    at = 0
    next_token = 0
    for kernel, channel, taps in pieces:
        for tap in range(len(taps)):
            if at == next_token:
                run = 0
                while (
                    run < (1 << run_bits) - 1
                    and at + run < len(values) - 1
                    and values[at + run] == zero
                ):
                    run += 1
                bits.put(run, run_bits)
                bits.put(values[at + run], 8)
                next_token = at + run + 1
            at += 1
            if channel == 0 and tap == 0:
                bits.put(int(start[kernel]), 32)
            if channel == last_channel and tap == len(taps) - 1:
                bits.put(int(planes[kernel]), 32)
    return bits
