"""The descriptor of a job for the NN engine: a convolution with its surroundings.

Positions of the fields: Mesa's etnaviv driver; what they do: reference data. Fields
that only steer caches and tiling are left out.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from fwgen.model.nbg.bits import Field, extract_all, signed
from fwgen.model.nbg.container import NN_WORDS, Container
from fwgen.model.nbg.records import NbgOperation

FIELDS: dict[str, Field] = {
    "layer_type": ((0, 0, 1),),
    "no_z_offset": ((0, 1, 1),),
    "kernel_x": ((0, 2, 4),),
    "kernel_y": ((8, 12, 4),),
    "kernel_z": ((0, 6, 14), (5, 26, 6)),
    "kernels_per_core": ((0, 20, 7),),
    "pooling": ((0, 27, 2),),
    "pooling_size": ((0, 29, 1),),
    "prelu": ((0, 30, 1),),
    "kernel_type": ((1, 0, 2), (15, 19, 1)),
    "input_type": ((1, 2, 2), (15, 20, 1)),
    "output_type": ((1, 4, 2), (15, 21, 1)),
    "input_width": ((1, 6, 13),),
    "input_height": ((1, 19, 13),),
    "x_offset_bits": ((2, 0, 3), (4, 16, 1), (18, 29, 1)),
    "y_offset_bits": ((2, 3, 3), (4, 17, 1), (18, 30, 1)),
    "brick_mode": ((2, 7, 1),),
    "brick_distance": ((2, 8, 16),),
    "relu": ((2, 24, 1),),
    "multiplier": ((2, 26, 1), (15, 22, 6), (17, 24, 8), (22, 18, 8)),
    "shift_bits": ((2, 27, 5), (15, 28, 2)),
    "output_width": ((3, 6, 13),),
    "output_height": ((3, 19, 13),),
    "output_channels": ((4, 0, 14),),
    "rounding": ((4, 14, 2),),
    "tile_x": ((4, 18, 7),),
    "tile_y": ((4, 25, 7),),
    "kernel_address": ((5, 0, 26),),
    "input_address": ((6, 0, 32),),
    "output_address": ((7, 0, 32),),
    "output_rows": ((8, 16, 16),),
    "border_mode": ((15, 0, 2),),
    "border": ((15, 2, 16),),
    "input_row": ((16, 0, 16),),
    "input_rows": ((16, 16, 16),),
    "output_row": ((17, 0, 16),),
    "output_ring": ((18, 0, 26),),
    "per_channel": ((18, 26, 1),),
    "offset_sign_y_high": ((18, 31, 1),),
    "output_ring_end": ((19, 0, 26),),
    "input_ring": ((20, 0, 26),),
    "input_ring_end": ((21, 0, 26),),
    "weight_zero": ((22, 0, 8),),
    "output_zero": ((22, 8, 8),),
    "depthwise": ((22, 17, 1),),
}


@dataclass(frozen=True, slots=True)
class NnJob:
    """A decoded descriptor. Addresses are what the file holds before it is patched.

    Attributes:
        no_z_offset: 1: output planes follow each other (V8); 0: the coefficients state
            where each plane lies (V7).
        kernels_per_core: in each block of kernels.
        pooling: 0 none, 1 maximum of 2x2, 2 average, 3 first pixel of 2x2.
        kernel_type, input_type, output_type: 0 is uint8.
        input_width, input_height: pixels beyond them are the border's.
        x_offset_bits, y_offset_bits: see `offsets`.
        multiplier, shift_bits: of the requantisation; 23 and 7 bits.
        output_width, output_height: before pooling.
        kernel_address, ring sizes and ends: in units of 64 bytes.
        input_row, output_row: bytes of a row; input_rows, output_rows: rows of a plane.
        border: value of pixels outside the image.
        offset_sign_y_high: must be 0.
    """

    layer_type: int
    no_z_offset: int
    kernel_x: int
    kernel_y: int
    kernel_z: int
    kernels_per_core: int
    pooling: int
    pooling_size: int
    prelu: int
    kernel_type: int
    input_type: int
    output_type: int
    input_width: int
    input_height: int
    x_offset_bits: int
    y_offset_bits: int
    brick_mode: int
    brick_distance: int
    relu: int
    multiplier: int
    shift_bits: int
    output_width: int
    output_height: int
    output_channels: int
    rounding: int
    tile_x: int
    tile_y: int
    kernel_address: int
    input_address: int
    output_address: int
    output_rows: int
    border_mode: int
    border: int
    input_row: int
    input_rows: int
    output_row: int
    output_ring: int
    per_channel: int
    offset_sign_y_high: int
    output_ring_end: int
    input_ring: int
    input_ring_end: int
    weight_zero: int
    output_zero: int
    depthwise: int

    def offsets(self) -> tuple[int, int]:
        """Where the kernel's first tap lies for output (0, 0): x, y; -1 is one pixel of padding."""
        width = 5 if self.no_z_offset else 4
        return signed(self.x_offset_bits, width), signed(self.y_offset_bits, width)

    @property
    def shift(self) -> int:
        """The shift as a signed number; its bias depends on the generation."""
        return signed(self.shift_bits, 7)

    def stored_size(self) -> tuple[int, int]:
        """Width and height of the output as it is stored, after pooling."""
        if self.pooling:
            return (self.output_width + 1) // 2, (self.output_height + 1) // 2
        return self.output_width, self.output_height

    def macs(self) -> int:
        """Multiply-accumulates of the job."""
        depth = 1 if self.depthwise else self.kernel_z
        taps = self.kernel_x * self.kernel_y * depth
        return taps * self.output_width * self.output_height * self.output_channels

    def summary(self) -> str:
        """One line for a reader."""
        kind = "depthwise" if self.depthwise else "conv"
        width, height = self.stored_size()
        pool = {0: "", 1: ", max pool 2x2", 2: ", average pool 2x2", 3: ", stride 2"}
        return (
            f"{kind} {self.kernel_x}x{self.kernel_y} "
            f"{self.input_width}x{self.input_height}x{self.kernel_z} -> "
            f"{width}x{height}x{self.output_channels}"
            f"{', relu' if self.relu else ''}{pool[self.pooling]}"
        )

    def to_json(self) -> dict[str, object]:
        """All fields, with the offsets as signed numbers."""
        x, y = self.offsets()
        return {**dataclasses.asdict(self), "x_offset": x, "y_offset": y, "shift": self.shift}


def decode_nn(container: Container, operation: NbgOperation) -> NnJob:
    """The descriptor of an NN operation."""
    span = container.descriptor(operation)
    words = container.cursor.words(span.offset, NN_WORDS, "NN descriptor")
    return NnJob(**extract_all(words, FIELDS))
