"""Independent Python version of the two CPU kernels (NVDLA loadable format, EMU tasks).

All arithmetic is IEEE single; `half` rounds to nearest with ties away from
zero. expf and powf are those of the C library, as upstream uses them.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import struct

import numpy as np
from numpy.typing import NDArray

INT8, INT8_8, FP16 = 0, 1, 3
BLOCK = {INT8: 32, INT8_8: 8, FP16: 16}

_LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
_LIBM.expf.restype = _LIBM.powf.restype = ctypes.c_float
_LIBM.expf.argtypes = [ctypes.c_float]
_LIBM.powf.argtypes = [ctypes.c_float, ctypes.c_float]

F = np.float32


def half_bits(value: float) -> int:
    """binary16 bits of a single, nearest, ties away from zero, overflow to infinity."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    sign, exponent, fraction = bits >> 31 << 15, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return sign | 0x7C00 | (0x200 if fraction else 0)
    if exponent == 0:
        return sign  # single subnormals are far below half's smallest
    significand = fraction | 0x800000
    shift = 13 if exponent >= 113 else 13 + 113 - exponent
    if shift > 24:
        return sign
    rounded = (significand + (1 << (shift - 1))) >> shift
    if exponent >= 113:
        rounded += (exponent - 113) << 10
    return sign | min(rounded, 0x7C00)


def half(value: float) -> np.float32:
    """A single rounded to half and back."""
    return F(np.array(half_bits(value), np.uint16).view(np.float16))


def _to_int8(value: np.float32) -> int:
    return math.trunc(min(max(float(value), -128.0), 127.0)) & 0xFF


def softmax(
    source: NDArray[np.uint8],
    destination: NDArray[np.uint8],
    channels: int,
    form: int,
    input_scale: float,
    output_scale: float,
) -> None:
    """Softmax over contiguous elements, written to the first elements of `destination`."""
    if form == FP16:
        x = [F(v) for v in source[: 2 * channels].view(np.float16)]
    else:
        x = [half(F(q) * F(input_scale)) for q in source[:channels].view(np.int8)]
    largest = max(x)
    e = [F(_LIBM.expf(float(value - largest))) for value in x]
    total = F(0)
    for value in e:
        total = F(total + value)
    for i, value in enumerate(e):
        h = half_bits(F(value / total))
        if form == FP16:
            destination[2 * i : 2 * i + 2] = (h & 0xFF, h >> 8)
        else:
            y = F(np.array(h, np.uint16).view(np.float16))
            destination[i] = _to_int8(F(y / F(output_scale)))


def power(
    source: NDArray[np.uint8],
    destination: NDArray[np.uint8],
    form: int,
    width: int,
    height: int,
    channels: int,
    source_line: int,
    source_surface: int,
    destination_line: int,
    destination_surface: int,
    exponent: float,
    scale: float,
    shift: float,
    input_scale: float,
    output_scale: float,
) -> None:
    """(shift + scale * x) ** exponent for every element of a cube."""
    block, size = BLOCK[form], 2 if form == FP16 else 1
    for c in range(channels):
        for h in range(height):
            for w in range(width):
                item = (w * block + c % block) * size
                at = c // block * source_surface + h * source_line + item
                to = c // block * destination_surface + h * destination_line + item
                if form == FP16:
                    x = F(source[at : at + 2].view(np.float16)[0])
                else:
                    x = F(F(source[at : at + 1].view(np.int8)[0]) * F(input_scale))
                base = F(F(shift) + F(F(scale) * x))
                y = F(_LIBM.powf(float(base), float(F(exponent))))
                if form == FP16:
                    bits = half_bits(y)
                    destination[to : to + 2] = (bits & 0xFF, bits >> 8)
                else:
                    destination[to] = _to_int8(F(y / F(output_scale)))
