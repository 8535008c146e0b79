"""Register writes of SDP and SDP_RDMA, in the firmware's order (NVDLA kernel firmware, SDP).

Stages X1, X2 and Y are called BS, BN and EW in register names. The output
converter is always on; its `enable` has no register.
"""

from __future__ import annotations

from fwgen.accel.nvdla.lower_lut import lower_lut
from fwgen.accel.nvdla.writer import RowWriter, less_one, ram
from fwgen.model.nvdla.descriptors import (
    Converter,
    Cube,
    CubeType,
    Lut,
    SdpOp,
    SdpStage,
    SdpSurface,
)

PROCESSING = ((0, 0, 2), (0, 1, 2), (0, 1, 2))
"""Processing precision by destination and source precision."""

USE = (0, 0, 1, 2)
"""DATA_USE by stage type: multiplier, ALU, both."""


def reads_operand(stage: SdpStage) -> bool:
    """Whether the read DMA fetches operands for the stage."""
    return bool(stage.enable and stage.type and stage.mode)


def needs_rdma(op: SdpOp, surface: SdpSurface) -> bool:
    """Whether SDP_RDMA is started at all. The stages' types do not matter here."""
    stages = (op.x1_op, op.x2_op, op.y_op)
    return surface.src_data.type != CubeType.HW or any(s.enable and s.mode for s in stages)


def _operand_rdma(w: RowWriter, rdma: str, stage: str, role: str, op: SdpStage, cube: Cube) -> None:
    """One operand's read DMA. A cube on the fly has no memory port to name."""
    register = f"SDP_RDMA.D_{rdma}RDMA_CFG"
    if cube.type == CubeType.HW:
        w.fields(register, **{f"{rdma}RDMA_DISABLE": 1})
        return
    reads = reads_operand(op)
    values: dict[str, int] = {
        f"{rdma}RDMA_DISABLE": not reads,
        f"{rdma}RDMA_DATA_USE": USE[op.type],
        f"{rdma}RDMA_DATA_SIZE": op.precision != 0,
        f"{rdma}RDMA_DATA_MODE": op.mode != 1,
        f"{rdma}RDMA_RAM_TYPE": ram(cube.type),
    }
    w.fields(register, **values)
    if reads:
        w.low(f"SDP_RDMA.D_{stage}_BASE_ADDR_LOW", role)
        w.high(f"SDP_RDMA.D_{stage}_BASE_ADDR_HIGH", role)
        w.raw(f"SDP_RDMA.D_{stage}_LINE_STRIDE", cube.line_stride)
        w.raw(f"SDP_RDMA.D_{stage}_SURFACE_STRIDE", cube.surf_stride)


def _x_stage(w: RowWriter, unit: str, stage: SdpStage) -> None:
    """Stage X1 ("BS") or X2 ("BN")."""
    values: dict[str, int] = {
        f"{unit}_BYPASS": not stage.enable,
        f"{unit}_ALU_BYPASS": stage.type not in (2, 3),
        f"{unit}_ALU_ALGO": stage.alu_type,
        f"{unit}_MUL_BYPASS": stage.type not in (1, 3),
        f"{unit}_MUL_PRELU": stage.act == 3,
        f"{unit}_RELU_BYPASS": stage.act != 1,
    }
    w.fields(f"SDP.D_DP_{unit}_CFG", **values)
    if not stage.enable:
        return
    from_memory = int(stage.mode != 0)
    if stage.type in (2, 3):
        values = {f"{unit}_ALU_SRC": from_memory, f"{unit}_ALU_SHIFT_VALUE": stage.shift_value}
        w.fields(f"SDP.D_DP_{unit}_ALU_CFG", **values)
    if not from_memory:
        w.raw(f"SDP.D_DP_{unit}_ALU_SRC_VALUE", stage.alu_operand)
        w.raw(f"SDP.D_DP_{unit}_MUL_SRC_VALUE", stage.mul_operand)
    values = {f"{unit}_MUL_SRC": from_memory, f"{unit}_MUL_SHIFT_VALUE": stage.truncate}
    w.fields(f"SDP.D_DP_{unit}_MUL_CFG", **values)


def _y_operand(
    w: RowWriter, half: str, from_memory: bool, operand: int, converter: Converter
) -> None:
    """The operand of stage Y's ALU ("ALU") or multiplier ("MUL")."""
    prefix = f"SDP.D_DP_EW_{half}"
    values: dict[str, int] = {
        f"EW_{half}_SRC": from_memory,
        f"EW_{half}_CVT_BYPASS": not converter.enable,
    }
    w.fields(f"{prefix}_CFG", **values)
    if from_memory:
        w.raw(f"{prefix}_CVT_OFFSET_VALUE", converter.offset)
        w.raw(f"{prefix}_CVT_SCALE_VALUE", converter.scale)
        w.raw(f"{prefix}_CVT_TRUNCATE_VALUE", converter.truncate)
    else:
        w.raw(f"{prefix}_SRC_VALUE", operand)


