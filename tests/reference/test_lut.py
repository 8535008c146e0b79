"""LUT corners of the reference, against values computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fwgen.reference.nvdla.lut import LutSettings, cdp_lookup, sdp_lookup

_LE = np.arange(65, dtype=np.int64) * 100
_LO = np.arange(257, dtype=np.int64) * -10

_LINEAR = LutSettings(
    le=_LE,
    lo=_LO,
    le_linear=True,
    underflow_lo=False,
    overflow_lo=False,
    hybrid_lo=True,
    le_index_offset=0,
    le_select=4,
    lo_select=0,
    le_start=0,
    le_end=1024,
    lo_start=2000,
    lo_end=2256,
    le_underflow_slope=(3, 1),
    le_overflow_slope=(-4, -1),
    lo_underflow_slope=(0, 0),
    lo_overflow_slope=(0, 0),
)


def _sdp(value: int, settings: LutSettings) -> int:
    return int(sdp_lookup(np.array([value], dtype=np.int64), settings)[0])


def _cdp(value: int, settings: LutSettings) -> int:
    return int(cdp_lookup(np.array([value], dtype=np.int64), settings)[0])


def test_linear_hit_interpolates() -> None:
    # 24 / 16 = entry 1, fraction 8/16: (100 + 200) / 2.
    assert _sdp(24, _LINEAR) == 150
    assert _cdp(24, _LINEAR) == 150
    # LO alone: 2005 - 2000 = entry 5.
    assert _sdp(2005, _LINEAR) == -50


def test_start_itself_underflows() -> None:
    # Both underflow, priority LE: T[0] + round(0 * 3 / 2).
    assert _sdp(0, _LINEAR) == 0
    # -1 * 3 / 2 = -1.5, away from zero.
    assert _sdp(-1, _LINEAR) == -2
    assert _cdp(-1, _LINEAR) == -2


def test_both_overflow_uses_the_slope_from_the_end() -> None:
    # LE end 1024: 6400 + (3000 - 1024) * -4 * 2.
    assert _sdp(3000, _LINEAR) == 6400 - 1976 * 8
    # CDP results are 16 bit: 6400 - 38976 * 8 saturates.
    assert _cdp(40000, _LINEAR) == -32768


def test_mixed_miss_follows_hybrid_priority() -> None:
    # 1500: LE overflows, LO underflows; HYBRID is LO, whose slope is 0.
    assert _sdp(1500, _LINEAR) == 0
    # HYBRID LE: 6400 + (1500 - 1024) * -8.
    assert _sdp(1500, replace(_LINEAR, hybrid_lo=False)) == 6400 - 476 * 8


def test_negative_select_shifts_left() -> None:
    settings = replace(_LINEAR, le_select=-2)
    assert _sdp(3, settings) == 1200
    # 16 << 2 = 64 overflows LE, LO underflows: HYBRID LO gives its entry 0.
    assert _sdp(16, settings) == 0


def test_exponent_index_and_fraction() -> None:
    settings = replace(_LINEAR, le_linear=False, le_index_offset=2, hybrid_lo=False)
    # u = 12: k = 3, entry 1, fraction 4/8.
    assert _sdp(12, settings) == 150
    assert _cdp(12, settings) == 150
    # u = 3: k = 1 < 2, both underflow; base = 0 + 2**2: (3 - 4) * 3 / 2 = -1.5.
    assert _sdp(3, settings) == -2
    assert _cdp(3, settings) == -2


def test_exponent_underflow_base_differs_at_offset_zero() -> None:
    settings = replace(_LINEAR, le_linear=False, le_index_offset=0)
    # SDP's base is START, CDP's START + 2**0: -2 * 3 / 2 and -3 * 3 / 2.
    assert _sdp(-2, settings) == -3
    assert _cdp(-2, settings) == -5


def test_exponent_offsets_beyond_the_input_keep_their_weight() -> None:
    # base = 2**40: (10 - 2**40) / 2**15 rounds to -2**25.
    settings = replace(
        _LINEAR, le_linear=False, le_index_offset=40, le_underflow_slope=(1, 15), hybrid_lo=False
    )
    assert _sdp(10, settings) == -(1 << 25)
    assert _sdp(10, replace(settings, le_index_offset=46)) == -(1 << 31)
    assert _sdp(10, replace(settings, le_index_offset=127)) == -(1 << 31)
    assert _cdp(10, replace(settings, le_index_offset=127)) == -32768


def test_slope_saturates_at_32_bits() -> None:
    settings = replace(_LINEAR, le_underflow_slope=(32767, -16))
    assert _sdp(-(1 << 20), settings) == -(1 << 31)


def test_interpolation_tie_rounds_away_from_zero() -> None:
    table = _LE.copy()
    table[0], table[1] = -1, 0
    settings = replace(_LINEAR, le=table, le_select=1)
    # x = 1: fraction 1/2 between -1 and 0. SDP rounds the sum -0.5 to -1,
    # CDP adds round(+0.5) = 1 to -1.
    assert _sdp(1, settings) == -1
    assert _cdp(1, settings) == 0
