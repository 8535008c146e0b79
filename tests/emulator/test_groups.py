"""Ping-pong groups: arming, status, consumers, launch in any order, chains, and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from .conftest import DONE, SOURCE, TARGET, WEIGHTS, Device
from .programs import (
    conv_registers,
    enable_conv,
    enable_sdp,
    pack,
    pdp_registers,
    sdp_registers,
    upload_lut,
)

SHAPE = (8, 2, 2)
CUBE = np.arange(32, dtype=np.int8).reshape(SHAPE)


def test_status_and_pointers_through_two_queued_operations(device: Device) -> None:
    device.put(SOURCE, pack(CUBE, 8))
    for group in (0, 1):
        sdp_registers(device, SHAPE, 8, group=group, target=TARGET + 0x100 * group)
        enable_sdp(device)
    assert device.read("SDP.S_STATUS") == 1 | 2 << 16
    assert device.read("SDP_RDMA.S_STATUS") == 1 | 2 << 16
    device.accelerator.advance(device.accelerator.next_event() or 0)
    assert device.read("SDP.S_STATUS") == 1 << 16
    assert device.read("SDP.S_POINTER") == 1 | 1 << 16
    assert device.read("GLB.S_INTR_STATUS") == 1
    device.accelerator.run()
    assert device.read("SDP.S_STATUS") == 0
    assert device.read("SDP.S_POINTER") == 1
    assert device.read("GLB.S_INTR_STATUS") == 3
    first, second = device.operations()
    assert (first.group, second.group) == (0, 1)
    assert second.start_cycle == first.end_cycle
    assert (device.bytes_at(TARGET, 32) == device.bytes_at(TARGET + 0x100, 32)).all()


def test_only_the_consumer_group_runs(device: Device) -> None:
    sdp_registers(device, SHAPE, 8, group=1)
    enable_sdp(device)
    assert device.accelerator.next_event() is None
    assert device.read("SDP.S_STATUS") == 2 << 16
    sdp_registers(device, SHAPE, 8, group=0, target=TARGET + 0x100)
    enable_sdp(device)
    assert device.run() == 3
    assert [op.group for op in device.operations()] == [0, 1]


def test_an_armed_group_takes_no_writes(device: Device) -> None:
    sdp_registers(device, SHAPE, 8)
    enable_sdp(device)
    device.write("SDP.D_CVT_SCALE", 5)
    device.write("SDP.D_OP_ENABLE", 1)
    assert device.read("SDP.D_CVT_SCALE") == 1
    assert device.errors() == [
        "write of 0x00000005 to SDP.D_CVT_SCALE: group 0 is armed, the value is dropped",
        "write of 0x00000001 to SDP.D_OP_ENABLE: group 0 is armed already",
    ]
    device.run()
    device.write("SDP.D_CVT_SCALE", 5)
    assert device.read("SDP.D_CVT_SCALE") == 5


def test_writing_zero_to_op_enable_does_nothing(device: Device) -> None:
    device.write("SDP.D_OP_ENABLE", 0)
    assert device.read("SDP.S_STATUS") == 0
    assert device.errors() == []


def test_table_is_locked_while_the_unit_runs(device: Device) -> None:
    sdp_registers(device, SHAPE, 8)
    enable_sdp(device)
    device.write("SDP.S_LUT_INFO", 1)
    assert device.read("SDP.S_LUT_INFO") == 0
    assert "the unit is running" in device.errors()[0]
    upload_lut(device, "CDP", [1], [2])
    assert len(device.errors()) == 1


BLOCKS = ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA", "SDP")


@pytest.mark.parametrize("order", list(itertools.permutations(BLOCKS))[::90])
def test_convolution_starts_when_the_last_block_is_armed(
    device: Device, order: tuple[str, ...]
) -> None:
    device.put(SOURCE, pack(CUBE, 8))
    device.put(WEIGHTS, np.eye(8, dtype=np.int8))
    conv_registers(device, SHAPE, (8, 1, 1), (2, 2), entries=2)
    sdp_registers(device, SHAPE, 8, flying=True)
    for block in order[:-1]:
        device.write(f"{block}.D_OP_ENABLE", 1)
    assert device.accelerator.next_event() is None
    device.write(f"{order[-1]}.D_OP_ENABLE", 1)
    done = 1 << DONE["SDP"] | 1 << DONE["CACC"] | 1 << DONE["CDMA_DAT"] | 1 << DONE["CDMA_WT"]
    assert device.run() == done
    assert [op.unit for op in device.operations()] == ["CONV", "SDP"]
    assert (device.bytes_at(TARGET, 32) == device.bytes_at(SOURCE, 32)).all()
    assert device.errors() == []
    # SDP_RDMA took no part: its consumer stays.
    assert device.read("SDP_RDMA.S_POINTER") == 0
    assert device.read("CDMA.S_POINTER") == 1 << 16


def test_an_rdma_with_every_port_disabled_completes_alone(device: Device) -> None:
    sdp_registers(device, SHAPE, 8, flying=True)
    device.write("SDP_RDMA.D_OP_ENABLE", 1)
    assert device.read("SDP_RDMA.S_STATUS") == 0
    assert device.read("SDP_RDMA.S_POINTER") == 1 << 16


def test_sdp_to_pdp_waits_for_a_flying_pdp(device: Device) -> None:
    device.put(SOURCE, pack(CUBE, 8))
    sdp_registers(device, SHAPE, 8, to_pdp=True)
    enable_sdp(device)
    assert device.accelerator.next_event() is None
    pdp_registers(device, SHAPE, (1, 1), 8, kernel=(2, 2), stride=(2, 2), method=1, flying=True)
    device.write("PDP.D_OP_ENABLE", 1)
    assert device.run() == 1 << DONE["SDP"] | 1 << DONE["PDP"]
    assert (device.bytes_at(TARGET, 8) == CUBE.max(axis=(1, 2))).all()


def test_units_run_side_by_side(device: Device) -> None:
    sdp_registers(device, (8, 8, 8), 8)
    enable_sdp(device)
    pdp_registers(
        device, SHAPE, (1, 1), 8, kernel=(2, 2), stride=(2, 2), method=1,
        D_DST_BASE_ADDR_LOW=TARGET + 0x1000,
    )  # fmt: skip
    device.write("PDP_RDMA.D_OP_ENABLE", 1)
    device.write("PDP.D_OP_ENABLE", 1)
    device.accelerator.run()
    done = device.operations()
    assert [op.unit for op in done] == ["PDP", "SDP"]
    assert done[0].start_cycle == done[1].start_cycle == 0


@pytest.mark.parametrize(
    ("register", "value", "text"),
    [
        ("SDP.D_DATA_FORMAT", 1, "SDP.D_DATA_FORMAT.PROC_PRECISION = 1: only int8 is modelled"),
        ("SDP.D_DATA_FORMAT", 8, "SDP.D_DATA_FORMAT.OUT_PRECISION = 2: only int8 is modelled"),
        ("SDP.D_FEATURE_MODE_CFG", 4, "SDP.D_FEATURE_MODE_CFG.WINOGRAD = 1"),
        ("SDP.D_FEATURE_MODE_CFG", 0x300, "SDP.D_FEATURE_MODE_CFG.BATCH_NUMBER = 3"),
        ("SDP.D_DST_DMA_CFG", 0, "SDP.D_DST_DMA_CFG.DST_RAM_TYPE = 0: this configuration has no"),
        ("SDP_RDMA.D_SRC_DMA_CFG", 0, "SDP_RDMA.D_SRC_DMA_CFG.SRC_RAM_TYPE = 0"),
        ("SDP.D_DP_BS_CFG", 0x7C, "SDP.D_DP_BS_CFG.BS_ALU_ALGO = 3: reserved"),
        ("SDP_RDMA.D_SRC_BASE_ADDR_HIGH", 1, "DMA read of 16 bytes at 0x180000000"),
        ("SDP.D_DST_BASE_ADDR_LOW", 0x10, "SDP.D_DST_BASE_ADDR_LOW: DMA write of 16 bytes at 0x10"),
    ],
)
def test_refused_operations_complete_and_write_nothing(
    device: Device, register: str, value: int, text: str
) -> None:
    device.put(SOURCE, pack(CUBE, 8))
    sdp_registers(device, SHAPE, 8)
    device.write(register, value)
    enable_sdp(device)
    assert device.run() == 1
    assert text in device.errors()[0]
    assert not device.bytes_at(TARGET, 64).any()


@pytest.mark.parametrize(
    ("register", "value", "text"),
    [
        ("CDMA.D_MISC_CFG", 1, "CDMA.D_MISC_CFG.CONV_MODE = 1: Winograd is not modelled"),
        ("CSC.D_MISC_CFG", 0x1000, "CSC.D_MISC_CFG.PROC_PRECISION = 1: only int8 is modelled"),
        ("CMAC_B.D_MISC_CFG", 0x2000, "CMAC_B.D_MISC_CFG.PROC_PRECISION = 2"),
        ("CDMA.D_WEIGHT_FORMAT", 1, "CDMA.D_WEIGHT_FORMAT.WEIGHT_FORMAT = 1: compressed"),
        ("CACC.D_BATCH_NUMBER", 1, "CACC.D_BATCH_NUMBER.BATCHES = 1: batches are not modelled"),
        ("CSC.D_DATAIN_FORMAT", 1, "CSC.D_DATAIN_FORMAT.DATAIN_FORMAT = 1: CDMA has the other"),
        ("CSC.D_POST_Y_EXTENSION", 1, "CSC.D_POST_Y_EXTENSION.Y_EXTENSION = 1"),
    ],
)
def test_refused_convolutions(device: Device, register: str, value: int, text: str) -> None:
    conv_registers(device, SHAPE, (8, 1, 1), (2, 2), entries=2)
    device.bytes_at(TARGET, 32)[:] = 0x55
    sdp_registers(device, SHAPE, 8, flying=True)
    device.write(register, value)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    assert device.run() & 1
    assert text in device.errors()[0]
    assert (device.bytes_at(TARGET, 32) == 0x55).all()


@pytest.mark.parametrize(
    ("register", "value", "text"),
    [
        ("CSC.D_ENTRY_PER_SLICE", 4, "CSC.D_ENTRY_PER_SLICE.ENTRIES = 4"),
        ("CDMA.D_ZERO_PADDING_VALUE", 7, "CSC.D_ZERO_PADDING_VALUE.PAD_VALUE = 0"),
        ("CDMA.D_DAIN_MAP", 0, "CDMA.D_DAIN_MAP.LINE_PACKED = 0"),
        ("CDMA.D_BANK", 0x1F0000, "CDMA.D_BANK.WEIGHT_BANK = 31"),
    ],
)
def test_contradictions_are_errors_but_computed(
    device: Device, register: str, value: int, text: str
) -> None:
    device.put(SOURCE, pack(CUBE, 8))
    device.put(WEIGHTS, np.eye(8, dtype=np.int8))
    conv_registers(device, SHAPE, (8, 1, 1), (2, 2), entries=2)
    sdp_registers(device, SHAPE, 8, flying=True)
    device.write(register, value)
    device.write("SDP.D_OP_ENABLE", 1)
    enable_conv(device)
    device.run()
    assert any(text in message for message in device.errors())
    assert (device.bytes_at(TARGET, 32) == device.bytes_at(SOURCE, 32)).all()
