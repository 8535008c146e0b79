"""The descriptors inside a loadable (NVDLA kernel firmware interface 0.10 to 0.12).

Every class is the one table of its record: order, types and so offsets. Minor
version 12 added the data cube's `offset`. Field names are those of the firmware
interface. The last classes describe the CPU ("EMU") tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from fwgen.model.nvdla.records import F32, I8, I16, I32, I64, U8, U16, U32, U64, Stored

OPERATION_SIZE = 116
SURFACE_SIZE = 644
LUT_SIZE = 700


class OpType(IntEnum):
    """Units, also the index in `op_head` and `consumers`."""

    BDMA = 0
    CONV = 1
    SDP = 2
    PDP = 3
    CDP = 4
    RUBIK = 5


class Event(IntEnum):
    """When an edge of the dependency graph lets its target go on."""

    OP_COMPLETED = 1
    OP_PROGRAMMED = 2
    OP_ENABLED = 3
    CDMA_WT_DONE = 4
    CDMA_DT_DONE = 5


class CubeType(IntEnum):
    """Where a cube lies."""

    MC = 0
    CV = 1
    HW = 2


FEATURE_FORMAT = 36


@dataclass(frozen=True, slots=True)
class Edge:
    """dla_consumer: an edge of the dependency graph; index -1 means none."""

    index: I16
    event: U8
    res: U8


@dataclass(frozen=True, slots=True)
class Converter:
    """dla_cvt_param: (x - offset) * scale >> truncate."""

    scale: I16
    truncate: U8
    enable: U8
    offset: I32


@dataclass(frozen=True, slots=True)
class Cube:
    """dla_data_cube: a tensor; sizes and strides in bytes, address -1 means none."""

    type: U16
    address: I16
    offset: Annotated[int, Stored("I", since=12)]
    size: U32
    width: U16
    height: U16
    channel: U16
    reserved0: U16
    line_stride: U32
    surf_stride: U32
    plane_stride: U32


@dataclass(frozen=True, slots=True)
class Network:
    """dla_network_desc: positions in the address list and counts."""

    operation_desc_index: I16
    surface_desc_index: I16
    dependency_graph_index: I16
    lut_data_index: I16
    roi_array_index: I16
    surface_index: I16
    stat_list_index: I16
    reserved1: I16
    op_head: Annotated[tuple[int, ...], Stored("h", 6)]
    num_rois: U16
    num_operations: U16
    num_luts: U16
    num_addresses: U16
    input_layer: I16
    dynamic_roi: U8
    reserved0: U8


@dataclass(frozen=True, slots=True)
class CommonOp:
    """dla_common_op_desc: a node of the dependency graph."""

    index: I16
    roi_index: I8
    op_type: U8
    dependency_count: U8
    reserved0: Annotated[tuple[int, ...], Stored("B", 3)]
    consumers: Annotated[tuple[Edge, ...], Stored("", 6)]
    fused_parent: Edge


@dataclass(frozen=True, slots=True)
class ConvOp:
    """dla_conv_op_desc."""

    conv_mode: U8
    data_reuse: U8
    weight_reuse: U8
    skip_data_rls: U8
    skip_weight_rls: U8
    reserved0: U8
    entry_per_slice: U16
    data_format: U8
    pixel_mapping: U8
    fetch_grain: U16
    reserved_b: Annotated[tuple[int, ...], Stored("B", 8)]
    batch: U8
    weight_format: U8
    data_bank: U8
    weight_bank: U8
    batch_stride: U32
    post_extension: U8
    pixel_override: U8
    release: U16
    input_width_csc: U16
    input_height_csc: U16
    input_channel_csc: U16
    kernel_width_csc: U16
    kernel_height_csc: U16
    kernel_channel_csc: U16
    input_width_cmac: U16
    input_height_cmac: U16
    bytes_per_kernel: U32
    mean_ry: I16
    mean_gu: I16
    mean_bv: I16
    mean_ax: I16
    mean_format: U8
    conv_stride_x: U8
    conv_stride_y: U8
    pad_x_left: U8
    pad_x_right: U8
    pad_y_top: U8
    pad_y_bottom: U8
    dilation_x: U8
    dilation_y: U8
    reserved2: Annotated[tuple[int, ...], Stored("B", 2)]
    pra_truncate: U8
    in_precision: U8
    out_precision: U8
    pad_val: I16
    in_cvt: Converter
    out_cvt: Converter


@dataclass(frozen=True, slots=True)
class ConvSurface:
    """dla_conv_surface_desc."""

    weight_data: Cube
    wmb_data: Cube
    wgs_data: Cube
    src_data: Cube
    dst_data: Cube
    offset_u: I64
    in_line_uv_stride: U32


@dataclass(frozen=True, slots=True)
class SdpConverters:
    """dla_sdp_cvt."""

    alu_cvt: Converter
    mul_cvt: Converter


@dataclass(frozen=True, slots=True)
class SdpStage:
    """dla_sdp_op: one of the three stages X1, X2 and Y."""

    enable: U8
    alu_type: U8
    type: U8
    mode: U8
    act: U8
    shift_value: U8
    truncate: U8
    precision: U8
    alu_operand: I32
    mul_operand: I32
    cvt: SdpConverters


@dataclass(frozen=True, slots=True)
class SdpOp:
    """dla_sdp_op_desc."""

    src_precision: U8
    dst_precision: U8
    lut_index: I16
    out_cvt: Converter
    conv_mode: U8
    batch_num: U8
    reserved0: U16
    batch_stride: U32
    x1_op: SdpStage
    x2_op: SdpStage
    y_op: SdpStage


@dataclass(frozen=True, slots=True)
class SdpSurface:
    """dla_sdp_surface_desc."""

    src_data: Cube
    x1_data: Cube
    x2_data: Cube
    y_data: Cube
    dst_data: Cube


@dataclass(frozen=True, slots=True)
class PdpOp:
    """dla_pdp_op_desc."""

    partial_in_width_first: U16
    partial_in_width_mid: U16
    partial_in_width_last: U16
    partial_width_first: U16
    partial_width_mid: U16
    partial_width_last: U16
    split_num: U8
    pool_mode: U8
    pool_width: U8
    pool_height: U8
    stride_x: U8
    stride_y: U8
    pad_left: U8
    pad_right: U8
    pad_top: U8
    pad_bottom: U8
    precision: U8
    reserved0: U8
    padding_value: Annotated[tuple[int, ...], Stored("i", 7)]


@dataclass(frozen=True, slots=True)
class PdpSurface:
    """dla_pdp_surface_desc."""

    src_data: Cube
    dst_data: Cube


@dataclass(frozen=True, slots=True)
class CdpOp:
    """dla_cdp_op_desc."""

    in_precision: U8
    out_precision: U8
    lut_index: I16
    in_cvt: Converter
    out_cvt: Converter
    local_size: U8
    bypass_sqsum: U8
    bypass_out_mul: U8
    reserved0: U8


@dataclass(frozen=True, slots=True)
class CdpSurface:
    """dla_cdp_surface_desc."""

    src_data: Cube
    dst_data: Cube


@dataclass(frozen=True, slots=True)
class RubikOp:
    """dla_rubik_op_desc."""

    mode: U8
    precision: U8
    stride_x: U8
    stride_y: U8


@dataclass(frozen=True, slots=True)
class RubikSurface:
    """dla_rubik_surface_desc."""

    src_data: Cube
    dst_data: Cube


@dataclass(frozen=True, slots=True)
class BdmaOp:
    """dla_bdma_op_desc."""

    num_transfers: U16
    reserved0: U16


@dataclass(frozen=True, slots=True)
class BdmaTransfer:
    """dla_bdma_transfer_desc."""

    source_address: I16
    destination_address: I16
    line_size: U32
    line_repeat: U32
    source_line: U32
    destination_line: U32
    surface_repeat: U32
    source_surface: U32
    destination_surface: U32


@dataclass(frozen=True, slots=True)
class BdmaSurface:
    """dla_bdma_surface_desc."""

    source_type: U8
    destination_type: U8
    num_transfers: U16
    transfers: Annotated[tuple[BdmaTransfer, ...], Stored("", 20)]


@dataclass(frozen=True, slots=True)
class LutOffset:
    """dla_lut_offset: one byte, an exponent offset or the number of fraction bits."""

    value: I8
    reserved0: U8

    @property
    def exp_offset(self) -> int:
        """First power of two of an exponential table."""
        return self.value

    @property
    def frac_bits(self) -> int:
        """Right shift to the table index of a linear table."""
        return self.value


@dataclass(frozen=True, slots=True)
class Slope:
    """dla_slope: scale and shift, or the bits of a half-precision float in `scale`."""

    scale: I16
    shifter: I8
    reserved0: U8

    @property
    def data_f(self) -> int:
        """The half-precision bit pattern."""
        return self.scale & 0xFFFF


@dataclass(frozen=True, slots=True)
class Lut:
    """dla_lut_param: the two look-up tables of SDP or CDP."""

    linear_exp_table: Annotated[tuple[int, ...], Stored("h", 65)]
    linear_only_table: Annotated[tuple[int, ...], Stored("h", 257)]
    linear_exp_offset: LutOffset
    linear_only_offset: LutOffset
    linear_exp_start: U64
    linear_exp_end: U64
    linear_only_start: U64
    linear_only_end: U64
    linear_exp_underflow_slope: Slope
    linear_exp_overflow_slope: Slope
    linear_only_underflow_slope: Slope
    linear_only_overflow_slope: Slope
    hybrid_priority: U8
    underflow_priority: U8
    overflow_priority: U8
    method: U8


Surface = BdmaSurface | ConvSurface | SdpSurface | PdpSurface | CdpSurface | RubikSurface
OpDesc = BdmaOp | ConvOp | SdpOp | PdpOp | CdpOp | RubikOp

OPERATION_RECORDS: dict[int, type[OpDesc]] = {
    OpType.BDMA: BdmaOp,
    OpType.CONV: ConvOp,
    OpType.SDP: SdpOp,
    OpType.PDP: PdpOp,
    OpType.CDP: CdpOp,
    OpType.RUBIK: RubikOp,
}

SURFACE_RECORDS: dict[int, type[Surface]] = {
    OpType.BDMA: BdmaSurface,
    OpType.CONV: ConvSurface,
    OpType.SDP: SdpSurface,
    OpType.PDP: PdpSurface,
    OpType.CDP: CdpSurface,
    OpType.RUBIK: RubikSurface,
}


class EmuOpType(IntEnum):
    """CPU operators."""

    POWER = 0
    SOFTMAX = 1


@dataclass(frozen=True, slots=True)
class EmuNetwork:
    """Head of a CPU task: positions in the task's address list and the operator count."""

    operation_desc_index: I16
    buffer_desc_index: I16
    num_operations: U16


@dataclass(frozen=True, slots=True)
class EmuOp:
    """One CPU operator; power, scale and shift matter to POWER only."""

    op_type: U8
    reserved0: Annotated[tuple[int, ...], Stored("B", 3)]
    input_scale: F32
    output_scale: F32
    power: F32
    scale: F32
    shift: F32


@dataclass(frozen=True, slots=True)
class EmuBuffer:
    """Source or destination of a CPU operator; strides and sizes in bytes."""

    address: I16
    offset: U32
    size: U32
    format: U16
    width: U16
    height: U16
    channel: U16
    line_stride: U32
    surf_stride: U32


EMU_NETWORK_SIZE = 256
EMU_OPERATION_SIZE = 24
EMU_BUFFER_SIZE = 256
