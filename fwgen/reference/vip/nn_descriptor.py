"""The 128-byte descriptor of an NN job, taken apart.

Field positions: the NN command of Mesa's etnaviv driver and VeriSilicon's
published NBG header; see docs/vip-model.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.reference.nvdla.memory import ReferenceGuestError, ReferenceUnsupported

V7, V8 = 7, 8

POOL_NONE, POOL_MAX, POOL_AVERAGE, POOL_FIRST = range(4)

# Fields that have one value in every known job: word, lowest bit, count, value, name.
_FIXED = (
    (0, 0, 1, 0, "layer type"),
    (0, 30, 1, 0, "prelu"),
    (0, 31, 1, 1, "layer flush"),
    (1, 0, 6, 0, "element types"),
    (2, 7, 1, 0, "brick mode"),
    (4, 14, 2, 1, "rounding mode"),
    (15, 0, 2, 0, "border mode"),
    (15, 19, 3, 0, "element types"),
    (18, 26, 1, 0, "multiplier per channel"),
)


@dataclass(frozen=True, slots=True)
class Ring:
    """Ring buffer: size in bytes (0: none) and the address behind it."""

    size: int
    end: int


@dataclass(frozen=True, slots=True)
class NnDescriptor:
    """What one NN job does. Sizes are in pixels, strides in bytes or rows."""

    generation: int
    depthwise: bool
    kernel_width: int
    kernel_height: int
    channels: int  # of the input; of depthwise jobs as many as kernels
    kernels: int  # output channels
    kernels_per_core: int  # of a superblock
    pooling: int
    relu: bool
    in_width: int
    in_height: int
    x_offset: int  # input column of tap 0 for output column 0
    y_offset: int
    border: int
    in_address: int
    in_row: int  # bytes a row
    in_plane_rows: int
    in_ring: Ring
    out_width: int  # before pooling
    out_height: int
    out_address: int
    out_row: int
    out_plane_rows: int
    out_ring: Ring
    kernel_address: int
    multiplier: int
    shift: int
    weight_zero: int
    out_zero: int


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def read_descriptor(words: Sequence[int], generation: int) -> NnDescriptor:
    """Take a descriptor apart.

    Args:
        words: its 32 words.
        generation: V7 or V8.

    Raises:
        ReferenceUnsupported: a field asks for what no known job asks for.
        ReferenceGuestError: a size of 0.
    """

    def bits(word: int, low: int, count: int) -> int:
        return words[word] >> low & ((1 << count) - 1)

    for word, low, count, value, name in _FIXED:
        if bits(word, low, count) != value:
            raise ReferenceUnsupported(f"word {word}: {name} is {bits(word, low, count)}")
    if bits(0, 1, 1) != int(generation == V8):
        raise ReferenceUnsupported("word 0: no z offset")
    if bits(0, 27, 2) == POOL_AVERAGE or (bits(0, 27, 2) and bits(0, 29, 1)):
        raise ReferenceUnsupported("word 0: pooling")
    x_offset = bits(4, 16, 1) << 3 | bits(2, 0, 3)
    y_offset = bits(4, 17, 1) << 3 | bits(2, 3, 3)
    offset_bits = 4
    multiplier = bits(2, 26, 1) | bits(15, 22, 6) << 1 | bits(17, 24, 8) << 7
    shift = _signed(bits(15, 28, 2) << 5 | bits(2, 27, 5), 7)
    if generation == V8:
        x_offset |= bits(18, 29, 1) << 4
        y_offset |= bits(18, 30, 1) << 4
        offset_bits = 5
        multiplier |= bits(22, 18, 8) << 15
    if generation == V7 and bits(22, 17, 1):
        raise ReferenceUnsupported("word 22: depthwise on V7")
    kernels = bits(4, 0, 14)
    descriptor = NnDescriptor(
        generation=generation,
        depthwise=bool(bits(22, 17, 1)),
        kernel_width=bits(0, 2, 4),
        kernel_height=bits(8, 12, 4),
        channels=kernels if bits(22, 17, 1) else bits(5, 26, 6) << 14 | bits(0, 6, 14),
        kernels=kernels,
        kernels_per_core=bits(0, 20, 7),
        pooling=bits(0, 27, 2),
        relu=bool(bits(2, 24, 1)),
        in_width=bits(1, 6, 13),
        in_height=bits(1, 19, 13),
        x_offset=_signed(x_offset, offset_bits),
        y_offset=_signed(y_offset, offset_bits),
        border=bits(15, 2, 16),
        in_address=words[6],
        in_row=bits(16, 0, 16),
        in_plane_rows=bits(16, 16, 16),
        in_ring=Ring(bits(20, 0, 26) << 6, bits(21, 0, 26) << 6),
        out_width=bits(3, 6, 13),
        out_height=bits(3, 19, 13),
        out_address=words[7],
        out_row=bits(17, 0, 16),
        out_plane_rows=bits(8, 16, 16),
        out_ring=Ring(bits(18, 0, 26) << 6, bits(19, 0, 26) << 6),
        kernel_address=bits(5, 0, 26) << 6,
        multiplier=multiplier + (1 << (23 if generation == V8 else 15)),
        shift=shift + (23 if generation == V8 else 0),
        weight_zero=bits(22, 0, 8),
        out_zero=bits(22, 8, 8),
    )
    sizes = (
        descriptor.kernel_width,
        descriptor.kernel_height,
        descriptor.channels,
        descriptor.kernels,
        descriptor.in_width,
        descriptor.in_height,
        descriptor.out_width,
        descriptor.out_height,
    )
    if descriptor.border > 255:
        raise ReferenceUnsupported(f"word 15: border {descriptor.border}")
    if 0 in sizes:
        raise ReferenceGuestError(f"a size of 0: {sizes}")
    return descriptor
