"""What an operation does in one line, and what it costs."""

from __future__ import annotations

from fwgen.accel.nvdla.access import weight_bytes
from fwgen.model.nvdla.descriptors import (
    FEATURE_FORMAT,
    CdpOp,
    ConvOp,
    ConvSurface,
    Cube,
    CubeType,
    EmuBuffer,
    PdpOp,
    PdpSurface,
    SdpOp,
    SdpStage,
    SdpSurface,
)
from fwgen.model.nvdla.tasks import DlaOperation, EmuOperation

_ALU = ("max", "min", "add", "equal")
_POOL = ("average", "max", "min")


def _size(cube: Cube | EmuBuffer) -> str:
    return f"{cube.width}x{cube.height}x{cube.channel}"


def _conv(op: ConvOp, surface: ConvSurface) -> str:
    src = surface.src_data
    width = op.kernel_width_csc
    kind = "conv"
    if op.data_format != FEATURE_FORMAT:
        width = op.kernel_channel_csc // max(src.channel, 1)
        kind = "image conv"
    text = f"{kind} {width}x{op.kernel_height_csc}"
    if (op.conv_stride_x, op.conv_stride_y) != (1, 1):
        text += f" stride {op.conv_stride_x}x{op.conv_stride_y}"
    return f"{text} {_size(src)} -> {_size(surface.dst_data)}"


def _stage(name: str, stage: SdpStage) -> list[str]:
    if not stage.enable:
        return []
    by = {0: "a constant", 1: "channel", 2: "element"}.get(stage.mode, "?")
    parts = []
    if stage.type in (2, 3):
        alu = _ALU[stage.alu_type] if stage.alu_type < len(_ALU) else "?"
        parts.append(f"{alu} by {by}")
    if stage.type in (1, 3):
        parts.append(f"multiply by {by}")
    activation = {1: "ReLU", 2: "table", 3: "PReLU"}.get(stage.act)
    if activation:
        parts.append(activation)
    return [f"{name}: {', '.join(parts)}"] if parts else []


def _sdp(op: SdpOp, surface: SdpSurface) -> str:
    source = "on the fly" if surface.src_data.type == CubeType.HW else "from memory"
    parts = [
        *_stage("X1", op.x1_op),
        *_stage("X2", op.x2_op),
        *_stage("Y", op.y_op),
        f"scale {op.out_cvt.scale} >> {op.out_cvt.truncate}",
    ]
    return f"{_size(surface.dst_data)} {source}; {'; '.join(parts)}"


def _pdp(op: PdpOp, surface: PdpSurface) -> str:
    mode = _POOL[op.pool_mode] if op.pool_mode < len(_POOL) else "?"
    text = (
        f"{mode} pool {op.pool_width + 1}x{op.pool_height + 1} stride {op.stride_x}x{op.stride_y}"
    )
    return f"{text} {_size(surface.src_data)} -> {_size(surface.dst_data)}"


def summary(operation: DlaOperation | EmuOperation) -> str:
    """One line for a reader. Works for unsupported operations too."""
    if isinstance(operation, EmuOperation):
        return f"{operation.type.name.lower()} {_size(operation.source)}"
    op, surface = operation.op, operation.surface
    if isinstance(op, ConvOp) and isinstance(surface, ConvSurface):
        return _conv(op, surface)
    if isinstance(op, SdpOp) and isinstance(surface, SdpSurface):
        return _sdp(op, surface)
    if isinstance(op, PdpOp) and isinstance(surface, PdpSurface):
        return _pdp(op, surface)
    if isinstance(op, CdpOp):
        return f"normalise over {op.local_size} channels"
    return f"{operation.type.name.lower()} operation"


def macs(operation: DlaOperation | EmuOperation) -> int:
    """Multiply-accumulates of a convolution, 0 for anything else."""
    if isinstance(operation, DlaOperation):
        op, surface = operation.op, operation.surface
        if isinstance(op, ConvOp) and isinstance(surface, ConvSurface):
            dst = surface.dst_data
            return weight_bytes(op, surface) * dst.width * dst.height
    return 0
