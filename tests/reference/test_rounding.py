"""Rounding and saturation of the reference, against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fwgen.reference.nvdla import rounding


@pytest.mark.parametrize(
    ("value", "shift", "expected"),
    [
        (5, 1, 3),  # 2.5 away from zero
        (-5, 1, -3),
        (4, 3, 1),  # 0.5
        (-4, 3, -1),
        (3, 3, 0),  # 0.375
        (7, 0, 7),
        (-(1 << 62), 63, -1),  # exactly half
        ((1 << 62) - 1, 63, 0),
        (-(1 << 62), 64, 0),
        (1 << 40, 200, 0),
    ],
)
def test_right_shift_rounds_half_away_from_zero(value: int, shift: int, expected: int) -> None:
    assert rounding.round_shift(np.array([value]), shift).tolist() == [expected]


def test_left_shift_saturates() -> None:
    x = np.array([1, -1, 3, -3, 0, 1 << 30, -(1 << 30)])
    got = rounding.shift_left_saturate(x, 30, 32).tolist()
    assert got == [1 << 30, -(1 << 30), 2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31)]
    assert rounding.shift_left_saturate(x, 63, 32).tolist()[:5] == [
        2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0,
    ]  # fmt: skip


def test_negative_shift_is_a_left_shift() -> None:
    assert rounding.signed_round_shift(np.array([3, -3]), -2, 32).tolist() == [12, -12]
    assert rounding.signed_round_shift(np.array([7, -7]), 1, 32).tolist() == [4, -4]


def test_wrap_keeps_low_bits() -> None:
    assert rounding.wrap(np.array([128, 255, -129, 127]), 8).tolist() == [-128, -1, 127, 127]
    assert rounding.sign_extend(0x1FF, 8) == -1
    assert rounding.sign_extend(0x80, 9) == 128
