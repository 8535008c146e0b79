"""Random jobs of the VIP's TP engine, and descriptors by the names of their fields."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fwgen.check.vip_coefficients import RUN_TABLES, BitWriter, HuffmanCoder

Bytes = npt.NDArray[np.uint8]

_PROCESSES = tuple((h, v) for h in (0, 0, 1, 3) for v in (0, 0, 1, 3))
NO_RING = (0, 0x3FFFFFF)


@dataclass
class TpFields:
    """A TP descriptor by names; a plain copy of a w x h x z block unless changed."""

    width: int = 8
    height: int = 4
    planes: int = 1
    stride: int | None = None
    slice: int | None = None
    window: tuple[int, int, int, int] | None = None  # x start, y start, x end, y end
    process: tuple[int, int] = (0, 0)
    taps: tuple[int, int] = (1, 1)
    tile: tuple[int, int] | None = None
    step: tuple[int, int] | None = None
    source: int = 0
    target: int = 0
    table: int | None = None
    sign_support: bool = False
    increments: tuple[int, ...] = (0, 1, 0, 0, 0, 0, 0)
    counts: tuple[int, ...] = (1, 0, 1, 1, 1, 1)
    resets: tuple[bool, bool, bool] = (False, False, False)
    replicate: bool = False
    in_ring: tuple[int, int] = NO_RING
    out_ring: tuple[int, int] = NO_RING
    in_zero: int = 0
    out_zero: int = 0
    multiplier: int = 0
    shift: int = 0
    patches: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def words(self) -> list[int]:
        """The 32 words."""
        w = [0] * 32

        def put(word: int, low: int, count: int, value: int) -> None:
            mask = (1 << count) - 1
            w[word] = w[word] & ~(mask << low) | (value & mask) << low

        stride = self.width if self.stride is None else self.stride
        x0, y0, x1, y1 = self.window or (0, 0, self.width - 1, self.height - 1)
        tile = self.tile or (x1 - x0 + 1, y1 - y0 + 1)
        step = self.step or tile
        put(0, 0, 16, self.width)
        put(1, 0, 16, self.height)
        put(1, 16, 16, self.planes)
        put(2, 0, 16, stride)
        put(3, 0, 32, stride * self.height if self.slice is None else self.slice)
        for word, low, value in (
            (4, 0, x0), (4, 16, y0), (5, 0, x1), (5, 16, y1),
            (8, 0, tile[0]), (8, 16, tile[1]), (9, 0, step[0]), (9, 16, step[1]),
        ):  # fmt: skip
            put(word, low, 16, value)
        w[6] = 1 << 3 | 1 << 4 | 1 << 29
        put(6, 6, 3, self.process[0])
        put(6, 9, 6, self.taps[0] - 1)
        put(6, 16, 2, self.process[1])
        put(6, 19, 6, self.taps[1] - 1)
        if self.table is not None:
            w[6] |= 1 << 27 | 3 << 30
            w[11] = self.table
        w[10], w[13] = self.source, self.target
        w[12] = 1 << 1 | 1 << 31 | self.sign_support << 28
        for k, flag in enumerate(self.resets):
            put(12, 2 + k, 1, int(flag))
        for word, value in zip((14, 15, 17, 18, 20, 21, 23), self.increments, strict=True):
            put(word, 0, 32, value)
        for k, count in enumerate(self.counts):
            put((16, 19, 22)[k // 2], 16 * (k % 2), 16, count)
        w[24] = 10 | int(self.replicate) << 24
        put(24, 10, 5, self.shift)
        put(24, 26, 2, self.shift >> 5)
        w[25], w[26] = self.in_ring
        w[27], w[28] = self.out_ring
        put(29, 24, 8, self.in_zero)
        put(30, 0, 8, self.out_zero)
        put(30, 8, 15, self.multiplier)
        for (word, low, count), value in self.patches.items():
            put(word, low, count, value)
        return w


def _pair(rng: np.random.Generator, low: int, high: int) -> tuple[int, int]:
    return int(rng.integers(low, high)), int(rng.integers(low, high))


def random_tp_job(rng: np.random.Generator, source: int, target: int, table: int) -> TpFields:
    """A job of any kind; its accesses mostly stay within some KiB of three addresses.

    Args:
        rng: makes the choices.
        source, target: where input and output lie, multiples of 64.
        table: where a look-up table lies.
    """
    width, height = _pair(rng, 1, 24)
    planes = int(rng.integers(1, 4))
    x0, y0 = _pair(rng, -4, 5)
    columns, rows = _pair(rng, 1, 26)
    tile = _pair(rng, 1, 14)
    less = _pair(rng, 0, 3)
    in_ring = out_ring = NO_RING
    if rng.random() < 0.3:
        size = int(rng.integers(1, 8))
        in_ring = (size, (source >> 6) + size)
    if rng.random() < 0.3:
        size = int(rng.integers(1, 8))
        out_ring = (size, (target >> 6) + size)
    return TpFields(
        width=width,
        height=height,
        planes=planes,
        stride=width + int(rng.integers(0, 4)),
        slice=int(rng.integers(0, 700)),
        window=(x0, y0, x0 + columns - 1, y0 + rows - 1),
        process=_PROCESSES[int(rng.integers(len(_PROCESSES)))],
        taps=_pair(rng, 1, 5),
        tile=tile,
        step=(max(1, tile[0] - less[0]), max(1, tile[1] - less[1])),
        source=source + int(rng.integers(0, 64)),
        target=target + int(rng.integers(0, 64)),
        table=table if rng.random() < 0.5 else None,
        sign_support=bool(rng.random() < 0.5),
        increments=tuple(int(v) for v in rng.integers(0, 40, 7)),
        counts=tuple(int(v) for v in rng.integers(0, 9, 6)),
        resets=(bool(rng.random() < 0.4), bool(rng.random() < 0.4), bool(rng.random() < 0.4)),
        replicate=bool(rng.random() < 0.5),
        in_ring=in_ring,
        out_ring=out_ring,
        in_zero=int(rng.integers(0, 256)),
        out_zero=int(rng.integers(0, 256)),
        multiplier=int(rng.integers(0, 1 << 15)),
        shift=int(rng.integers(-8, 9)) & 0x7F,
    )


def random_table(rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Entries of any sign and mantissa, exponents over the whole range at times."""
    low, high = (0, 32) if rng.random() < 0.3 else (12, 24)
    return (
        rng.integers(0, 2, 1026) << 20
        | rng.integers(low, high, 1026) << 15
        | rng.integers(0, 1 << 15, 1026)
    ).astype("<u4")


