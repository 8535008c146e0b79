"""Arguments of the int8 CPU kernels, as the target reads them.

Each class is one structure of rtos/kernels/arguments.h (`Lut`: of lut.h), member by
member: names, order, meaning and units are explained there. A lowering of any family
fills them in; nothing here knows an accelerator. Addresses are symbols until a Layout is
known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import IntEnum, IntFlag

from fwgen.program.commands import AddressOf, Cpu, Kernel, Value

MAX_BLOCK = 32
"""Most channels of a cube's block."""

MAX_TAPS = (1 << 17) - 1
"""Most products of two int8 whose sum surely fits 32 bits."""

MAX_TILE = 4
"""Output pixels of a convolution that share each load of a weight."""

LE_ENTRIES, LO_ENTRIES = 65, 257
"""Entries of the two tables of a Lut."""


def add(value: Value, offset: int) -> Value:
    """An address some bytes further on."""
    if isinstance(value, AddressOf):
        return replace(value, offset=value.offset + offset)
    return value + offset


class _Words:
    """A structure of 32-bit words."""

    __slots__ = ()

    def words(self) -> tuple[Value, ...]:
        """All members in order; structures inside are flattened."""
        return tuple(_flat(getattr(self, f.name) for f in fields(self)))  # type: ignore[arg-type]


def _flat(values: Iterator[object]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, _Words):
            yield from value.words()
        elif isinstance(value, tuple):
            yield from _flat(iter(value))
        else:
            assert isinstance(value, (int, AddressOf))
            yield value if isinstance(value, AddressOf) else value & 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Cube(_Words):
    """struct fwgen_cube: address and strides in bytes."""

    address: Value = 0
    line_stride: int = 0
    surface_stride: int = 0


class StageFlag(IntFlag):
    """FWGEN_STAGE_*."""

    NONE = 0
    ALU = 1 << 0
    ALU_MEMORY = 1 << 1
    ALU_MAX = 1 << 2
    ALU_MIN = 1 << 3
    MUL = 1 << 4
    MUL_MEMORY = 1 << 5
    PRELU = 1 << 6
    RELU = 1 << 7
    MUL_FIRST = 1 << 8
    WIDE = 1 << 9
    PAIRS = 1 << 10
    ELEMENTS = 1 << 11
    ALU_CONVERT = 1 << 12
    MUL_CONVERT = 1 << 13


@dataclass(frozen=True, slots=True)
class Converter(_Words):
    """struct fwgen_converter: (x - offset) * scale / 2**shift."""

    offset: int = 0
    scale: int = 0
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Stage(_Words):
    """struct fwgen_stage."""

    flags: StageFlag
    alu_operand: int = 0
    mul_operand: int = 0
    alu_shift: int = 0
    mul_shift: int = 0
    operands: Cube = Cube()
    alu: Converter = Converter()
    mul: Converter = Converter()
    table: Value = 0


@dataclass(frozen=True, slots=True)
class Post(_Words):
    """struct fwgen_post; `stage_count` is the number of `stages`."""

    destination: Cube
    block: int
    converter: Converter
    stages: tuple[Stage, ...]

    def words(self) -> tuple[Value, ...]:
        """The members in order."""
        start = (self.destination, self.block, self.converter, len(self.stages))
        return tuple(_flat(iter((*start, self.stages))))


@dataclass(frozen=True, slots=True)
class Convolution(_Words):
    """struct fwgen_convolution."""

    source: Cube
    width: int
    height: int
    channels: int
    block: int
    weights: Value
    taps: int
    kernels: int
    rows: int
    columns: int
    stride_x: int
    stride_y: int
    dilation_x: int
    dilation_y: int
    pad_left: int
    pad_top: int
    pad_value: int
    truncate: int
    table: Value
    table_count: int
    order: int
    output_width: int
    first_row: int
    end_row: int
    scratch: Value
    tile: int
    post: Post

    def command(self) -> Cpu:
        """The command that runs it."""
        return Cpu(Kernel.CONVOLUTION, self.words())

    @staticmethod
    def scratch_size(tile: int, block: int, taps: int) -> int:
        """Bytes of scratch memory."""
        return tile * (4 * block + taps)


@dataclass(frozen=True, slots=True)
class Pointwise(_Words):
    """struct fwgen_pointwise."""

    source: Cube
    width: int
    height: int
    surfaces: int
    post: Post

    def command(self) -> Cpu:
        """The command that runs it."""
        return Cpu(Kernel.POINTWISE, self.words())


class PoolMethod(IntEnum):
    """FWGEN_POOL_*."""

    AVERAGE = 0
    MAX = 1
    MIN = 2


@dataclass(frozen=True, slots=True)
class Pooling(_Words):
    """struct fwgen_pooling; `padding` has 8 entries."""

    source: Cube
    destination: Cube
    block: int
    surfaces: int
    width: int
    height: int
    output_width: int
    output_height: int
    kernel_width: int
    kernel_height: int
    stride_x: int
    stride_y: int
    pad_left: int
    pad_top: int
    method: PoolMethod
    reciprocal_width: int
    reciprocal_height: int
    padding: tuple[int, ...]

    def command(self) -> Cpu:
        """The command that runs it."""
        return Cpu(Kernel.POOLING, self.words())


class NormaliseFlag(IntFlag):
    """FWGEN_NORMALISE_*."""

    NONE = 0
    NO_SQUARES = 1 << 0
    NO_MUL = 1 << 1


@dataclass(frozen=True, slots=True)
class Normalisation(_Words):
    """struct fwgen_normalisation."""

    source: Cube
    destination: Cube
    block: int
    width: int
    height: int
    channels: int
    values: Value
    reach: int
    flags: NormaliseFlag
    table: Value
    converter: Converter

    def command(self) -> Cpu:
        """The command that runs it."""
        return Cpu(Kernel.NORMALISATION, self.words())


class LutFlag(IntFlag):
    """FWGEN_LUT_*."""

    NONE = 0
    E_LINEAR = 1 << 0
    BELOW_L = 1 << 1
    ABOVE_L = 1 << 2
    MIXED_L = 1 << 3


Slope = tuple[int, int]
"""Scale and right shift."""


@dataclass(frozen=True, slots=True)
class Lut:
    """struct fwgen_lut: a constant in memory."""

    e_start: int
    e_end: int
    e_base: int
    l_start: int
    l_end: int
    flags: LutFlag
    e_offset: int
    e_select: int
    l_select: int
    e_below: Slope
    e_above: Slope
    l_below: Slope
    l_above: Slope
    e: tuple[int, ...]
    l: tuple[int, ...]  # noqa: E741 - as in the header

    def data(self) -> bytes:
        """The structure's bytes."""
        return struct.pack(
            f"<5qI11i{LE_ENTRIES}h{LO_ENTRIES}h",
            *(self.e_start, self.e_end, self.e_base, self.l_start, self.l_end),
            *(int(self.flags), self.e_offset, self.e_select, self.l_select),
            *(*self.e_below, *self.e_above, *self.l_below, *self.l_above),
            *(*self.e, *self.l),
        )
