"""The descriptor of a job for the TP engine: copies, pooling, look-up tables.

Positions of the fields: Mesa's etnaviv driver; what they do: reference data.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from fwgen.model.nbg.bits import Field, extract, extract_all, signed
from fwgen.model.nbg.container import TP_WORDS, Container
from fwgen.model.nbg.records import NbgOperation

FULLY_CONNECTED = 3
"""Tile sequence of a fully connected layer."""

FIELDS: dict[str, Field] = {
    "input_width": ((0, 0, 16),),
    "input_height": ((1, 0, 16),),
    "input_planes": ((1, 16, 16),),
    "input_row": ((2, 0, 16),),
    "input_plane": ((3, 0, 32),),
    "window_x": ((4, 0, 16),),
    "window_y": ((4, 16, 16),),
    "window_x_end": ((5, 0, 16),),
    "window_y_end": ((5, 16, 16),),
    "tile_sequence": ((6, 0, 2),),
    "tile_list_in_memory": ((6, 2, 1),),
    "image_in_memory": ((6, 3, 1),),
    "to_float": ((6, 4, 1),),
    "square": ((6, 5, 1),),
    "horizontal": ((6, 6, 3),),
    "horizontal_count": ((6, 9, 6),),
    "horizontal_stride": ((6, 15, 1),),
    "vertical": ((6, 16, 2),),
    "vertical_count": ((6, 19, 6),),
    "vertical_stride": ((6, 25, 1),),
    "non_maximum": ((6, 26, 1),),
    "table": ((6, 27, 1),),
    "multiply": ((6, 28, 1),),
    "to_integer": ((6, 29, 1),),
    "load_table": ((6, 30, 1),),
    "table_in_memory": ((6, 31, 1),),
    "tile_list": ((7, 0, 32),),
    "tile_width": ((8, 0, 16),),
    "tile_height": ((8, 16, 16),),
    "tile_x_step": ((9, 0, 16),),
    "tile_y_step": ((9, 16, 16),),
    "input_address": ((10, 0, 32),),
    "table_address": ((11, 0, 32),),
    "skip_border": ((12, 0, 1),),
    "output_in_memory": ((12, 1, 1),),
    "reset_1": ((12, 2, 1),),
    "reset_2": ((12, 3, 1),),
    "reset_3": ((12, 4, 1),),
    "modes": ((12, 5, 23),),
    "table_signed": ((12, 28, 1),),
    "relu": ((12, 29, 1),),
    "more_follow": ((12, 30, 1),),
    "last": ((12, 31, 1),),
    "output_address": ((13, 0, 32),),
    "filter_swap": ((24, 0, 1),),
    "flat": ((24, 1, 2),),
    "rounding": ((24, 3, 2),),
    "input_preshift": ((24, 5, 5),),
    "shift_bits": ((24, 10, 5), (26, 26, 2)),
    "reorder": ((24, 15, 9),),
    "reserved": ((6, 18, 1), (24, 28, 4)),
    "border_mode": ((24, 24, 2),),
    "input_ring": ((25, 0, 26),),
    "input_ring_end": ((26, 0, 26),),
    "output_ring": ((27, 0, 26),),
    "output_ring_end": ((28, 0, 26),),
    "border": ((29, 0, 16),),
    "coefficient_zero": ((29, 16, 8),),
    "input_zero": ((29, 24, 8),),
    "output_zero": ((30, 0, 8),),
    "multiplier": ((30, 8, 15),),
}

_INCREMENTS: tuple[int, ...] = (14, 15, 17, 18, 20, 21, 23)
_COUNTS: tuple[Field, ...] = (
    ((16, 0, 16),),
    ((16, 16, 16),),
    ((19, 0, 16),),
    ((19, 16, 16),),
    ((22, 0, 16),),
    ((22, 16, 16),),
)


@dataclass(frozen=True, slots=True)
class TpJob:
    """A decoded descriptor. Addresses are what the file holds before it is patched.

    Attributes:
        input_row, input_plane: bytes from row to row, from plane to plane.
        window_x ... window_y_end: 16-bit two's complement, inclusive; see `window`.
        tile_sequence: 0, or 3 for a fully connected layer.
        horizontal, vertical: 0 pixel, 1 maximum at stride 1, 3 maximum at stride 2.
        horizontal_count, vertical_count: taps - 1.
        table, load_table, table_in_memory: look-up table between input and output.
        reset_1, reset_2, reset_3: output loops that end with a row or a tile.
        modes: bricks, filters, preshift and types; 0 for planar uint8.
        reorder: reordering of planes; 0 for none.
        border_mode: 0: border value, 1: nearest pixel of the image.
        shift_bits: see `shift`.
        ring sizes and ends: in units of 64 bytes.
        increments: of output loops 0 to 6, bytes, signed.
        counts: of output loops 0 to 5; 0: without end.
    """

    input_width: int
    input_height: int
    input_planes: int
    input_row: int
    input_plane: int
    window_x: int
    window_y: int
    window_x_end: int
    window_y_end: int
    tile_sequence: int
    tile_list_in_memory: int
    image_in_memory: int
    to_float: int
    square: int
    horizontal: int
    horizontal_count: int
    horizontal_stride: int
    vertical: int
    vertical_count: int
    vertical_stride: int
    non_maximum: int
    table: int
    multiply: int
    to_integer: int
    load_table: int
    table_in_memory: int
    tile_list: int
    tile_width: int
    tile_height: int
    tile_x_step: int
    tile_y_step: int
    input_address: int
    table_address: int
    skip_border: int
    output_in_memory: int
    reset_1: int
    reset_2: int
    reset_3: int
    modes: int
    table_signed: int
    relu: int
    more_follow: int
    last: int
    output_address: int
    filter_swap: int
    flat: int
    rounding: int
    input_preshift: int
    shift_bits: int
    reorder: int
    reserved: int
    border_mode: int
    input_ring: int
    input_ring_end: int
    output_ring: int
    output_ring_end: int
    border: int
    coefficient_zero: int
    input_zero: int
    output_zero: int
    multiplier: int
    increments: tuple[int, ...]
    counts: tuple[int, ...]

    def window(self) -> tuple[int, int, int, int]:
        """First x, first y, last x, last y; may lie outside the image."""
        return (
            signed(self.window_x, 16),
            signed(self.window_y, 16),
            signed(self.window_x_end, 16),
            signed(self.window_y_end, 16),
        )

    @property
    def shift(self) -> int:
        """The output's shift as a signed number."""
        return signed(self.shift_bits, 7)

    @property
    def is_fully_connected(self) -> bool:
        """Whether the job multiplies with coefficients."""
        return self.tile_sequence == FULLY_CONNECTED

    def summary(self) -> str:
        """One line for a reader."""
        if self.is_fully_connected:
            return f"fully connected {self.input_planes} -> {self.counts[4]}"
        kinds = []
        if self.horizontal or self.vertical:
            stride = 2 if self.horizontal == 3 else 1
            taps = f"{self.horizontal_count + 1}x{self.vertical_count + 1}"
            kinds.append(f"max pool {taps} stride {stride}")
        if self.table:
            kinds.append("look-up table")
        kind = ", ".join(kinds) or "copy"
        return f"{kind} of {self.input_width}x{self.input_height}x{self.input_planes}"

    def to_json(self) -> dict[str, object]:
        """All fields, with the window and the shift as signed numbers."""
        return {**dataclasses.asdict(self), "window": list(self.window()), "shift": self.shift}


def decode_tp(container: Container, operation: NbgOperation) -> TpJob:
    """The descriptor of a TP operation."""
    span = container.descriptor(operation)
    words = container.cursor.words(span.offset, TP_WORDS, "TP descriptor")
    return TpJob(
        **extract_all(words, FIELDS),
        increments=tuple(signed(words[index], 32) for index in _INCREMENTS),
        counts=tuple(extract(words, field) for field in _COUNTS),
    )
