"""Pooling and response normalisation against arithmetic written out here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .conftest import DONE, SOURCE, TARGET, Device
from .programs import cdp_registers, cube_size, pack, pdp_registers, unpack, upload_lut
from .test_sdp import round_shift, saturate


def run_pdp(
    device: Device, cube: np.ndarray, out: tuple[int, int], atom: int, **values
) -> np.ndarray:
    device.put(SOURCE, pack(cube, atom))
    pdp_registers(device, cube.shape, out, atom, **values)
    device.write("PDP.D_OP_ENABLE", 1)
    device.write("PDP_RDMA.D_OP_ENABLE", 1)
    assert device.run() == 1 << DONE["PDP"]
    channels = cube.shape[0]
    return unpack(device.bytes_at(TARGET, cube_size(channels, *out, atom)), channels, *out, atom)


def window(
    cube: np.ndarray, c: int, top: int, left: int, kernel: tuple[int, int]
) -> list[list[int]]:
    """Valid values of a window, row by row."""
    _, height, width = cube.shape
    return [
        [int(cube[c, y, x]) for x in range(left, left + kernel[1]) if 0 <= x < width]
        for y in range(top, top + kernel[0])
        if 0 <= y < height
    ]


@pytest.mark.parametrize("config", ["nv_small", "nv_large"])
@pytest.mark.parametrize("method", [0, 1, 2])
def test_pooling_with_padding(make_device: Callable[..., Device], config: str, method: int) -> None:
    device = make_device(config)
    atom = 8 if config == "nv_small" else 32
    rng = np.random.default_rng(method)
    cube = rng.integers(-128, 128, (9, 7, 8), dtype=np.int8)
    kernel, stride, out = (3, 4), (2, 3), (4, 3)
    table = {1: 10, 2: -21, 3: 35}
    got = run_pdp(
        device, cube, out, atom, kernel=kernel, stride=stride, method=method,
        D_POOLING_PADDING_CFG=2 | 1 << 4 | 2 << 8 | 1 << 12,
        **{f"D_POOLING_PADDING_VALUE_{n}_CFG": v & 0x7FFFF for n, v in table.items()},
    )  # fmt: skip
    for c in range(9):
        for oy in range(out[0]):
            for ox in range(out[1]):
                rows = window(cube, c, oy * 2 - 1, ox * 3 - 2, kernel)
                values = [v for row in rows for v in row]
                if method == 0:
                    total = (
                        sum(values)
                        + len(rows) * table.get(4 - len(rows[0]), 0)
                        + 4 * table.get(3 - len(rows), 0)
                    )
                    want = round_shift(round_shift(total * 0x4000, 16) * 0x5555, 16)
                else:
                    want = max(values) if method == 1 else min(values)
                assert got[c, oy, ox] == want
    assert device.errors() == []


def test_split_width_equals_whole(make_device: Callable[..., Device]) -> None:
    rng = np.random.default_rng(3)
    cube = rng.integers(-128, 128, (8, 4, 17), dtype=np.int8)
    whole = run_pdp(
        make_device(), cube, (4, 9), 8, kernel=(1, 3), stride=(1, 2), method=1,
        D_POOLING_PADDING_CFG=1 | 1 << 8,
    ).copy()  # fmt: skip
    # Kernel 3, stride 2: parts of 6, 6 and 5 new columns, 3 outputs each.
    split = run_pdp(
        make_device(), cube, (4, 9), 8, kernel=(1, 3), stride=(1, 2), method=1,
        D_POOLING_PADDING_CFG=1 | 1 << 8,
        D_OPERATION_MODE_CFG=1 | 1 << 4 | 2 << 8,
        D_PARTIAL_WIDTH_IN=5 | 4 << 10 | 5 << 20,
        D_PARTIAL_WIDTH_OUT=2 | 2 << 10 | 2 << 20,
    )  # fmt: skip
    assert (split == whole).all()


def test_average_keeps_16_bits_and_wraps_the_result(device: Device) -> None:
    cube = np.full((8, 1, 1), 100, np.int8)
    got = run_pdp(
        device, cube, (1, 1), 8, kernel=(1, 1), stride=(1, 1), method=0,
        D_RECIP_KERNEL_WIDTH=0x1FFFF, D_RECIP_KERNEL_HEIGHT=0x10000,
    )  # fmt: skip
    assert (got == np.int8(200 - 256)).all()


def test_window_in_padding_is_a_guest_error(device: Device) -> None:
    pdp_registers(device, (8, 2, 2), (2, 3), 8, kernel=(1, 1), stride=(1, 1), method=1)
    device.write("PDP_RDMA.D_OP_ENABLE", 1)
    device.write("PDP.D_OP_ENABLE", 1)
    assert device.run() == 1 << DONE["PDP"]
    assert "output column 2, row 0 lies in padding" in device.errors()[0]


LE = [i * 5 for i in range(65)]
LO = [1000 - 4 * i for i in range(257)]


@pytest.mark.parametrize("config", ["nv_small", "nv_medium_512"])
@pytest.mark.parametrize("taps", [3, 5, 7, 9])
@pytest.mark.parametrize("bypass", [0, 1, 2, 3])
def test_normalisation(
    make_device: Callable[..., Device], config: str, taps: int, bypass: int
) -> None:
    device = make_device(config)
    atom = 8 if config == "nv_small" else 16
    rng = np.random.default_rng(taps)
    cube = rng.integers(-128, 128, (11, 2, 3), dtype=np.int8)
    device.put(SOURCE, pack(cube, atom))
    upload_lut(device, "CDP", LE, LO)
    offset, scale, shift = -3, 3, 2
    device.program(
        "CDP",
        {
            # LE never hits: START above every sum. LO: step 2^10 from -100 on.
            "S_LUT_CFG": 1 | 0x70,
            "S_LUT_INFO": 10 << 16,
            "S_LUT_LE_START_LOW": 0xFFFFFFFF,
            "S_LUT_LO_START_LOW": -100 & 0xFFFFFFFF,
            "S_LUT_LO_START_HIGH": 0x3F,
            "S_LUT_LO_END_LOW": 262044,
            "S_LUT_LO_SLOPE_SCALE": 3 | 0xFFFF << 16,
            "S_LUT_LO_SLOPE_SHIFT": 1 | 9 << 5,
        },
    )
    cdp_registers(
        device,
        cube.shape,
        atom,
        D_FUNC_BYPASS=bypass,
        D_LRN_CFG=(taps - 3) // 2,
        D_DATIN_OFFSET=offset & 0xFF,
        D_DATIN_SCALE=scale,
        D_DATIN_SHIFTER=shift,
        D_DATOUT_OFFSET=500,
        D_DATOUT_SCALE=-2 & 0xFFFF,
        D_DATOUT_SHIFTER=9,
    )
    device.write("CDP.D_OP_ENABLE", 1)
    device.write("CDP_RDMA.D_OP_ENABLE", 1)
    assert device.run() == 1 << DONE["CDP"]
    surfaces = -(-11 // atom)
    got = unpack(device.bytes_at(TARGET, surfaces * 6 * atom), surfaces * atom, 2, 3, atom)
    for y in range(2):
        for x in range(3):
            v = [
                saturate(round_shift((int(b) - offset) * scale, shift), 9) for b in cube[:, y, x]
            ] + [0] * (surfaces * atom - 11)
            for c in range(surfaces * atom):
                near = v[max(0, c - taps // 2) : c + taps // 2 + 1]
                s = v[c] if bypass & 1 else sum(n * n for n in near)
                t = s + 100
                if t <= 0:
                    f = LO[0] + round_shift(t * 3, 1)
                elif t >> 10 >= 256:
                    f = LO[256] + round_shift(-(s - 262044), 9)
                else:
                    i, rest = divmod(t, 1 << 10)
                    f = LO[i] + round_shift((LO[i + 1] - LO[i]) * (rest << 6), 16)
                f = saturate(f, 16)
                value = f if bypass & 2 else f * v[c]
                assert got[c, y, x] == saturate(round_shift((value - 500) * -2, 9), 8)
    assert device.errors() == []
