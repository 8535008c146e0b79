"""SDP against arithmetic written out here: rounding, saturation, operands, the Y stage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .conftest import OPERANDS, SOURCE, TARGET, Device
from .programs import enable_sdp, pack, run_sdp, sdp_registers, upload_lut

EDGES = np.array([-128, -127, -65, -64, -63, -1, 0, 1, 2, 3, 63, 64, 65, 100, 126, 127], np.int8)
LINE = EDGES.reshape(1, 1, 16)

SUM, REG, MEM = 2 << 2, 0, 1


def round_shift(value: int, shift: int) -> int:
    """Nearest, ties away from zero."""
    if shift == 0:
        return value
    magnitude = (abs(value) + (1 << (shift - 1))) >> shift
    return -magnitude if value < 0 else magnitude


def saturate(value: int, bits: int) -> int:
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, value))


def test_passthrough_of_every_byte(device: Device) -> None:
    cube = np.arange(-128, 128, dtype=np.int64).astype(np.int8).reshape(32, 2, 4)
    assert (run_sdp(device, cube) == cube).all()


@pytest.mark.parametrize(
    ("offset", "scale", "shift"), [(0, 1, 1), (3, -1, 0), (-200, 1, 0), (5, 1000, 9), (1, 3, 63)]
)
def test_output_converter(device: Device, offset: int, scale: int, shift: int) -> None:
    out = run_sdp(
        device,
        LINE,
        D_CVT_OFFSET=offset & 0xFFFFFFFF,
        D_CVT_SCALE=scale & 0xFFFF,
        D_CVT_SHIFT=shift,
        D_PERF_ENABLE=4,
    )
    exact = [round_shift((int(x) - offset) * scale, shift) for x in EDGES]
    assert out.reshape(-1).tolist() == [saturate(v, 8) for v in exact]
    # The seven unused channels of the atom hold zero and are converted too.
    zero = round_shift(-offset * scale, shift)
    counted = sum(saturate(v, 8) != v for v in exact) + 7 * 16 * (saturate(zero, 8) != zero)
    assert device.read("SDP.D_PERF_OUT_SATURATION") == counted


@pytest.mark.parametrize(("algo", "fold"), [(0, max), (1, min), (2, lambda a, b: a + b)])
@pytest.mark.parametrize("stage", ["BS", "BN"])
def test_alu_with_a_shifted_register_operand(
    device: Device, algo: int, fold: Callable[[int, int], int], stage: str
) -> None:
    out = run_sdp(
        device,
        LINE,
        **{
            f"D_DP_{stage}_CFG": algo << 2 | 0x50,
            f"D_DP_{stage}_ALU_CFG": 3 << 8,
            f"D_DP_{stage}_ALU_SRC_VALUE": -2 & 0xFFFF,
        },
    )
    assert out.reshape(-1).tolist() == [saturate(fold(int(x), -16), 8) for x in EDGES]


@pytest.mark.parametrize("shift", [0, 1, 7, 40])
def test_multiplier_with_prelu(device: Device, shift: int) -> None:
    out = run_sdp(
        device,
        LINE,
        D_DP_BS_CFG=0x62,  # ALU bypassed, PRELU, no ReLU
        D_DP_BS_MUL_CFG=shift << 8,
        D_DP_BS_MUL_SRC_VALUE=-77 & 0xFFFF,
    )
    want = [int(x) if x >= 0 else round_shift(int(x) * -77, shift) for x in EDGES]
    assert out.reshape(-1).tolist() == [saturate(v, 8) for v in want]


def test_shift_acts_with_the_multiplier_bypassed_then_relu(device: Device) -> None:
    out = run_sdp(device, LINE, D_DP_BS_CFG=0x32, D_DP_BS_MUL_CFG=1 << 8)
    assert out.reshape(-1).tolist() == [max(round_shift(int(x), 1), 0) for x in EDGES]


@pytest.mark.parametrize("config", ["nv_small", "nv_medium_512", "nv_large"])
@pytest.mark.parametrize("two_bytes", [0, 1])
@pytest.mark.parametrize("per_element", [0, 1])
def test_both_operands_from_memory(
    make_device: Callable[..., Device], config: str, two_bytes: int, per_element: int
) -> None:
    device = make_device(config)
    atom = {"nv_small": 8, "nv_medium_512": 16, "nv_large": 32}[config]
    rng = np.random.default_rng(5)
    channels, height, width = 37, 3, 5
    surfaces = -(-channels // atom)
    kind = np.int16 if two_bytes else np.int8
    cube = rng.integers(-128, 128, (channels, height, width), dtype=np.int8)
    shape = (surfaces, height, width, atom, 2) if per_element else (surfaces, atom, 2)
    operands = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind)
    device.put(OPERANDS, operands)
    device.program(
        "SDP_RDMA",
        {
            "D_BRDMA_CFG": 2 << 1 | two_bytes << 3 | per_element << 4 | 1 << 5,
            "D_BS_BASE_ADDR_LOW": OPERANDS,
            "D_BS_LINE_STRIDE": width * atom * 2 * (1 + two_bytes),
            "D_BS_SURFACE_STRIDE": height * width * atom * 2 * (1 + two_bytes),
        },
    )
    out = run_sdp(
        device,
        cube,
        atom,
        D_DP_BS_CFG=SUM | 0x40,
        D_DP_BS_ALU_CFG=MEM,
        D_DP_BS_MUL_CFG=MEM | 9 << 8,
    )
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                at = (c // atom, y, x, c % atom) if per_element else (c // atom, c % atom)
                alu, mul = (int(v) for v in operands[at])
                want = saturate(round_shift((int(cube[c, y, x]) + alu) * mul, 9), 8)
                assert out[c, y, x] == want


def test_y_stage_multiplies_first_and_converts_memory_operands(device: Device) -> None:
    device.put(OPERANDS, np.array([50, -3, 7, 0, 0, 0, 0, 0], np.int8))
    device.program("SDP_RDMA", {"D_ERDMA_CFG": 1 << 1 | 1 << 5, "D_EW_BASE_ADDR_LOW": OPERANDS})
    cube = np.array([[[10]], [[-90]], [[127]]], np.int8)
    out = run_sdp(
        device,
        cube,
        D_DP_EW_CFG=SUM | 0x40,
        D_DP_EW_ALU_CFG=MEM,  # converter on
        D_DP_EW_ALU_CVT_OFFSET_VALUE=2,
        D_DP_EW_ALU_CVT_SCALE_VALUE=3,
        D_DP_EW_ALU_CVT_TRUNCATE_VALUE=1,
        D_DP_EW_MUL_CFG=2,
        D_DP_EW_MUL_SRC_VALUE=-5 & 0xFFFFFFFF,
        D_DP_EW_TRUNCATE_VALUE=2,
    )
    want = [
        saturate(round_shift(int(x) * -5, 2) + round_shift((o - 2) * 3, 1), 8)
        for x, o in zip(cube.reshape(-1), (50, -3, 7), strict=True)
    ]
    assert out.reshape(-1).tolist() == want


@pytest.mark.parametrize(("operand", "unequal"), [(4, 0), (5, 1)])
def test_equality_writes_status_and_no_memory(device: Device, operand: int, unequal: int) -> None:
    device.put(SOURCE, pack(np.full((3, 1, 2), 4, np.int8), 8))
    sdp_registers(device, (3, 1, 2), 8, D_DP_EW_CFG=3 << 2 | 0x50, D_DP_EW_ALU_SRC_VALUE=operand)
    device.bytes_at(TARGET, 16)[:] = 0x55
    enable_sdp(device)
    assert device.run() == 1
    assert device.read("SDP.D_STATUS") == unequal
    assert (device.bytes_at(TARGET, 16) == 0x55).all()


LE = [100 + 2 * i for i in range(65)]
LO = [-300 + 3 * i for i in range(257)]


def lut_output(device: Device, cube: np.ndarray, **lut: int) -> list[int]:
    """Table results, offset by 120 and rounded, so that they fit a byte."""
    upload_lut(device, "SDP", LE, LO)
    device.program("SDP", {f"S_LUT_{name}": value for name, value in lut.items()})
    out = run_sdp(device, cube, D_DP_EW_CFG=0x12, D_CVT_OFFSET=120, D_CVT_SCALE=1)
    return [int(v) for v in out.reshape(-1)]


def test_linear_table_interpolates_and_extends(device: Device) -> None:
    cube = np.array([-128, -20, -19, -10, 0, 5, 12, 120], np.int8).reshape(1, 1, 8)
    got = lut_output(
        device,
        cube,
        CFG=1 | 0 << 4 | 0 << 5 | 0 << 6,
        INFO=1 << 8 | 0xFF << 16,  # LE step 2; LO two entries per unit
        LE_START=-20 & 0xFFFFFFFF,
        LE_END=108,
        LO_START=1000,
        LO_END=1001,
        LE_SLOPE_SCALE=1 | 2 << 16,
        LE_SLOPE_SHIFT=1 | 31 << 5,  # underflow >> 1, overflow << 1
    )
    # LE: i = (x + 20) >> 1; x <= -20 underflows; i >= 64 overflows. LO never hits.
    want = []
    for x in (-128, -20, -19, -10, 0, 5, 12, 120):
        if x <= -20:
            y = LE[0] + round_shift(x + 20, 1)
        elif (x + 20) >> 1 >= 64:
            y = LE[64] + (x - 108) * 2 * 2
        else:
            i, odd = divmod(x + 20, 2)
            y = LE[i] + odd * (LE[i + 1] - LE[i]) // 2
        want.append(saturate(y - 120, 8))
    assert got == want


@pytest.mark.parametrize(
    ("priorities", "expected"),
    [
        # x = 0: both underflow; 10: LO only; 40: both hit; 127: LE hit... LO over
        (0b000, ["le", "lo", "le", "le"]),
        (0b111, ["lo", "lo", "lo", "le"]),
        (0b001, ["lo", "lo", "le", "le"]),
        (0b100, ["le", "lo", "lo", "le"]),
    ],
)
def test_table_priorities(device: Device, priorities: int, expected: list[str]) -> None:
    upload_lut(device, "SDP", [1] * 65, [2] * 257)
    device.program(
        "SDP",
        {
            "S_LUT_CFG": 1 | priorities << 4,
            "S_LUT_INFO": 1 << 8 | 0xFE << 16,  # LE step 2, LO four entries per unit
            "S_LUT_LE_START": 20,
            "S_LUT_LE_END": 148,
            "S_LUT_LO_START": 5,
            "S_LUT_LO_END": 69,
        },
    )
    cube = np.array([0, 10, 40, 127], np.int8).reshape(1, 1, 4)
    out = run_sdp(device, cube, D_DP_EW_CFG=0x12, D_PERF_ENABLE=2)
    assert [{1: "le", 2: "lo"}[int(v)] for v in out.reshape(-1)] == expected
    counters = ["UFLOW", "OFLOW", "HYBRID", "LE_HIT", "LO_HIT"]
    unused = 7 * 4  # channels of the atom that hold 0
    assert [device.read(f"SDP.D_PERF_LUT_{name}") for name in counters] == [1 + unused, 0, 1, 1, 1]


def test_exponential_table(device: Device) -> None:
    cube = np.array([3, 4, 5, 7, 8, 19, 67, 127], np.int8).reshape(1, 1, 8)
    got = lut_output(
        device,
        cube,
        CFG=0,
        INFO=1,  # offset 1: entry 0 stands at START + 2
        LE_START=3,
        LE_END=10000,
        LO_START=1000,
        LO_END=1001,
        LE_SLOPE_SCALE=4,
        LE_SLOPE_SHIFT=1,
    )
    want = []
    for x in cube.reshape(-1).tolist():
        u = x - 3
        power = u.bit_length() - 1
        if x <= 3 or power < 1:
            y = LE[0] + round_shift((x - 3 - 2) * 4, 1)
        else:
            i = power - 1
            fraction = (u - (1 << power)) / (1 << power)
            exact = LE[i] * (1 - fraction) + LE[i + 1] * fraction
            y = int(np.floor(exact + 0.5))
        want.append(saturate(y - 120, 8))
    assert got == want
