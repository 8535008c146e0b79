"""The layers of the convolution benchmark, their data and their exact results.

Every layer is int8 with stride 1 and padding that keeps the size ("same"),
a bias and a multiplier per output channel, ReLU and int8 output: what a
quantised network asks of a convolution. The result is defined by the integer
arithmetic of NVDLA's X1 stage and output converter (NVDLA register manual).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

MUL_SHIFT = 14
OUT_SCALE = 21000


@dataclass(frozen=True)
class Layer:
    """A convolution of (channels, size, size) to (kernels, size, size)."""

    size: int
    channels: int
    kernels: int
    window: int

    @property
    def name(self) -> str:
        """ "56x56x64->64 3x3"."""
        return (
            f"{self.size}x{self.size}x{self.channels}->{self.kernels} {self.window}x{self.window}"
        )

    @property
    def pad(self) -> int:
        """Rows and columns of zeros on each side."""
        return self.window // 2

    @property
    def macs(self) -> int:
        """Multiplications, those with padding included."""
        return self.size**2 * self.channels * self.kernels * self.window**2

    @cached_property
    def _random(self) -> tuple[Int8, Int8, Int32, Int32]:
        rng = np.random.default_rng(self.macs)
        cube = rng.integers(-128, 128, (self.channels, self.size, self.size), dtype=np.int8)
        weights = rng.integers(
            -127, 128, (self.kernels, self.channels, self.window, self.window), dtype=np.int8
        )
        bias = rng.integers(-(1 << 15), 1 << 15, self.kernels, dtype=np.int32)
        multipliers = rng.integers(1 << 14, 1 << 15, self.kernels, dtype=np.int32)
        return cube, weights, bias, multipliers

    @property
    def cube(self) -> Int8:
        """Input, (channels, height, width)."""
        return self._random[0]

    @property
    def weights(self) -> Int8:
        """(kernels, channels, rows, columns)."""
        return self._random[1]

    @property
    def bias(self) -> Int32:
        """(kernels,), each fits into 16 bits."""
        return self._random[2]

    @property
    def multipliers(self) -> Int32:
        """(kernels,), 16 bits; the sum is multiplied and shifted by MUL_SHIFT."""
        return self._random[3]

    @property
    def out_shift(self) -> int:
        """Shift of the output converter: keeps most results inside int8."""
        spread = 74.0**2 * (self.channels * self.window**2) ** 0.5 * 1.5 * OUT_SCALE / 60
        return int(np.log2(spread))

    @property
    def scales(self) -> npt.NDArray[np.float32]:
        """What a sum is multiplied by in all, (kernels,)."""
        factor = OUT_SCALE / 2.0 ** (MUL_SHIFT + self.out_shift)
        return (self.multipliers * factor).astype(np.float32)

    @cached_property
    def sums(self) -> Int32:
        """Exact sums with bias, (kernels, height, width)."""
        padded = np.pad(self.cube, ((0, 0), (self.pad,) * 2, (self.pad,) * 2)).astype(np.int32)
        total = np.zeros((self.kernels, self.size * self.size), np.int32)
        for row in range(self.window):
            for column in range(self.window):
                part = padded[:, row : row + self.size, column : column + self.size]
                weights = self.weights[:, :, row, column].astype(np.int32)
                total += weights @ part.reshape(self.channels, -1)
        total += self.bias[:, None]
        return total.reshape(self.kernels, self.size, self.size)

    @cached_property
    def expected(self) -> Int8:
        """The exact int8 result, (kernels, height, width)."""
        first = _round_shift(
            self.sums.astype(np.int64) * self.multipliers[:, None, None], MUL_SHIFT
        )
        first = np.clip(first, 0, (1 << 31) - 1)
        return np.clip(_round_shift(first * OUT_SCALE, self.out_shift), -128, 127).astype(np.int8)


def _round_shift(values: Int64, shift: int) -> Int64:
    """To nearest, ties away from zero."""
    magnitude = (np.abs(values) + (1 << shift >> 1)) >> shift
    result: Int64 = np.sign(values) * magnitude
    return result


LAYERS = (
    Layer(56, 64, 64, 3),
    Layer(28, 128, 128, 3),
    Layer(14, 256, 1024, 1),
    Layer(112, 3, 32, 3),
)
