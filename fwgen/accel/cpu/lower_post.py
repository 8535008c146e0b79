"""SDP as stages on 32-bit values (NVDLA hardware specification, SDP)."""

from __future__ import annotations

from fwgen.accel.cpu.constants import Store, lut_of
from fwgen.accel.cpu.layer import Layer
from fwgen.program.commands import Value
from fwgen.program.kernels import Converter, Cube, Pointwise, Post, Stage, StageFlag

READER = {"BS": "BRDMA", "BN": "NRDMA", "EW": "ERDMA"}
"""The read DMA that fetches a stage's operands."""

ALGORITHM = (StageFlag.ALU_MAX, StageFlag.ALU_MIN, StageFlag.NONE)
PER_ELEMENT = 1
SHIFT_BITS = 63
"""The multiplier's shift port has 6 bits, its register field 8."""


def blocks(channels: int, block: int) -> int:
    """Surfaces of a cube."""
    return -(-channels // block)


def _operands(layer: Layer, stage: str, block: int, flags: StageFlag) -> tuple[Cube, StageFlag]:
    """Where a stage's operands lie, and the flags that say how."""
    if not flags & (StageFlag.ALU_MEMORY | StageFlag.MUL_MEMORY):
        return Cube(), StageFlag.NONE
    reader = f"SDP_RDMA.D_{READER[stage]}_CFG.{READER[stage]}_"
    more = StageFlag.NONE
    size = 1
    if layer.field(reader + "DATA_SIZE"):
        more |= StageFlag.WIDE
        size *= 2
    if layer.field(reader + "DATA_USE") == 2:
        more |= StageFlag.PAIRS
        size *= 2
    address = layer.value(f"SDP_RDMA.D_{stage}_BASE_ADDR_LOW")
    if layer.field(reader + "DATA_MODE") == PER_ELEMENT:
        line = layer.word(f"SDP_RDMA.D_{stage}_LINE_STRIDE")
        surface = layer.word(f"SDP_RDMA.D_{stage}_SURFACE_STRIDE")
        return Cube(address, line, surface), more | StageFlag.ELEMENTS
    return Cube(address, 0, block * size), more


def _flags(layer: Layer, stage: str) -> StageFlag:
    cfg = f"SDP.D_DP_{stage}_CFG.{stage}_"
    flags = StageFlag.NONE
    if not layer.field(cfg + "ALU_BYPASS"):
        flags |= StageFlag.ALU | ALGORITHM[layer.field(cfg + "ALU_ALGO")]
        if layer.field(f"SDP.D_DP_{stage}_ALU_CFG.{stage}_ALU_SRC"):
            flags |= StageFlag.ALU_MEMORY
    if not layer.field(cfg + "MUL_BYPASS"):
        flags |= StageFlag.MUL
        if layer.field(f"SDP.D_DP_{stage}_MUL_CFG.{stage}_MUL_SRC"):
            flags |= StageFlag.MUL_MEMORY
        if layer.field(cfg + "MUL_PRELU"):
            flags |= StageFlag.PRELU
    return flags


def _x_stage(layer: Layer, stage: str, block: int) -> Stage | None:
    cfg = f"SDP.D_DP_{stage}_CFG.{stage}_"
    if layer.field(cfg + "BYPASS"):
        return None
    flags = _flags(layer, stage)
    if not layer.field(cfg + "RELU_BYPASS"):
        flags |= StageFlag.RELU
    cube, more = _operands(layer, stage, block, flags)
    alu, mul = f"SDP.D_DP_{stage}_ALU", f"SDP.D_DP_{stage}_MUL"
    return Stage(
        flags | more,
        alu_operand=layer.signed(f"{alu}_SRC_VALUE.{stage}_ALU_OPERAND"),
        mul_operand=layer.signed(f"{mul}_SRC_VALUE.{stage}_MUL_OPERAND"),
        alu_shift=layer.field(f"{alu}_CFG.{stage}_ALU_SHIFT_VALUE"),
        mul_shift=layer.field(f"{mul}_CFG.{stage}_MUL_SHIFT_VALUE") & SHIFT_BITS,
        operands=cube,
    )


def _converter(layer: Layer, half: str) -> Converter:
    name = f"SDP.D_DP_EW_{half}_CVT_{{0}}_VALUE.EW_{half}_CVT_{{0}}"
    return Converter(
        layer.signed(name.format("OFFSET")),
        layer.signed(name.format("SCALE")),
        layer.field(name.format("TRUNCATE")),
    )


def _y_stage(layer: Layer, block: int, store: Store) -> Stage | None:
    if layer.field("SDP.D_DP_EW_CFG.EW_BYPASS"):
        return None
    flags = _flags(layer, "EW") | StageFlag.MUL_FIRST
    converters = {"ALU": Converter(), "MUL": Converter()}
    for half, from_memory, convert in (
        ("ALU", StageFlag.ALU_MEMORY, StageFlag.ALU_CONVERT),
        ("MUL", StageFlag.MUL_MEMORY, StageFlag.MUL_CONVERT),
    ):
        bypass = layer.field(f"SDP.D_DP_EW_{half}_CFG.EW_{half}_CVT_BYPASS")
        if flags & from_memory and not bypass:
            flags |= convert
            converters[half] = _converter(layer, half)
    table: Value = 0
    if not layer.field("SDP.D_DP_EW_CFG.EW_LUT_BYPASS"):
        table = store("table", lut_of(layer, "SDP").data())
    cube, more = _operands(layer, "EW", block, flags)
    return Stage(
        flags | more,
        alu_operand=layer.signed("SDP.D_DP_EW_ALU_SRC_VALUE.EW_ALU_OPERAND"),
        mul_operand=layer.signed("SDP.D_DP_EW_MUL_SRC_VALUE.EW_MUL_OPERAND"),
        mul_shift=layer.field("SDP.D_DP_EW_TRUNCATE_VALUE.EW_TRUNCATE"),
        operands=cube,
        alu=converters["ALU"],
        mul=converters["MUL"],
        table=table,
    )


def sdp_size(layer: Layer) -> tuple[int, int, int]:
    """Width, height, channels."""
    return (
        layer.size("SDP.D_DATA_CUBE_WIDTH.WIDTH"),
        layer.size("SDP.D_DATA_CUBE_HEIGHT.HEIGHT"),
        layer.size("SDP.D_DATA_CUBE_CHANNEL.CHANNEL"),
    )


def post_of(layer: Layer, block: int, store: Store, destination: Cube | None = None) -> Post:
    """What SDP does with its input. `destination` stands for the unit that takes its output."""
    if destination is None:
        destination = Cube(
            layer.value("SDP.D_DST_BASE_ADDR_LOW"),
            layer.word("SDP.D_DST_LINE_STRIDE"),
            layer.word("SDP.D_DST_SURFACE_STRIDE"),
        )
    stages = (_x_stage(layer, "BS", block), _x_stage(layer, "BN", block))
    return Post(
        destination,
        block,
        Converter(
            layer.signed("SDP.D_CVT_OFFSET.CVT_OFFSET"),
            layer.signed("SDP.D_CVT_SCALE.CVT_SCALE"),
            layer.field("SDP.D_CVT_SHIFT.CVT_SHIFT"),
        ),
        tuple(s for s in (*stages, _y_stage(layer, block, store)) if s is not None),
    )


def pointwise_of(layer: Layer, post: Post) -> Pointwise:
    """An SDP operation that takes its input from memory."""
    width, height, channels = sdp_size(layer)
    return Pointwise(
        Cube(
            layer.value("SDP_RDMA.D_SRC_BASE_ADDR_LOW"),
            layer.word("SDP_RDMA.D_SRC_LINE_STRIDE"),
            layer.word("SDP_RDMA.D_SRC_SURFACE_STRIDE"),
        ),
        width,
        height,
        blocks(channels, post.block),
        post,
    )
