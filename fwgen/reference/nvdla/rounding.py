"""Rounding and saturation of the NVDLA datapath, exact in int64.

The hardware rounds right shifts to nearest with ties away from zero and
saturates left shifts and narrowing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_INT64_MAX = np.iinfo(np.int64).max


def limits(bits: int) -> tuple[int, int]:
    """Smallest and largest value of a signed integer of `bits` bits."""
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def saturate(x: Ints, bits: int) -> Ints:
    """Clip to a signed integer of `bits` bits (at most 64)."""
    low, high = limits(bits)
    return np.clip(x, low, high)


def round_shift(x: Ints, shift: int) -> Ints:
    """x / 2**shift to nearest, ties away from zero; |x| must be below 2**63.

    A shift of 64 or more gives 0 (|x| is then less than half a unit).
    """
    if shift == 0:
        return x.copy()
    if shift >= 65:
        return np.zeros_like(x)
    magnitude = np.abs(x).astype(np.uint64)
    if shift == 64:
        return np.zeros_like(x)
    half = np.uint64(1 << (shift - 1))
    rounded = ((magnitude + half) >> np.uint64(shift)).astype(np.int64)
    return np.where(x < 0, -rounded, rounded)


def shift_left_saturate(x: Ints, shift: int, bits: int) -> Ints:
    """x * 2**shift saturated to `bits` bits, for any shift >= 0 and bits <= 63."""
    low, high = limits(bits)
    if shift >= bits:
        return np.where(x > 0, np.int64(high), np.where(x < 0, np.int64(low), np.int64(0)))
    floor, ceiling = low >> shift, high >> shift
    inside = np.clip(x, floor, ceiling) << shift
    return np.where(x > ceiling, np.int64(high), np.where(x < floor, np.int64(low), inside))


def signed_round_shift(x: Ints, shift: int, bits: int) -> Ints:
    """Right shift with rounding for shift >= 0, saturating left shift for shift < 0."""
    if shift >= 0:
        return saturate(round_shift(x, shift), bits)
    return shift_left_saturate(x, -shift, bits)


def wrap(x: Ints, bits: int) -> Ints:
    """Keep the low `bits` bits as a signed integer."""
    mask = (1 << bits) - 1
    sign = 1 << (bits - 1)
    return ((x & mask) ^ sign) - sign


def sign_extend(value: int, bits: int) -> int:
    """The low `bits` bits of a Python integer as a signed value."""
    sign = 1 << (bits - 1)
    return ((value & ((1 << bits) - 1)) ^ sign) - sign
