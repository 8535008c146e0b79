"""The network of the digits example as plain data, and its integer arithmetic.

Images are 8x8 pixels with 17 levels of grey (the optical digits set that
scikit-learn ships). The network is

    conv 3x3 pad 1, 1 -> 16, ReLU      8x8x16
    max pool 2x2                       4x4x16
    conv 3x3 pad 1, 16 -> 32, ReLU     4x4x32
    max pool 2x2                       2x2x32
    fully connected, 128 -> 10         1x1x10   (a 2x2 convolution)

Each of the three layers with weights keeps what the accelerator's SDP unit
computes with: int8 weights, one 16-bit bias a channel that is shifted left
before it is added to the 32-bit accumulator, and an output converter
`round(x * scale / 2**shift)` with a 16-bit scale.
"""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
MODEL_FILE = HERE / "digits.nvdla"
PARAMETERS_FILE = HERE / "digits.npz"
TESTS_FILE = HERE / "tests.npz"

CLASSES = 10
# An int8 input is a pixel's level, 0..16, times this.
PIXEL_STEP = 7


@dataclass(frozen=True, slots=True)
class Layer:
    """One quantised convolution.

    Attributes:
        name: "conv1", "conv2" or "fc".
        weights: int8 (kernels, channels, height, width).
        bias: int16 (kernels,).
        bias_shift: the bias counts 2**bias_shift accumulator units.
        scale, shift: output = round(x * scale / 2**shift), saturated to int8.
        pad: zero pixels on each side.
        relu: negative sums become 0 before the output converter.
    """

    name: str
    weights: NDArray[np.int8]
    bias: NDArray[np.int16]
    bias_shift: int
    scale: int
    shift: int
    pad: int
    relu: bool


SHAPES = (("conv1", 1, True), ("conv2", 1, True), ("fc", 0, False))


def load_layers(path: Path = PARAMETERS_FILE) -> tuple[Layer, ...]:
    """Read the three layers that train.py wrote."""
    with np.load(path) as stored:
        return tuple(
            Layer(
                name,
                stored[f"{name}_weights"],
                stored[f"{name}_bias"],
                int(stored[f"{name}_converter"][0]),
                int(stored[f"{name}_converter"][1]),
                int(stored[f"{name}_converter"][2]),
                pad,
                relu,
            )
            for name, pad, relu in SHAPES
        )


def save_arrays(path: Path, arrays: dict[str, NDArray[np.generic]]) -> None:
    """Write an .npz whose bytes depend on the arrays alone.

    `numpy.savez` stores the time of day; here every member carries the earliest
    date that the format knows.
    """
    temporary = path.with_name(path.name + ".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), (1, 0))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    os.replace(temporary, path)


def load_tests(path: Path = TESTS_FILE) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """Read the test images, int8 (N, 1, 8, 8), and their labels, uint8 (N,)."""
    with np.load(path) as stored:
        return stored["images"], stored["labels"]
