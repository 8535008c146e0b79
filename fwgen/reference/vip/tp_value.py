"""The value function of a TP job, in exact fractions.

The engine computes in floating point with 15 fraction bits. R rounds to that,
ties to even; the table's result is cut instead:

    y0 = pixel - input zero point, or table(y0) cut
    y1 = R(y0 * (1 + multiplier / 2^15)) / 2^shift
    y2 = R(y1 + output zero point)
    byte = y2 to the nearest integer, ties to even, clamped to 0..255
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

FRACTION_BITS = 15
TABLE_ENTRIES = 1025
"""Of a look-up table: 1024, and the right neighbour of the last."""


def _exponent(value: Fraction) -> int:
    """e with 2^e <= value < 2^(e + 1), for a positive value."""
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if value >= Fraction(2) ** e else e - 1


def round_float(value: Fraction) -> Fraction:
    """R: the nearest number with 15 fraction bits."""
    if value == 0:
        return value
    unit = Fraction(2) ** (_exponent(abs(value)) - FRACTION_BITS)
    return round(value / unit) * unit  # Fraction rounds ties to even


def cut_float(value: Fraction) -> Fraction:
    """The next number with 15 fraction bits towards zero."""
    if value == 0:
        return value
    unit = Fraction(2) ** (_exponent(abs(value)) - FRACTION_BITS)
    size = abs(value) // unit * unit
    return size if value > 0 else -size


def table_entry(word: int) -> Fraction:
    """A 21-bit float: sign, 5 bits of exponent (bias 15), 15 bits of mantissa."""
    exponent, mantissa = word >> 15 & 31, word & 0x7FFF
    if exponent:
        size = (1 + Fraction(mantissa, 1 << 15)) * Fraction(2) ** (exponent - 15)
    else:
        size = Fraction(mantissa, 1 << 29)
    return -size if word >> 20 & 1 else size


def look_up(table: Sequence[int], value: int, sign_support: bool) -> Fraction:
    """The table at an integer, which its half-precision pattern indexes."""
    pattern = int(np.array(value, np.float16).view(np.uint16))
    if sign_support:
        index, part = pattern >> 6, Fraction(pattern & 63, 64)
    else:
        index, part = (pattern & 0x7FFF) >> 5, Fraction(pattern & 31, 32)
    first, second = table_entry(table[index]), table_entry(table[index + 1])
    result = first + (second - first) * part
    return -result if value < 0 and not sign_support else result


def requantise(y0: Fraction, multiplier: int, shift: int, zero_point: int) -> int:
    """y0 to the output byte."""
    y1 = round_float(y0 * (1 + Fraction(multiplier, 1 << 15))) * Fraction(2) ** -shift
    y2 = round_float(y1 + zero_point)
    return min(max(round(y2), 0), 255)
