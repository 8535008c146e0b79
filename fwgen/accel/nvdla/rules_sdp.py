"""Rules for SDP operations (NVDLA hardware specification; checks of the kernel firmware)."""

from __future__ import annotations

from fwgen.accel.nvdla.lower_sdp import reads_operand
from fwgen.accel.nvdla.rules import IN_MEMORY, Context, from_memory_or_parent, only_int8
from fwgen.model.nvdla.descriptors import CubeType, OpType, PdpSurface, SdpOp, SdpStage, SdpSurface

Sdp = Context[SdpOp, SdpSurface]

ALU, BOTH = 2, 3
EQL = 3
ACT_LUT = 2


def _stages(op: SdpOp) -> tuple[tuple[str, SdpStage], ...]:
    return (("X1", op.x1_op), ("X2", op.x2_op), ("Y", op.y_op))


def rule_precision(c: Sdp) -> str | None:
    """SDP operations read and write int8."""
    return only_int8(c)


def rule_mode(c: Sdp) -> str | None:
    """SDP operations process one image at a time, without Winograd."""
    if c.op.conv_mode:
        return f"convolution mode {c.op.conv_mode} is not direct"
    return None if c.op.batch_num == 1 else f"its batch is {c.op.batch_num}"


def rule_source(c: Sdp) -> str | None:
    """The input comes from memory, or from the convolution that is named as its parent."""
    return from_memory_or_parent(c, c.surface.src_data, OpType.SDP, "convolution")


def rule_destination(c: Sdp) -> str | None:
    """The output goes to memory, or to one pooling operation of the same size."""
    dst = c.surface.dst_data
    if dst.type in IN_MEMORY:
        return None
    edge = c.operation.common.consumers[OpType.PDP]
    if dst.type != CubeType.HW or edge.index == -1:
        return "its output goes nowhere"
    consumer = c.partner(edge.index)
    if consumer.common.fused_parent.index != c.operation.index:
        return f"operation {edge.index} does not take its output"
    assert isinstance(consumer.surface, PdpSurface)
    src = consumer.surface.src_data
    if (src.width, src.height, src.channel) != (dst.width, dst.height, dst.channel):
        return f"its output and the input of operation {edge.index} differ in size"
    return None


def rule_size(c: Sdp) -> str | None:
    """Input and output have the same size."""
    src, dst = c.surface.src_data, c.surface.dst_data
    if (src.width, src.height, src.channel) != (dst.width, dst.height, dst.channel):
        return (
            f"the input is {src.width}x{src.height}x{src.channel}, "
            f"the output {dst.width}x{dst.height}x{dst.channel}"
        )
    return None


def rule_stages(c: Sdp) -> str | None:
    """Stages add, multiply, take maximum or minimum, by layer, by channel or by element."""
    for name, stage in _stages(c.op):
        limits = (("enable", 1), ("type", 3), ("mode", 2), ("act", 3), ("precision", 2))
        for field, limit in limits:
            value = getattr(stage, field)
            if value > limit:
                return f"stage {name} has the unknown {field} {value}"
        if stage.enable and stage.type in (ALU, BOTH) and stage.alu_type >= EQL:
            return f"stage {name} compares for equality, which gives no output"
        if name != "Y" and stage.enable and stage.act == ACT_LUT:
            return f"stage {name} asks for a look-up table, which only stage Y has"
    return None


def rule_operands(c: Sdp) -> str | None:
    """Operands by channel or by element lie in memory."""
    cubes = (c.surface.x1_data, c.surface.x2_data, c.surface.y_data)
    for (name, stage), cube in zip(_stages(c.op), cubes, strict=True):
        if reads_operand(stage) and cube.type not in IN_MEMORY:
            return f"the operands of stage {name} do not lie in memory"
    return None


def rule_elementwise(c: Sdp) -> str | None:
    """Stage Y and its look-up table need a configuration that has them."""
    if c.config.elementwise:
        return None
    if c.op.y_op.enable:
        return f"it uses stage Y, which {c.config.name} lacks"
    if c.op.lut_index >= 0:
        return f"it uses a look-up table, which {c.config.name} lacks"
    return None


def rule_lut(c: Sdp) -> str | None:
    """A look-up table that is used must exist in the model."""
    if c.op.lut_index >= len(c.task.luts):
        return f"it uses look-up table {c.op.lut_index} of {len(c.task.luts)}"
    if c.op.y_op.enable and c.op.y_op.act == ACT_LUT and c.op.lut_index < 0:
        return "it uses a look-up table but names none"
    return None


RULES = (
    rule_precision,
    rule_mode,
    rule_source,
    rule_destination,
    rule_size,
    rule_stages,
    rule_operands,
    rule_elementwise,
    rule_lut,
)
