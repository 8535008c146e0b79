"""The two-table lookup of SDP (Y stage) and CDP.

LE has 65 entries and an exponential or linear index, LO 257 entries and a
linear index; all entries are signed 16 bit. A value at or below START
underflows a table, an index at or beyond 64 (LE) or 256 (LO) overflows it.
SDP and CDP differ in the width of the fraction, the form of the interpolation
and the width of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fwgen.reference.nvdla.regfile import Group
from fwgen.reference.nvdla.rounding import (
    Ints,
    round_shift,
    saturate,
    signed_round_shift,
)

Mask = npt.NDArray[np.bool_]

LE_ENTRIES = 65
LO_ENTRIES = 257

# 2**exponent in the base of an exponential underflow: from here on every slope
# but 0 saturates, so larger exponents need not be represented.
_MAX_BASE_EXPONENT = 47


@dataclass(frozen=True, slots=True)
class LutSettings:
    """The shared LUT registers of a unit, already sign extended.

    Each slope is a (scale, shift) pair. `table` entries are int64 arrays.
    """

    le: Ints
    lo: Ints
    le_linear: bool
    underflow_lo: bool
    overflow_lo: bool
    hybrid_lo: bool
    le_index_offset: int
    le_select: int
    lo_select: int
    le_start: int
    le_end: int
    lo_start: int
    lo_end: int
    le_underflow_slope: tuple[int, int]
    le_overflow_slope: tuple[int, int]
    lo_underflow_slope: tuple[int, int]
    lo_overflow_slope: tuple[int, int]


def read_settings(
    unit: Group,
    tables: tuple[Ints, Ints],
    bound: Callable[[str], int],
    select_bits: int | None = None,
) -> LutSettings:
    """The LUT registers of SDP or CDP.

    `bound` reads "LE_START", "LE_END", "LO_START" or "LO_END", whose registers differ;
    of the index selects `select_bits` count, None for all.
    """

    def slope(table: str, side: str) -> tuple[int, int]:
        scale = unit.signed(f"S_LUT_{table}_SLOPE_SCALE.LUT_{table}_SLOPE_{side}_SCALE")
        shift = unit.signed(f"S_LUT_{table}_SLOPE_SHIFT.LUT_{table}_SLOPE_{side}_SHIFT")
        return scale, shift

    return LutSettings(
        le=tables[0],
        lo=tables[1],
        le_linear=bool(unit["S_LUT_CFG.LUT_LE_FUNCTION"]),
        underflow_lo=bool(unit["S_LUT_CFG.LUT_UFLOW_PRIORITY"]),
        overflow_lo=bool(unit["S_LUT_CFG.LUT_OFLOW_PRIORITY"]),
        hybrid_lo=bool(unit["S_LUT_CFG.LUT_HYBRID_PRIORITY"]),
        le_index_offset=unit.signed("S_LUT_INFO.LUT_LE_INDEX_OFFSET"),
        le_select=unit.signed("S_LUT_INFO.LUT_LE_INDEX_SELECT", select_bits),
        lo_select=unit.signed("S_LUT_INFO.LUT_LO_INDEX_SELECT", select_bits),
        le_start=bound("LE_START"),
        le_end=bound("LE_END"),
        lo_start=bound("LO_START"),
        lo_end=bound("LO_END"),
        le_underflow_slope=slope("LE", "UFLOW"),
        le_overflow_slope=slope("LE", "OFLOW"),
        lo_underflow_slope=slope("LO", "UFLOW"),
        lo_overflow_slope=slope("LO", "OFLOW"),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where each value falls in one table."""

    under: Mask
    over: Mask
    index: Ints
    fraction: Ints

    @property
    def hit(self) -> Mask:
        return ~(self.under | self.over)


def _scale_fraction(low: Ints, bits: int, fraction_bits: int) -> Ints:
    """`low` / 2**bits as a fraction of `fraction_bits` bits, rounded down."""
    if bits <= fraction_bits:
        return low << (fraction_bits - bits)
    return low >> min(bits - fraction_bits, 63)


