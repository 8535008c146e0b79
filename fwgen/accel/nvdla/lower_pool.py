"""Register writes of PDP and CDP with their RDMAs (NVDLA kernel firmware, PDP and CDP)."""

from __future__ import annotations

from fwgen.accel.nvdla.lower_lut import lower_lut
from fwgen.accel.nvdla.writer import RowWriter, less_one, less_one_or_zero, ram
from fwgen.model.nvdla.descriptors import CdpOp, CdpSurface, CubeType, Lut, PdpOp, PdpSurface

RECIPROCAL = (0x10000, 0x8000, 0x5555, 0x4000, 0x3333, 0x2AAA, 0x2492, 0x2000)
"""1 / k as a 16.16 fixed-point number, by k - 1."""


def lower_pdp(w: RowWriter, op: PdpOp, surface: PdpSurface) -> None:
    """Write the rows of a pooling. Roles: src, dst. May raise FieldOverflow.

    FLYING_MODE is 1 for a source in memory, the inverse of SDP's.
    """
    src, dst = surface.src_data, surface.dst_data
    fly = src.type == CubeType.HW
    if not fly:
        w.raw("PDP_RDMA.D_DATA_CUBE_IN_WIDTH", less_one(src.width))
        w.raw("PDP_RDMA.D_DATA_CUBE_IN_HEIGHT", less_one(src.height))
        w.raw("PDP_RDMA.D_DATA_CUBE_IN_CHANNEL", less_one(src.channel))
        w.high("PDP_RDMA.D_SRC_BASE_ADDR_HIGH", "src")
        w.low("PDP_RDMA.D_SRC_BASE_ADDR_LOW", "src")
        w.raw("PDP_RDMA.D_SRC_LINE_STRIDE", src.line_stride)
        w.raw("PDP_RDMA.D_SRC_SURFACE_STRIDE", src.surf_stride)
        w.fields("PDP_RDMA.D_DATA_FORMAT", INPUT_DATA=op.precision)
        w.fields("PDP_RDMA.D_SRC_RAM_CFG", SRC_RAM_TYPE=ram(src.type))
        w.fields("PDP_RDMA.D_OPERATION_MODE_CFG", SPLIT_NUM=less_one(op.split_num))
        w.fields(
            "PDP_RDMA.D_POOLING_KERNEL_CFG",
            KERNEL_WIDTH=op.pool_width,
            KERNEL_STRIDE_WIDTH=less_one(op.stride_x),
        )
        w.fields("PDP_RDMA.D_POOLING_PADDING_CFG", PAD_WIDTH=op.pad_left)
        w.fields(
            "PDP_RDMA.D_PARTIAL_WIDTH_IN",
            PARTIAL_WIDTH_IN_FIRST=less_one_or_zero(op.partial_in_width_first),
            PARTIAL_WIDTH_IN_MID=less_one_or_zero(op.partial_in_width_mid),
            PARTIAL_WIDTH_IN_LAST=less_one_or_zero(op.partial_in_width_last),
        )
    w.fields("PDP.D_DATA_CUBE_IN_WIDTH", CUBE_IN_WIDTH=less_one(src.width))
    w.fields("PDP.D_DATA_CUBE_IN_HEIGHT", CUBE_IN_HEIGHT=less_one(src.height))
    w.fields("PDP.D_DATA_CUBE_IN_CHANNEL", CUBE_IN_CHANNEL=less_one(src.channel))
    w.fields("PDP.D_DATA_CUBE_OUT_WIDTH", CUBE_OUT_WIDTH=less_one(dst.width))
    w.fields("PDP.D_DATA_CUBE_OUT_HEIGHT", CUBE_OUT_HEIGHT=less_one(dst.height))
    w.fields("PDP.D_DATA_CUBE_OUT_CHANNEL", CUBE_OUT_CHANNEL=less_one(dst.channel))
    w.fields(
        "PDP.D_OPERATION_MODE_CFG",
        POOLING_METHOD=op.pool_mode,
        FLYING_MODE=not fly,
        SPLIT_NUM=less_one(op.split_num),
    )
    w.fields(
        "PDP.D_PARTIAL_WIDTH_IN",
        PARTIAL_WIDTH_IN_FIRST=less_one_or_zero(op.partial_in_width_first),
        PARTIAL_WIDTH_IN_MID=less_one_or_zero(op.partial_in_width_mid),
        PARTIAL_WIDTH_IN_LAST=less_one_or_zero(op.partial_in_width_last),
    )
    w.fields(
        "PDP.D_PARTIAL_WIDTH_OUT",
        PARTIAL_WIDTH_OUT_FIRST=less_one_or_zero(op.partial_width_first),
        PARTIAL_WIDTH_OUT_MID=less_one_or_zero(op.partial_width_mid),
        PARTIAL_WIDTH_OUT_LAST=less_one_or_zero(op.partial_width_last),
    )
    w.fields(
        "PDP.D_POOLING_KERNEL_CFG",
        KERNEL_WIDTH=op.pool_width,
        KERNEL_HEIGHT=op.pool_height,
        KERNEL_STRIDE_WIDTH=less_one(op.stride_x),
        KERNEL_STRIDE_HEIGHT=less_one(op.stride_y),
    )
    w.raw("PDP.D_RECIP_KERNEL_WIDTH", RECIPROCAL[op.pool_width])
    w.raw("PDP.D_RECIP_KERNEL_HEIGHT", RECIPROCAL[op.pool_height])
    w.fields(
        "PDP.D_POOLING_PADDING_CFG",
        PAD_LEFT=op.pad_left,
        PAD_RIGHT=op.pad_right,
        PAD_TOP=op.pad_top,
        PAD_BOTTOM=op.pad_bottom,
    )
    w.raw("PDP.D_POOLING_PADDING_VALUE_1_CFG", op.padding_value[0])
    w.raw("PDP.D_POOLING_PADDING_VALUE_2_CFG", op.padding_value[1])
    w.raw("PDP.D_POOLING_PADDING_VALUE_3_CFG", op.padding_value[2])
    w.raw("PDP.D_POOLING_PADDING_VALUE_4_CFG", op.padding_value[3])
    w.raw("PDP.D_POOLING_PADDING_VALUE_5_CFG", op.padding_value[4])
    w.raw("PDP.D_POOLING_PADDING_VALUE_6_CFG", op.padding_value[5])
    w.raw("PDP.D_POOLING_PADDING_VALUE_7_CFG", op.padding_value[6])
    if not fly:
        w.raw("PDP.D_SRC_LINE_STRIDE", src.line_stride)
        w.raw("PDP.D_SRC_SURFACE_STRIDE", src.surf_stride)
    w.low("PDP.D_DST_BASE_ADDR_LOW", "dst")
    w.high("PDP.D_DST_BASE_ADDR_HIGH", "dst")
    w.raw("PDP.D_DST_LINE_STRIDE", dst.line_stride)
    w.raw("PDP.D_DST_SURFACE_STRIDE", dst.surf_stride)
    w.fields("PDP.D_DST_RAM_CFG", DST_RAM_TYPE=ram(dst.type))
    w.fields("PDP.D_DATA_FORMAT", INPUT_DATA=op.precision)


