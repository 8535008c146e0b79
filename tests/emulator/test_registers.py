"""The register bus: reset values, masks, pointers, the look-up table port, guest errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fwgen.errors import UsageError
from fwgen.machine.model_library import EmulatedAccelerator, families

from .conftest import Device


def test_library_lists_the_configurations(model_library) -> None:
    assert families(model_library) == {
        "nvdla": (
            "nv_small",
            "nv_small_256",
            "nv_small_256_full",
            "nv_medium_512",
            "nv_medium_1024_full",
            "nv_large",
        ),
        "vip": (
            "vip8000nanosi_pid0xb5",
            "vip8000nanosi_plus_pid0x9f",
            "vip_pid0x88",
            "vip_pid0x82",
            "vip8000nanosi_plus_pid0xb9",
        ),
    }


def test_unknown_configuration_is_a_usage_error(model_library) -> None:
    with pytest.raises(UsageError, match="nv_full"):
        EmulatedAccelerator(model_library, "nvdla", "nv_full")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CFGROM.HW_VERSION", 0x10001),
        ("GLB.S_NVDLA_HW_VERSION", 0x303031),
        ("GLB.S_INTR_MASK", 0),
        ("CDMA.S_ARBITER", 0x3000F),
        ("CDMA.S_CBUF_FLUSH_STATUS", 1),
        ("CDMA.D_MISC_CFG", 0x1100),
        ("CSC.D_ATOMICS", 1),
        ("SDP.D_DP_BS_CFG", 0x73),
        ("SDP_RDMA.D_FEATURE_MODE_CFG", 0x14),
        ("CDP.D_DATIN_SCALE", 1),
        ("MCIF.CFG_OUTSTANDING_CNT", 0xFFFF),
    ],
)
def test_reset_values(device: Device, name: str, value: int) -> None:
    assert device.read(name) == value


@pytest.mark.parametrize(
    ("config", "atomic_c", "atomic_k", "atom", "banks", "width", "depth"),
    [
        ("nv_small", 8, 8, 8, 32, 8, 512),
        ("nv_small_256", 32, 8, 8, 32, 32, 128),
        ("nv_medium_512", 32, 16, 16, 32, 32, 512),
        ("nv_large", 64, 32, 32, 16, 64, 512),
    ],
)
def test_configuration_rom_follows_the_configuration(
    make_device: Callable[..., Device],
    config: str,
    atomic_c: int,
    atomic_k: int,
    atom: int,
    banks: int,
    width: int,
    depth: int,
) -> None:
    device = make_device(config)
    assert device.read("CFGROM.CDMA_BASE_ATOMIC_C") == atomic_c
    assert device.read("CFGROM.CSC_BASE_ATOMIC_K") == atomic_k
    assert device.read("CFGROM.SDP_RDMA_BASE_ATOMIC_M") == atom
    assert device.read("CFGROM.CBUF_BASE_CBUF_BANK_NUM") == banks
    assert device.read("CFGROM.CBUF_BASE_CBUF_BANK_WIDTH") == width
    assert device.read("CFGROM.CBUF_BASE_CBUF_BANK_DEPTH") == depth


def test_unowned_bits_and_read_only_registers_ignore_writes(device: Device) -> None:
    device.write("SDP.D_DP_EW_ALU_CVT_TRUNCATE_VALUE", 0x322)
    assert device.read("SDP.D_DP_EW_ALU_CVT_TRUNCATE_VALUE") == 0x22
    device.write("SDP.D_PERF_OUT_SATURATION", 5)
    assert device.read("SDP.D_PERF_OUT_SATURATION") == 0
    device.write("CFGROM.HW_VERSION", 0)
    assert device.read("CFGROM.HW_VERSION") == 0x10001
    assert device.errors() == []


def test_producer_selects_the_group_and_single_registers_have_none(device: Device) -> None:
    device.write("SDP.D_CVT_SCALE", 11)
    device.write("SDP.S_LUT_INFO", 0x10203)
    device.write("SDP.S_POINTER", 0xFFFFFFFF)
    assert device.read("SDP.S_POINTER") == 1
    device.write("SDP.D_CVT_SCALE", 22)
    assert device.read("SDP.D_CVT_SCALE") == 22
    assert device.read("SDP.S_LUT_INFO") == 0x10203
    device.write("SDP.S_POINTER", 0)
    assert device.read("SDP.D_CVT_SCALE") == 11
    assert device.read("SDP_RDMA.S_POINTER") == 0


@pytest.mark.parametrize("unit", ["SDP", "CDP"])
def test_lut_port_counts_up_and_stops_at_the_last_entry(device: Device, unit: str) -> None:
    device.write(f"{unit}.S_LUT_ACCESS_CFG", 1 << 17 | 62)
    for value in (1, 0x8002, 3, 4):
        device.write(f"{unit}.S_LUT_ACCESS_DATA", value)
    assert device.read(f"{unit}.S_LUT_ACCESS_CFG") == 1 << 17 | 64
    device.write(f"{unit}.S_LUT_ACCESS_CFG", 62)
    assert [device.read(f"{unit}.S_LUT_ACCESS_DATA") for _ in range(4)] == [1, 0x8002, 4, 4]
    device.write(f"{unit}.S_LUT_ACCESS_CFG", 1 << 17 | 1 << 16 | 255)
    for value in (7, 8, 9):
        device.write(f"{unit}.S_LUT_ACCESS_DATA", value)
    device.write(f"{unit}.S_LUT_ACCESS_CFG", 1 << 16 | 255)
    assert [device.read(f"{unit}.S_LUT_ACCESS_DATA") for _ in range(3)] == [7, 9, 9]
    assert device.errors() == []


def test_lut_port_outside_the_table(device: Device) -> None:
    device.write("SDP.S_LUT_ACCESS_CFG", 1 << 17 | 65)
    device.write("SDP.S_LUT_ACCESS_DATA", 1)
    assert device.errors() == ["SDP.S_LUT_ACCESS_CFG.LUT_ADDR = 65: the table has 65 entries"]


def test_accesses_to_nothing_are_counted_and_named(device: Device) -> None:
    assert device.accelerator.read32(0x1010) == 0
    device.accelerator.write32(0x1FFFC, 1)
    assert device.read("BDMA.STATUS") == 0
    device.write("RBK.D_OP_ENABLE", 1)
    device.write("CVIF.CFG_OUTSTANDING_CNT", 1)
    assert device.errors() == [
        "read of offset 0x01010: no such register",
        "write of offset 0x1fffc: no such register",
        "read of BDMA.STATUS: nv_small has no such block",
        "write of RBK.D_OP_ENABLE: nv_small has no such block",
        "write of CVIF.CFG_OUTSTANDING_CNT: nv_small has no such block",
    ]
    assert device.accelerator.guest_error_count == 5


def test_register_names(device: Device) -> None:
    name = device.accelerator.register_name
    assert name(0x3010) == "CDMA.D_OP_ENABLE"
    assert name(0x9038) == "SDP.D_OP_ENABLE"
    assert name(0xD048) == "CDP.D_OP_ENABLE"
    assert name(0x9039) is None


def test_soft_reset(device: Device) -> None:
    device.write("SDP.S_POINTER", 1)
    device.write("GLB.S_INTR_SET", 0xF)
    device.write("GEC.SWRESET", 1)
    assert device.read("SDP.S_POINTER") == 0
    assert device.read("GLB.S_INTR_STATUS") == 0
    assert not device.accelerator.irq
