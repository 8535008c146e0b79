"""Datapath rules of the reference on tiny layers, against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fwgen.reference.nvdla import ReferenceGuestError, ReferenceNvdla, ReferenceUnsupported
from fwgen.reference.nvdla.registers import offset_of

BASE = 0x8000_0000


class Bench:
    """A reference with one page of memory and writes by name."""

    def __init__(self, config: str = "nv_small") -> None:
        self.model = ReferenceNvdla(config)
        self.memory = self.model.add_memory(0, BASE, 0x4000)

    def write(self, **registers: int) -> None:
        for name, value in registers.items():
            self.model.write(offset_of(name.replace("__", ".")), value)

    def signed(self, offset: int, count: int) -> list[int]:
        return self.memory[offset : offset + count].view(np.int8).tolist()


# SDP writes to BASE + 0x1000 what it gets: everything bypassed.
SDP_OUTPUT = {
    "SDP__D_DST_BASE_ADDR_LOW": BASE + 0x1000,
    "SDP__D_DST_LINE_STRIDE": 8,
    "SDP__D_DST_SURFACE_STRIDE": 8,
    "SDP__D_DST_DMA_CFG": 1,
    "SDP__D_DP_BS_CFG": 1,
    "SDP__D_DP_BN_CFG": 1,
    "SDP__D_DP_EW_CFG": 1,
    "SDP__D_CVT_SCALE": 1,
}


def _sdp(bench: Bench, channels: int = 8, **extra: int) -> None:
    """A 1x1 cube from BASE to BASE + 0x1000, everything bypassed."""
    bench.write(
        SDP_RDMA__D_DATA_CUBE_CHANNEL=channels - 1,
        SDP__D_DATA_CUBE_CHANNEL=channels - 1,
        SDP_RDMA__D_FEATURE_MODE_CFG=0,
        SDP_RDMA__D_SRC_BASE_ADDR_LOW=BASE,
        SDP_RDMA__D_SRC_LINE_STRIDE=8,
        SDP_RDMA__D_SRC_SURFACE_STRIDE=8,
        SDP_RDMA__D_SRC_DMA_CFG=1,
        **SDP_OUTPUT,
    )
    bench.write(**extra)
    bench.write(SDP_RDMA__D_OP_ENABLE=1, SDP__D_OP_ENABLE=1)


def test_sdp_passes_bytes_and_fires_its_interrupt() -> None:
    bench = Bench()
    bench.memory[:8] = [1, 2, 3, 0x80, 0xFF, 0, 7, 9]
    _sdp(bench)
    assert bench.signed(0x1000, 8) == [1, 2, 3, -128, -1, 0, 7, 9]
    assert bench.model.read(0x100C) == 1
    assert bench.model.read(offset_of("SDP.S_POINTER")) == 1 << 16
    assert [op.units for op in bench.model.operations] == [("SDP",)]


def test_memory_input_computes_the_unused_channels_too() -> None:
    bench = Bench()
    bench.memory[:8] = 5
    _sdp(bench, channels=3)
    assert bench.signed(0x1000, 8) == [5] * 8


def test_multiplier_shift_acts_when_the_multiplier_is_bypassed() -> None:
    bench = Bench()
    bench.memory[:4] = [6, 0xFA, 1, 0xFF]
    # ALU and MUL bypassed, PRELU set without effect, ReLU bypassed, shift 2.
    _sdp(bench, SDP__D_DP_BS_CFG=0x72, SDP__D_DP_BS_MUL_CFG=2 << 8)
    # 1.5 and -1.5 away from zero, 0.25 to zero.
    assert bench.signed(0x1000, 4) == [2, -2, 0, 0]


def test_prelu_passes_positive_values_unshifted() -> None:
    bench = Bench()
    bench.memory[:2] = [100, 0x9C]
    _sdp(
        bench,
        SDP__D_DP_BS_CFG=0x62,
        SDP__D_DP_BS_MUL_CFG=4 << 8,
        SDP__D_DP_BS_MUL_SRC_VALUE=4,
    )
    # 100 passes, -100 * 4 / 16 = -25.
    assert bench.signed(0x1000, 2) == [100, -25]


def test_alu_operand_shift_saturates_to_32_bits() -> None:
    bench = Bench()
    bench.memory[:2] = [1, 2]
    _sdp(
        bench,
        SDP__D_DP_BS_CFG=0x58,
        SDP__D_DP_BS_ALU_CFG=40 << 8,
        SDP__D_DP_BS_ALU_SRC_VALUE=1,
        SDP__D_CVT_OFFSET=0x7FFFFFFF,
    )
    # x + 0x7fffffff saturates after the 33-bit sum; the converter subtracts it again.
    assert bench.signed(0x1000, 2) == [0, 0]


def test_operands_both_are_interleaved_per_channel() -> None:
    bench = Bench()
    bench.memory[:2] = [10, 20]
    bench.memory[0x2000:0x2004] = [1, 2, 3, 0xFF]  # alu, mul, alu, mul
    _sdp(
        bench,
        SDP__D_DP_BS_CFG=0x48,
        SDP__D_DP_BS_ALU_CFG=1,
        SDP__D_DP_BS_MUL_CFG=1,
        SDP_RDMA__D_BRDMA_CFG=0x24,
        SDP_RDMA__D_BS_BASE_ADDR_LOW=BASE + 0x2000,
    )
    assert bench.signed(0x1000, 2) == [22, -23]


def test_compare_mode_writes_no_memory() -> None:
    bench = Bench()
    bench.memory[:8] = 7
    _sdp(bench, SDP__D_DP_EW_CFG=0x5C, SDP__D_DP_EW_ALU_SRC_VALUE=7)
    bench.write(SDP__S_POINTER=0)
    assert bench.signed(0x1000, 8) == [0] * 8
    assert bench.model.read(offset_of("SDP.D_STATUS")) == 0
    bench.write(SDP__S_POINTER=1, SDP_RDMA__S_POINTER=1)
    _sdp(bench, SDP__D_DP_EW_CFG=0x5C, SDP__D_DP_EW_ALU_SRC_VALUE=8)
    assert bench.model.read(offset_of("SDP.D_STATUS")) == 1


def _pdp(bench: Bench, width: int, out: int, **extra: int) -> None:
    """A one-line pooling of 8 channels."""
    bench.write(
        PDP_RDMA__D_DATA_CUBE_IN_WIDTH=width - 1,
        PDP__D_DATA_CUBE_IN_WIDTH=width - 1,
        PDP_RDMA__D_DATA_CUBE_IN_CHANNEL=7,
        PDP__D_DATA_CUBE_IN_CHANNEL=7,
        PDP__D_DATA_CUBE_OUT_WIDTH=out - 1,
        PDP__D_DATA_CUBE_OUT_CHANNEL=7,
        PDP_RDMA__D_SRC_BASE_ADDR_LOW=BASE,
        PDP_RDMA__D_SRC_LINE_STRIDE=width * 8,
        PDP_RDMA__D_SRC_SURFACE_STRIDE=width * 8,
        PDP_RDMA__D_SRC_RAM_CFG=1,
        PDP__D_DST_BASE_ADDR_LOW=BASE + 0x1000,
        PDP__D_DST_LINE_STRIDE=out * 8,
        PDP__D_DST_RAM_CFG=1,
        PDP__D_RECIP_KERNEL_WIDTH=0x8000,
        PDP__D_RECIP_KERNEL_HEIGHT=0x10000,
        PDP__D_POOLING_KERNEL_CFG=0x10001,  # 2 wide, 1 high, stride 2
    )
    bench.write(**extra)
    bench.write(PDP_RDMA__D_OP_ENABLE=1, PDP__D_OP_ENABLE=1)


def test_average_adds_the_pad_table_and_rounds_twice() -> None:
    bench = Bench()
    bench.memory[0:24:8] = [10, 3, 4]
    # Left pad 1: windows (pad, 10) and (3, 4); pad value 5 for one missing column.
    _pdp(
        bench, 3, 2, PDP__D_OPERATION_MODE_CFG=0x10, PDP__D_POOLING_PADDING_CFG=1,
        PDP__D_POOLING_PADDING_VALUE_1_CFG=5,
    )  # fmt: skip
    # 15 / 2 = 7.5 and 7 / 2 = 3.5, away from zero.
    assert bench.signed(0x1000, 16)[0::8] == [8, 4]


def test_pad_table_is_19_bit_signed() -> None:
    bench = Bench()
    bench.memory[0:24:8] = [10, 3, 4]
    _pdp(
        bench, 3, 2, PDP__D_OPERATION_MODE_CFG=0x10, PDP__D_POOLING_PADDING_CFG=1,
        PDP__D_POOLING_PADDING_VALUE_1_CFG=0x7FFF6,
    )  # fmt: skip
    assert bench.signed(0x1000, 8)[0] == 0


def test_maximum_ignores_padding() -> None:
    bench = Bench()
    bench.memory[0:24:8] = [0x80, 0x81, 0x82]
    _pdp(bench, 3, 2, PDP__D_OPERATION_MODE_CFG=0x11, PDP__D_POOLING_PADDING_CFG=1)
    assert bench.signed(0x1000, 16)[0::8] == [-128, -126]


def test_window_wholly_in_padding_is_refused() -> None:
    bench = Bench()
    with pytest.raises(ReferenceGuestError, match="padding"):
        _pdp(bench, 3, 2, PDP__D_OPERATION_MODE_CFG=0x11, PDP__D_POOLING_PADDING_CFG=2)


def _conv(bench: Bench, **extra: int) -> None:
    """A 1x1 convolution of one pixel, 8 channels, 1 kernel, through SDP to BASE + 0x1000."""
    bench.write(
        CDMA__D_MISC_CFG=0,
        CSC__D_MISC_CFG=0,
        CMAC_A__D_MISC_CFG=0,
        CMAC_B__D_MISC_CFG=0,
        CACC__D_MISC_CFG=0,
        CDMA__D_DATAIN_FORMAT=0,
        CDMA__D_DATAIN_SIZE_1=7,
        CDMA__D_DAIN_RAM_TYPE=1,
        CDMA__D_DAIN_ADDR_LOW_0=BASE,
        CDMA__D_LINE_STRIDE=8,
        CDMA__D_SURF_STRIDE=8,
        CDMA__D_WEIGHT_RAM_TYPE=1,
        CDMA__D_WEIGHT_ADDR_LOW=BASE + 0x2000,
        CDMA__D_WEIGHT_BYTES=128,
        CSC__D_WEIGHT_SIZE_EXT_1=7,
        SDP__D_FEATURE_MODE_CFG=1,
        **SDP_OUTPUT,
    )
    bench.write(**extra)
    for block in ("SDP", "CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA"):
        bench.write(**{f"{block}__D_OP_ENABLE": 1})


def test_convolution_sums_clips_and_zeroes_unused_kernels() -> None:
    bench = Bench()
    bench.memory[0x1000:0x1008] = 0xEE
    bench.memory[:8] = [1, 2, 3, 4, 5, 6, 7, 8]
    bench.memory[0x2000:0x2008] = [1, 1, 1, 1, 1, 1, 1, 0xFF]
    _conv(bench, CACC__D_CLIP_CFG=3)
    # 28 - 8 = 20, / 8 = 2.5.
    assert bench.signed(0x1000, 8) == [3, 0, 0, 0, 0, 0, 0, 0]
    # SDP, CDMA_DAT, CDMA_WT and CACC, all of group 0.
    assert bench.model.read(0x100C) == 0x150001


def test_pad_value_is_not_converted() -> None:
    bench = Bench()
    bench.memory[:8] = 1
    bench.memory[0x2000:0x2010] = 1
    # Two taps side by side, the left one in padding of value -3; CVT gives (1 - 0) * 2.
    _conv(
        bench,
        CSC__D_WEIGHT_SIZE_EXT_0=1,
        CSC__D_ZERO_PADDING=1,
        CSC__D_ZERO_PADDING_VALUE=0xFD,
        CDMA__D_CVT_CFG=1,
        CDMA__D_CVT_SCALE=2,
    )
    assert bench.signed(0x1000, 1) == [8 * 2 - 8 * 3]


def test_image_reorders_pixels_and_subtracts_means() -> None:
    bench = Bench()
    bench.memory[:4] = [10, 20, 30, 40]
    bench.memory[0x2000:0x2004] = [1, 0, 0, 0]
    # B8G8R8A8: R is byte 1 (20); mean of R is 15.
    _conv(
        bench,
        CDMA__D_DATAIN_FORMAT=1 | 14 << 8,
        CSC__D_DATAIN_FORMAT=1,
        CDMA__D_DATAIN_SIZE_1=3,
        CSC__D_WEIGHT_SIZE_EXT_1=3,
        CDMA__D_MEAN_FORMAT=1,
        CDMA__D_MEAN_GLOBAL_0=15,
        CDMA__D_CVT_CFG=1,
        CDMA__D_CVT_SCALE=1,
    )
    assert bench.signed(0x1000, 1) == [5]


def test_other_precisions_are_refused() -> None:
    bench = Bench()
    with pytest.raises(ReferenceUnsupported, match="int8"):
        _conv(bench, CDMA__D_MISC_CFG=0x1100)


def test_writing_an_armed_group_is_an_error() -> None:
    bench = Bench()
    bench.write(SDP__D_OP_ENABLE=1)
    with pytest.raises(ReferenceGuestError, match="armed"):
        bench.write(SDP__D_CVT_SCALE=1)


def test_interrupt_registers() -> None:
    bench = Bench()
    bench.write(GLB__S_INTR_MASK=1, GLB__S_INTR_SET=3)
    assert bench.model.read(0x100C) == 3
    assert bench.model.irq
    bench.write(GLB__S_INTR_STATUS=2)
    assert not bench.model.irq
    assert bench.model.read(0x100C) == 1


def test_lut_access_saturates_at_the_last_entry() -> None:
    bench = Bench()
    bench.write(SDP__S_LUT_ACCESS_CFG=63 | 1 << 17)
    for value in (5, 6, 7):
        bench.write(SDP__S_LUT_ACCESS_DATA=value)
    bench.write(SDP__S_LUT_ACCESS_CFG=63)
    port = offset_of("SDP.S_LUT_ACCESS_DATA")
    assert [bench.model.read(port) for _ in range(3)] == [5, 7, 7]


def test_corrupt_sizes_and_addresses_end_in_the_references_own_errors() -> None:
    bench = Bench()
    with pytest.raises(ReferenceGuestError, match="no memory"):
        _sdp(bench, SDP_RDMA__D_SRC_BASE_ADDR_HIGH=0xFFFFFFFF)
    bench = Bench()
    with pytest.raises(ReferenceUnsupported, match="elements"):
        _sdp(
            bench, channels=8192, SDP_RDMA__D_DATA_CUBE_WIDTH=8191, SDP__D_DATA_CUBE_WIDTH=8191,
            SDP_RDMA__D_DATA_CUBE_HEIGHT=8191, SDP__D_DATA_CUBE_HEIGHT=8191,
        )  # fmt: skip