def fc_blob(
    rng: random.Random, weights: Bytes, start: npt.NDArray[np.int64], average: int
) -> bytes:
    """Coefficients of a fully connected job.

    Args:
        rng: makes the choices that the coding leaves.
        weights: (inputs, outputs), zero point included.
        start: what the sum of each output starts with.
        average: what the coded bytes are counted from.
    """
    coder = HuffmanCoder(rng, rng.choice(RUN_TABLES))
    header = bytearray(coder.header())
    header[24:26] = average.to_bytes(2, "little")
    streams = [coder.stream((row - average).astype(np.uint8).tobytes()) for row in weights]
    lengths = BitWriter()
    for stream in streams:
        lengths.put(stream.length, 14)
    header += lengths.bytes(1)
    parts = [bytes(header), start.astype("<i4").tobytes(), *(s.bytes() for s in streams)]
    return b"".join(part.ljust(-(-len(part) // 64) * 64, b"\0") for part in parts)


def fc_fields(inputs: int, outputs: int, weight_zero: int, **fields: int) -> TpFields:
    """Descriptor of a fully connected job; fields as those of TpFields."""
    job = TpFields(width=1, height=1, planes=inputs, slice=1, **fields)  # type: ignore[arg-type]
    job.increments, job.counts = (0, 1, 0, 0, 1, 0, 0), (1, 1, 1, 1, outputs, 1)
    job.patches |= {(6, 0, 2): 3, (29, 16, 8): weight_zero}
    return job