def lower_cdp(w: RowWriter, op: CdpOp, surface: CdpSurface, luts: tuple[Lut, ...]) -> None:
    """Write the rows of a local response normalisation. Roles: src, dst.

    May raise FieldOverflow.
    """
    src, dst = surface.src_data, surface.dst_data
    w.fields("CDP_RDMA.D_DATA_CUBE_WIDTH", WIDTH=less_one(src.width))
    w.fields("CDP_RDMA.D_DATA_CUBE_HEIGHT", HEIGHT=less_one(src.height))
    w.fields("CDP_RDMA.D_DATA_CUBE_CHANNEL", CHANNEL=less_one(src.channel))
    w.low("CDP_RDMA.D_SRC_BASE_ADDR_LOW", "src")
    w.high("CDP_RDMA.D_SRC_BASE_ADDR_HIGH", "src")
    w.raw("CDP_RDMA.D_SRC_LINE_STRIDE", src.line_stride)
    w.raw("CDP_RDMA.D_SRC_SURFACE_STRIDE", src.surf_stride)
    w.fields("CDP_RDMA.D_SRC_DMA_CFG", SRC_RAM_TYPE=ram(src.type))
    w.fields("CDP_RDMA.D_DATA_FORMAT", INPUT_DATA=op.in_precision)
    if op.lut_index >= 0:
        lower_lut(w, "CDP", luts[op.lut_index], op.in_precision)
    w.low("CDP.D_DST_BASE_ADDR_LOW", "dst")
    w.high("CDP.D_DST_BASE_ADDR_HIGH", "dst")
    w.raw("CDP.D_DST_LINE_STRIDE", dst.line_stride)
    w.raw("CDP.D_DST_SURFACE_STRIDE", dst.surf_stride)
    w.fields("CDP.D_DST_DMA_CFG", DST_RAM_TYPE=ram(dst.type))
    w.fields("CDP.D_DATA_FORMAT", INPUT_DATA_TYPE=op.in_precision)
    w.fields("CDP.D_LRN_CFG", NORMALZ_LEN=(less_one(op.local_size)) // 2 - 1)
    w.raw("CDP.D_DATIN_OFFSET", op.in_cvt.offset)
    w.raw("CDP.D_DATIN_SCALE", op.in_cvt.scale)
    w.raw("CDP.D_DATIN_SHIFTER", op.in_cvt.truncate)
    w.raw("CDP.D_DATOUT_OFFSET", op.out_cvt.offset)
    w.raw("CDP.D_DATOUT_SCALE", op.out_cvt.scale)
    w.raw("CDP.D_DATOUT_SHIFTER", op.out_cvt.truncate)
    w.fields(
        "CDP.D_FUNC_BYPASS", SQSUM_BYPASS=op.bypass_sqsum != 0, MUL_BYPASS=op.bypass_out_mul != 0
    )
