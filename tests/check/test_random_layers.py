"""The emulated accelerator against the NumPy reference on random and directed layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fwgen.check import random_layers
from fwgen.check.random_conv import feature_entries
from fwgen.check.random_layers import UNITS, compare, differences, make_case, run_case, save_trace
from fwgen.check.replay import replay
from fwgen.check.targets import CONFIGURATIONS, open_target


@pytest.mark.parametrize("config", CONFIGURATIONS)
@pytest.mark.parametrize("unit", list(UNITS))
def test_emulator_equals_reference(model_library: Path, unit: str, config: str) -> None:
    for seed in range(12):
        case = make_case(unit, config, seed)
        found = compare(case, model_library)
        assert found == [], f"{unit} {config} --seed {seed}: {case.summary}"


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(UNITS))
def test_emulator_equals_reference_on_many(model_library: Path, unit: str) -> None:
    arguments = ["--unit", unit, "--config", "all", "--count", "150", "--seed", "7000"]
    assert random_layers.main([*arguments, "--library", str(model_library)]) == 0


def test_cases_follow_from_their_seed() -> None:
    first, again, other = (make_case("chain", "nv_small", seed) for seed in (5, 5, 6))
    assert first.commands == again.commands
    assert all(
        np.array_equal(a[2], b[2]) for a, b in zip(first.segments, again.segments, strict=True)
    )
    assert first.commands != other.commands


def test_results_are_not_all_the_same_byte() -> None:
    # Layers whose outputs all saturate would hide errors.
    telling = 0
    for seed in range(40):
        case = make_case("sdp", "nv_large", seed)
        after = run_case(case, open_target("reference", "nv_large")).memory
        written = np.concatenate(
            [new[new != old] for (_, _, old), new in zip(case.segments, after, strict=True)]
        )
        telling += np.unique(written).size > 8
    assert telling >= 16


def test_a_wrong_byte_and_a_wrong_status_are_reported() -> None:
    case = make_case("pdp", "nv_small", 3)
    outcome = run_case(case, open_target("reference", "nv_small"))
    memory = tuple(data.copy() for data in outcome.memory)
    memory[0][7] ^= 1
    status = outcome.status | {"PDP.S_POINTER": 5}
    found = differences(case, outcome, replace(outcome, memory=memory, status=status))
    assert len(found) == 2
    assert f"first at 0x{case.segments[0][1] + 7:x}" in found[0]
    assert "PDP.S_POINTER" in found[1]
    assert differences(case, outcome, outcome) == []


@pytest.mark.parametrize("unit", ["conv", "pdps", "cdp", "chain"])
def test_a_saved_case_replays(model_library: Path, tmp_path: Path, unit: str) -> None:
    case = make_case(unit, "nv_small", 2)
    save_trace(case, run_case(case, open_target("reference", "nv_small")), tmp_path)
    (path,) = tmp_path.rglob("*.cfg")
    for model in ("reference", "emulator"):
        result = replay(path, "nv_small", model_library, model)
        assert result.passed, result.reason
        assert result.bytes_compared == sum(data.size for _, _, data in case.segments)


@pytest.mark.parametrize(
    ("channels", "width", "atom", "bank", "entries"),
    [
        (8, 5, 8, 8, 5),
        (9, 5, 8, 8, 10),
        (8, 5, 8, 32, 2),  # a quarter of an entry each: ceil(5 / 4)
        (16, 5, 8, 32, 3),  # half an entry each
        (24, 5, 8, 32, 5),  # three quarters take a whole one
        (40, 5, 8, 32, 7),
        (33, 4, 32, 64, 4),
        (32, 3, 32, 64, 2),
    ],
)
def test_entries_per_slice(channels: int, width: int, atom: int, bank: int, entries: int) -> None:
    assert feature_entries(channels, width, atom, bank) == entries


def test_accumulators_saturate_and_are_counted(model_library: Path) -> None:
    """-128 * -128 over more than 2**17 taps leaves 32 bits."""
    from fwgen.check.random_program import builder

    b = builder("nv_large", 1)
    size, channels, kernels = 5, 5632, 2
    for block in ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA", "SDP"):
        b.select(block)
    cube = b.buffer(size * size * channels)
    weights = b.buffer(size * size * channels * kernels)
    out = b.buffer(32)
    for block in ("CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC"):
        b.raw(f"{block}.D_MISC_CFG", 0)
    entries = feature_entries(channels, size, 32, 64)
    extent = {"DATAIN_WIDTH_EXT": size - 1, "DATAIN_HEIGHT_EXT": size - 1}
    b.fields("CDMA.D_DATAIN_FORMAT", DATAIN_FORMAT=0)
    b.fields("CDMA.D_DATAIN_SIZE_0", DATAIN_WIDTH=size - 1, DATAIN_HEIGHT=size - 1)
    b.fields("CDMA.D_DATAIN_SIZE_1", DATAIN_CHANNEL=channels - 1)
    b.fields("CDMA.D_DATAIN_SIZE_EXT_0", **extent)
    b.fields("CSC.D_DATAIN_SIZE_EXT_0", **extent)
    b.fields("CSC.D_DATAIN_SIZE_EXT_1", DATAIN_CHANNEL_EXT=channels - 1)
    b.fields("CDMA.D_DAIN_RAM_TYPE", DATAIN_RAM_TYPE=cube.ram_type)
    b.address("CDMA.D_DAIN_ADDR_LOW_0", "CDMA.D_DAIN_ADDR_HIGH_0", cube)
    b.raw("CDMA.D_LINE_STRIDE", size * 32)
    b.raw("CDMA.D_SURF_STRIDE", size * size * 32)
    b.fields("CDMA.D_DAIN_MAP", LINE_PACKED=1, SURF_PACKED=1)
    for block in ("CDMA", "CSC"):
        b.fields(f"{block}.D_ENTRY_PER_SLICE", ENTRIES=entries - 1)
        b.fields(f"{block}.D_BANK", DATA_BANK=13, WEIGHT_BANK=1)
        b.raw(f"{block}.D_WEIGHT_BYTES", weights.size)
    b.fields("CDMA.D_WEIGHT_SIZE_0", BYTE_PER_KERNEL=size * size * channels - 1)
    b.fields("CDMA.D_WEIGHT_SIZE_1", WEIGHT_KERNEL=kernels - 1)
    b.fields("CDMA.D_WEIGHT_RAM_TYPE", WEIGHT_RAM_TYPE=weights.ram_type)
    b.address("CDMA.D_WEIGHT_ADDR_LOW", "CDMA.D_WEIGHT_ADDR_HIGH", weights)
    b.fields("CSC.D_WEIGHT_SIZE_EXT_0", WEIGHT_WIDTH_EXT=size - 1, WEIGHT_HEIGHT_EXT=size - 1)
    b.fields("CSC.D_WEIGHT_SIZE_EXT_1", WEIGHT_CHANNEL_EXT=channels - 1, WEIGHT_KERNEL=kernels - 1)
    b.fields("CSC.D_ATOMICS", ATOMICS=0)
    b.fields("CSC.D_RELEASE", RLS_SLICES=size - 1)
    for block in ("CSC", "CACC"):
        b.fields(f"{block}.D_DATAOUT_SIZE_1", DATAOUT_CHANNEL=kernels - 1)
    b.raw("SDP.D_DATA_CUBE_CHANNEL", kernels - 1)
    for stage in ("BS", "BN", "EW"):
        b.raw(f"SDP.D_DP_{stage}_CFG", 1)
    b.fields("SDP.D_FEATURE_MODE_CFG", FLYING_MODE=1)
    b.address("SDP.D_DST_BASE_ADDR_LOW", "SDP.D_DST_BASE_ADDR_HIGH", out)
    b.raw("SDP.D_DST_LINE_STRIDE", 32)
    b.raw("SDP.D_DST_SURFACE_STRIDE", 32)
    b.fields("SDP.D_DST_DMA_CFG", DST_RAM_TYPE=out.ram_type)
    # Subtract 2**31 - 1 - 5: a saturated sum shows as 5.
    b.raw("SDP.D_CVT_OFFSET", 0x7FFFFFFF - 5)
    b.fields("SDP.D_CVT_SCALE", CVT_SCALE=1)
    b.enable("SDP", "CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA")
    case = b.finish("conv", 1)
    for _, _, data in case.segments:
        data[:] = 0x80
    assert compare(case, model_library) == []
    outcome = run_case(case, open_target("emulator", "nv_large", model_library))
    assert outcome.status["CACC.D_OUT_SATURATION of group 0"] == kernels
    (memory,) = [
        data[out.address - base :][:2]
        for (space, base, _), data in zip(case.segments, outcome.memory, strict=True)
        if space == out.space
    ]
    assert memory.tolist() == [5, 5]


def test_an_idle_rdma_of_a_later_operation_is_left_alone(model_library: Path) -> None:
    """A convolution without operands must not take the SDP_RDMA armed for the next SDP."""
    for seed in (1028, 1048, 1074, 1228):
        for config in ("nv_small", "nv_large"):
            assert compare(make_case("sequence", config, seed), model_library) == []


def test_exponent_offset_beyond_the_input_width(model_library: Path) -> None:
    """START + 2^42 as the base of an underflow slope with shift 15."""
    assert compare(make_case("lut", "nv_large", 100274), model_library) == []