def lower_sdp(w: RowWriter, op: SdpOp, surface: SdpSurface, luts: tuple[Lut, ...]) -> None:
    """Write the rows of an SDP operation. Roles: src, dst, x1, x2, y. May raise FieldOverflow."""
    src, dst = surface.src_data, surface.dst_data
    x1d, x2d, yd = surface.x1_data, surface.x2_data, surface.y_data
    x1op, x2op, yop = op.x1_op, op.x2_op, op.y_op
    fly = src.type == CubeType.HW
    need_rdma = needs_rdma(op, surface)
    w.raw("SDP_RDMA.D_FEATURE_MODE_CFG", 0)
    w.raw("SDP_RDMA.D_BRDMA_CFG", 0)
    w.raw("SDP_RDMA.D_NRDMA_CFG", 0)
    w.raw("SDP_RDMA.D_ERDMA_CFG", 0)
    w.fields(
        "SDP_RDMA.D_FEATURE_MODE_CFG",
        FLYING_MODE=fly,
        WINOGRAD=op.conv_mode == 1,
        IN_PRECISION=op.src_precision,
        OUT_PRECISION=op.dst_precision,
        PROC_PRECISION=PROCESSING[op.dst_precision][op.src_precision],
        BATCH_NUMBER=less_one(op.batch_num),
    )
    if need_rdma:
        w.raw("SDP_RDMA.D_DATA_CUBE_WIDTH", less_one(src.width))
        w.raw("SDP_RDMA.D_DATA_CUBE_HEIGHT", less_one(src.height))
        w.raw("SDP_RDMA.D_DATA_CUBE_CHANNEL", less_one(src.channel))
    if need_rdma and not fly:
        w.low("SDP_RDMA.D_SRC_BASE_ADDR_LOW", "src")
        w.high("SDP_RDMA.D_SRC_BASE_ADDR_HIGH", "src")
        w.raw("SDP_RDMA.D_SRC_LINE_STRIDE", src.line_stride)
        w.raw("SDP_RDMA.D_SRC_SURFACE_STRIDE", src.surf_stride)
        w.raw("SDP_RDMA.D_SRC_DMA_CFG", ram(src.type))
    if need_rdma:
        _operand_rdma(w, "B", "BS", "x1", x1op, x1d)
        _operand_rdma(w, "N", "BN", "x2", x2op, x2d)
        _operand_rdma(w, "E", "EW", "y", yop, yd)
    if op.lut_index >= 0:
        lower_lut(w, "SDP", luts[op.lut_index], op.src_precision)
    w.raw("SDP.D_DATA_CUBE_WIDTH", less_one(src.width))
    w.raw("SDP.D_DATA_CUBE_HEIGHT", less_one(src.height))
    w.raw("SDP.D_DATA_CUBE_CHANNEL", less_one(src.channel))
    if dst.type != CubeType.HW:
        w.high("SDP.D_DST_BASE_ADDR_HIGH", "dst")
        w.low("SDP.D_DST_BASE_ADDR_LOW", "dst")
        w.raw("SDP.D_DST_LINE_STRIDE", dst.line_stride)
        w.raw("SDP.D_DST_SURFACE_STRIDE", dst.surf_stride)
    _x_stage(w, "BS", x1op)
    _x_stage(w, "BN", x2op)
    w.fields(
        "SDP.D_DP_EW_CFG",
        EW_BYPASS=not yop.enable,
        EW_ALU_BYPASS=yop.type not in (2, 3),
        EW_ALU_ALGO=yop.alu_type,
        EW_MUL_BYPASS=yop.type not in (1, 3),
        EW_MUL_PRELU=yop.act == 3,
        EW_LUT_BYPASS=yop.act != 2,
    )
    if yop.enable and yop.type in (2, 3):
        _y_operand(w, "ALU", yop.mode != 0, yop.alu_operand, yop.cvt.alu_cvt)
    if yop.enable and yop.type in (1, 3):
        _y_operand(w, "MUL", yop.mode != 0, yop.mul_operand, yop.cvt.mul_cvt)
    if yop.enable:
        w.raw("SDP.D_DP_EW_TRUNCATE_VALUE", yop.truncate)
    w.fields(
        "SDP.D_FEATURE_MODE_CFG",
        FLYING_MODE=fly,
        OUTPUT_DST=dst.type == CubeType.HW,
        WINOGRAD=op.conv_mode == 1,
        BATCH_NUMBER=less_one(op.batch_num),
    )
    w.raw("SDP.D_DST_DMA_CFG", ram(dst.type))
    if op.batch_num > 1:
        w.raw("SDP.D_DST_BATCH_STRIDE", op.batch_stride)
    w.fields(
        "SDP.D_DATA_FORMAT",
        PROC_PRECISION=PROCESSING[op.dst_precision][op.src_precision],
        OUT_PRECISION=op.dst_precision,
    )
    w.raw("SDP.D_CVT_OFFSET", op.out_cvt.offset)
    w.raw("SDP.D_CVT_SCALE", op.out_cvt.scale)
    w.raw("SDP.D_CVT_SHIFT", op.out_cvt.truncate)