def _linear(x: Ints, start: int, select: int, last: int, fraction_bits: int) -> _Place:
    u = x - start
    under = u <= 0
    u = np.maximum(u, 1)
    if select >= 0:
        index = u >> min(select, 62)
        low = u & ((1 << min(select, 62)) - 1)
        fraction = _scale_fraction(low, select, fraction_bits)
    else:
        # Shifting 1 left by 10 already passes the end of either table.
        index = np.minimum(u, 1024) << min(-select, 10)
        fraction = np.zeros_like(u)
    over = ~under & (index >= last)
    return _Place(under, over, np.clip(index, 0, last - 1), fraction)


def _exponential(x: Ints, start: int, offset: int, last: int, fraction_bits: int) -> _Place:
    u = np.maximum(x - start, 1)
    exponent = np.frexp(u.astype(np.float64))[1].astype(np.int64) - 1
    under = (x - start <= 0) | (exponent < offset)
    index = exponent - offset
    over = ~under & (index >= last)
    low = u - (np.int64(1) << exponent)
    fraction = np.where(
        exponent <= fraction_bits,
        low << np.maximum(fraction_bits - exponent, 0),
        low >> np.maximum(exponent - fraction_bits, 0),
    )
    return _Place(under, over, np.clip(index, 0, last - 1), fraction)


def _choose_lo(le: _Place, lo: _Place, settings: LutSettings) -> Mask:
    choice = np.full(le.under.shape, settings.hybrid_lo)
    choice = np.where(le.hit & ~lo.hit, False, choice)
    choice = np.where(lo.hit & ~le.hit, True, choice)
    choice = np.where(le.under & lo.under, settings.underflow_lo, choice)
    return np.where(le.over & lo.over, settings.overflow_lo, choice)


def _base(settings: LutSettings, smallest_offset: int) -> int:
    """Base of the LE underflow slope."""
    offset = settings.le_index_offset
    if settings.le_linear or offset < smallest_offset:
        return settings.le_start
    return settings.le_start + (1 << min(offset, _MAX_BASE_EXPONENT))


def sdp_lookup(x: Ints, settings: LutSettings) -> Ints:
    """Look up 32-bit values; the result is 32 bit."""
    bits = 35

    def interpolate(table: Ints, place: _Place) -> Ints:
        y0, y1 = table[place.index], table[place.index + 1]
        return round_shift(y0 * ((1 << bits) - place.fraction) + y1 * place.fraction, bits)

    def slope(entry: np.int64, base: int, pair: tuple[int, int]) -> Ints:
        return saturate(entry + signed_round_shift((x - base) * pair[0], pair[1], 32), 32)

    return _lookup(x, settings, bits, interpolate, slope, _base(settings, 1))


def cdp_lookup(x: Ints, settings: LutSettings) -> Ints:
    """Look up square sums (22 bit) or values (9 bit); the result is 16 bit."""
    bits = 16

    def interpolate(table: Ints, place: _Place) -> Ints:
        y0, y1 = table[place.index], table[place.index + 1]
        return saturate(y0 + round_shift((y1 - y0) * place.fraction, bits), 16)

    def slope(entry: np.int64, base: int, pair: tuple[int, int]) -> Ints:
        return saturate(entry + signed_round_shift((x - base) * pair[0], pair[1], 56), 16)

    return _lookup(x, settings, bits, interpolate, slope, _base(settings, 0))


def _lookup(  # type: ignore[no-untyped-def]
    x: Ints, settings: LutSettings, bits: int, interpolate, slope, le_under_base: int
) -> Ints:
    last_le, last_lo = LE_ENTRIES - 1, LO_ENTRIES - 1
    if settings.le_linear:
        le = _linear(x, settings.le_start, settings.le_select, last_le, bits)
    else:
        le = _exponential(x, settings.le_start, settings.le_index_offset, last_le, bits)
    lo = _linear(x, settings.lo_start, settings.lo_select, last_lo, bits)

    def resolve(place: _Place, table: Ints, under: Ints, over: Ints) -> Ints:
        value: Ints = np.where(place.under, under, interpolate(table, place))
        return np.where(place.over, over, value)

    le_value = resolve(
        le,
        settings.le,
        slope(settings.le[0], le_under_base, settings.le_underflow_slope),
        slope(settings.le[-1], settings.le_end, settings.le_overflow_slope),
    )
    lo_value = resolve(
        lo,
        settings.lo,
        slope(settings.lo[0], settings.lo_start, settings.lo_underflow_slope),
        slope(settings.lo[-1], settings.lo_end, settings.lo_overflow_slope),
    )
    return np.where(_choose_lo(le, lo, settings), lo_value, le_value)
