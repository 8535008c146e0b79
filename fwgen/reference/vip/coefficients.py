"""What a coefficient blob holds, whatever its coding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fwgen.reference.nvdla.rounding import Ints

# Bytes at an offset of the blob: read(offset, size).
BlobReader = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Weights and biases of the kernels of a job.

    Attributes:
        weights: uint8 values with the zero point in, (kernels, channels, rows, columns);
            channels is 1 for depthwise kernels.
        start: what each sum starts with, (kernels,).
        planes: byte offset of each kernel's output plane, or None when the
            planes follow each other.
    """

    weights: Ints
    start: Ints
    planes: Ints | None
