"""Rules for PDP and CDP operations (NVDLA hardware specification; checks of the firmware)."""

from __future__ import annotations

from fwgen.accel.nvdla.rules import IN_MEMORY, Context, from_memory_or_parent, only_int8
from fwgen.model.nvdla.descriptors import (
    CdpOp,
    CdpSurface,
    Cube,
    CubeType,
    OpType,
    PdpOp,
    PdpSurface,
)

Pdp = Context[PdpOp, PdpSurface]
Cdp = Context[CdpOp, CdpSurface]

MAX_SIZE = 8192
MAX_SPLIT = 64


def rule_precision(c: Pdp) -> str | None:
    """Pooling computes int8."""
    return only_int8(c)


def rule_source(c: Pdp) -> str | None:
    """The input comes from memory, or from the SDP operation that is named as its parent."""
    return from_memory_or_parent(c, c.surface.src_data, OpType.PDP, "SDP operation")


def rule_destination(c: Pdp) -> str | None:
    """The output goes to memory."""
    return None if c.surface.dst_data.type in IN_MEMORY else "its output does not go to memory"


def _too_large(cube: Cube) -> bool:
    return not all(1 <= n <= MAX_SIZE for n in (cube.width, cube.height, cube.channel))


def rule_size(c: Pdp) -> str | None:
    """Width, height and channels are 1 to 8192; input and output have the same channels."""
    src, dst = c.surface.src_data, c.surface.dst_data
    if _too_large(src) or _too_large(dst):
        return "its input or output has a size of 0 or beyond 8192"
    if src.channel != dst.channel:
        return f"the input has {src.channel} channels, the output {dst.channel}"
    return None


def rule_kernel(c: Pdp) -> str | None:
    """Average, maximum or minimum over 1x1 to 8x8, stride 1 to 8."""
    op = c.op
    if op.pool_mode > 2:
        return f"unknown pooling mode {op.pool_mode}"
    if op.pool_width > 7 or op.pool_height > 7:
        return f"the kernel is {op.pool_width + 1}x{op.pool_height + 1}"
    if not 1 <= op.stride_x <= 8 or not 1 <= op.stride_y <= 8:
        return f"the stride is {op.stride_x}x{op.stride_y}"
    return None


def rule_windows(c: Pdp) -> str | None:
    """Every pooling window must hold at least one element and end inside the padding."""
    op, src, dst = c.op, c.surface.src_data, c.surface.dst_data
    axes = (
        ("width", src.width, dst.width, op.pool_width + 1, op.stride_x, op.pad_left, op.pad_right),
        ("height", src.height, dst.height, op.pool_height + 1, op.stride_y, op.pad_top,
         op.pad_bottom),
    )  # fmt: skip
    for name, size, out, kernel, stride, before, after in axes:
        last = (out - 1) * stride - before
        if before >= kernel or last >= size:
            return f"a window lies wholly in the padding ({name})"
        if last + kernel > size + after:
            return f"output {name} {out} does not follow from input {name} {size}"
    return None


def rule_split(c: Pdp) -> str | None:
    """Input from memory may be split into up to 64 parts whose widths add up."""
    op, src, dst = c.op, c.surface.src_data, c.surface.dst_data
    if not 1 <= op.split_num <= MAX_SPLIT:
        return f"it is split into {op.split_num} parts"
    if op.split_num == 1:
        return None
    if src.type == CubeType.HW:
        return "input from SDP cannot be split"
    middle = op.split_num - 2
    parts = (
        (op.partial_in_width_first, op.partial_in_width_mid, op.partial_in_width_last, src.width),
        (op.partial_width_first, op.partial_width_mid, op.partial_width_last, dst.width),
    )
    for first, mid, last, width in parts:
        if first < 1 or last < 1 or (middle and mid < 1) or first + middle * mid + last != width:
            return f"its parts do not add up to width {width}"
    return None


def rule_cdp_precision(c: Cdp) -> str | None:
    """Normalisation computes int8."""
    return only_int8(c)


def rule_cdp_memory(c: Cdp) -> str | None:
    """Input and output lie in memory."""
    if c.surface.src_data.type not in IN_MEMORY or c.surface.dst_data.type not in IN_MEMORY:
        return "its input or output does not lie in memory"
    return None


def rule_cdp_size(c: Cdp) -> str | None:
    """Input and output have the same size; the window has 3, 5, 7 or 9 channels."""
    src, dst = c.surface.src_data, c.surface.dst_data
    if (src.width, src.height, src.channel) != (dst.width, dst.height, dst.channel):
        return "its input and output differ in size"
    if c.op.local_size not in (3, 5, 7, 9):
        return f"its window has {c.op.local_size} channels"
    return None


def rule_cdp_lut(c: Cdp) -> str | None:
    """Normalisation needs its look-up table."""
    if not 0 <= c.op.lut_index < len(c.task.luts):
        return f"it uses look-up table {c.op.lut_index} of {len(c.task.luts)}"
    return None


PDP_RULES = (
    rule_precision,
    rule_source,
    rule_destination,
    rule_size,
    rule_kernel,
    rule_windows,
    rule_split,
)
CDP_RULES = (rule_cdp_precision, rule_cdp_memory, rule_cdp_size, rule_cdp_lut)
