"""Constants that the lowering makes for kernels: weights in their order, tables.

What depends on constants alone is computed here, on the host: the order of the weights,
converters of single bytes as tables of 256 results.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from fwgen.accel.cpu.layer import Layer
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.program.commands import Value
from fwgen.program.kernels import Lut, LutFlag, Slope

Store = Callable[[str, bytes], Value]
"""Gives a constant a place: (what it is, its bytes) -> its address."""

_MAX_BASE_EXPONENT = 47
"""From here on every slope but 0 saturates, so larger exponents need no representation."""


def round_shift(x: int, shift: int) -> int:
    """x / 2**shift to nearest, ties away from zero."""
    if not shift:
        return x
    magnitude = (abs(x) + (1 << (shift - 1))) >> shift
    return -magnitude if x < 0 else magnitude


def limited(x: int, bits: int) -> int:
    """x limited to a signed integer of `bits` bits."""
    high = (1 << (bits - 1)) - 1
    return max(-high - 1, min(high, x))


def byte_table(convert: Callable[[int], int], *, is_signed: bool) -> bytes:
    """256 int8 results by input byte."""
    inputs = [byte - 256 if is_signed and byte > 127 else byte for byte in range(256)]
    return struct.pack("256b", *(convert(x) for x in inputs))


def pad(data: bytes, to: int) -> bytes:
    """`data` with zeros to a multiple of `to` bytes."""
    return data + bytes(-len(data) % to)


def reordered_weights(
    data: bytes,
    config: Configuration,
    shape: tuple[int, int, int, int],
    extension: int,
) -> bytes:
    """Weights kernel by kernel, each (row, column, channel) and zeros to whole words.

    Args:
        data: as the hardware reads them: groups of kernels, blocks of channels.
        shape: (kernels, rows, columns, channels).
        extension: rows of an image kernel that share a step; 1 for none.
    """
    kernels, rows, columns, channels = shape
    taps = [bytearray(rows * columns * channels) for _ in range(kernels)]
    at = 0

    def take(kernel: int, start: int, count: int) -> None:
        nonlocal at
        taps[kernel][start : start + count] = data[at : at + count]
        at += count

    for first in range(0, kernels, config.atom_k):
        group = range(first, min(first + config.atom_k, kernels))
        if extension > 1:
            for row in range(0, rows, extension):
                count = min(extension, rows - row) * channels
                for kernel in group:
                    take(kernel, row * channels, count)
            continue
        for channel in range(0, channels, config.atom_c):
            count = min(config.atom_c, channels - channel)
            for position in range(rows * columns):
                for kernel in group:
                    take(kernel, position * channels + channel, count)
    return b"".join(pad(bytes(kernel), 4) for kernel in taps)


def _slope(layer: Layer, block: str, table: str, side: str) -> Slope:
    name = f"{block}.S_LUT_{table}_SLOPE_{{}}.LUT_{table}_SLOPE_{side}_{{}}"
    return (
        layer.signed(name.format("SCALE", "SCALE")),
        layer.signed(name.format("SHIFT", "SHIFT")),
    )


def _bound(layer: Layer, block: str, name: str) -> int:
    """32 bits in SDP, 38 in CDP."""
    if block == "SDP":
        return layer.signed(f"SDP.S_LUT_{name}.LUT_{name}")
    high = layer.signed(f"CDP.S_LUT_{name}_HIGH.LUT_{name}_HIGH")
    return high << 32 | layer.word(f"CDP.S_LUT_{name}_LOW") & 0xFFFFFFFF


def lut_of(layer: Layer, block: str) -> Lut:
    """The look-up of SDP or CDP."""
    info = f"{block}.S_LUT_INFO.LUT_"
    config = f"{block}.S_LUT_CFG.LUT_"
    # CDP reads six bits of its selects; its exponential slope starts at 2**0 already.
    bits, least = (8, 1) if block == "SDP" else (6, 0)
    linear = layer.field(config + "LE_FUNCTION")
    offset = layer.signed(info + "LE_INDEX_OFFSET")
    start = _bound(layer, block, "LE_START")
    base = start
    if not linear and offset >= least:
        base += 1 << min(offset, _MAX_BASE_EXPONENT)
    flags = LutFlag.NONE
    for flag, name in (
        (LutFlag.E_LINEAR, "LE_FUNCTION"),
        (LutFlag.BELOW_L, "UFLOW_PRIORITY"),
        (LutFlag.ABOVE_L, "OFLOW_PRIORITY"),
        (LutFlag.MIXED_L, "HYBRID_PRIORITY"),
    ):
        if layer.field(config + name):
            flags |= flag
    e, lo = layer.tables[block]
    return Lut(
        e_start=start,
        e_end=_bound(layer, block, "LE_END"),
        e_base=base,
        l_start=_bound(layer, block, "LO_START"),
        l_end=_bound(layer, block, "LO_END"),
        flags=flags,
        e_offset=offset,
        e_select=layer.signed(info + "LE_INDEX_SELECT", bits),
        l_select=layer.signed(info + "LO_INDEX_SELECT", bits),
        e_below=_slope(layer, block, "LE", "UFLOW"),
        e_above=_slope(layer, block, "LE", "OFLOW"),
        l_below=_slope(layer, block, "LO", "UFLOW"),
        l_above=_slope(layer, block, "LO", "OFLOW"),
        e=e,
        l=lo,
    )


def signed_words(values: Sequence[int]) -> bytes:
    """int16 values as bytes."""
    return struct.pack(f"<{len(values)}h", *values)
