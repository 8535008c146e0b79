"""Rules for the CPU tasks of a loadable (NVDLA loadable format, EMU tasks)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fwgen.accel.nvdla.access import Access, BadStride, blocks, cube_runs
from fwgen.model.nvdla.descriptors import EmuBuffer, EmuOpType
from fwgen.model.nvdla.loadable import Loadable
from fwgen.model.nvdla.tasks import EmuOperation, EmuTask

INT8, INT8_8, FP16 = 0, 1, 3

CHANNELS = {INT8: 32, INT8_8: 8, FP16: 16}
"""Channels per innermost block by buffer format."""

ELEMENT_BYTES = {INT8: 1, INT8_8: 1, FP16: 2}


@dataclass(frozen=True, slots=True)
class CpuContext:
    """A CPU operator with everything that a rule may look at."""

    loadable: Loadable
    task: EmuTask
    operation: EmuOperation


def _access(role: str, operation: EmuOperation, buffer: EmuBuffer, *, write: bool) -> Access:
    element = ELEMENT_BYTES[buffer.format]
    if operation.type == EmuOpType.SOFTMAX:
        end = buffer.offset + buffer.channel * element
        return Access(
            role, buffer.address, buffer.offset, ((buffer.offset, end),), True, write, False
        )
    block = CHANNELS[buffer.format]
    runs, exact = cube_runs(
        buffer.offset,
        blocks(buffer.channel, block),
        buffer.height,
        buffer.width * block * element,
        buffer.line_stride,
        buffer.surf_stride,
    )
    # Unused channels of the last block are not written.
    exact = exact and not (write and buffer.channel % block)
    return Access(role, buffer.address, buffer.offset, runs, exact, write, False)


def accesses(operation: EmuOperation) -> list[Access]:
    """What a supported CPU operator reads and writes. Raises BadStride."""
    return [
        _access("src", operation, operation.source, write=False),
        _access("dst", operation, operation.destination, write=True),
    ]


def rule_format(c: CpuContext) -> str | None:
    """CPU operators take int8 or fp16, the same on both sides."""
    source, destination = c.operation.source, c.operation.destination
    if source.format != destination.format:
        return f"its formats {source.format} and {destination.format} differ"
    return None if source.format in CHANNELS else f"unknown format {source.format}"


def rule_shape(c: CpuContext) -> str | None:
    """Source and destination have the same shape; softmax runs over the channels of one pixel."""
    a, b = c.operation.source, c.operation.destination
    if (a.width, a.height, a.channel) != (b.width, b.height, b.channel):
        return "its source and destination differ in size"
    if min(a.width, a.height, a.channel) < 1:
        return "it has a size of 0"
    if c.operation.type == EmuOpType.SOFTMAX and (a.width, a.height) != (1, 1):
        return f"softmax over {a.width}x{a.height} pixels"
    return None


def rule_scale(c: CpuContext) -> str | None:
    """Scale factors are finite, and the output scale of int8 is not 0."""
    op = c.operation.op
    used = [op.input_scale, op.output_scale]
    if c.operation.type == EmuOpType.POWER:
        used += [op.power, op.scale, op.shift]
    if not all(math.isfinite(value) for value in used):
        return "a scale factor is not finite"
    if c.operation.source.format != FP16 and op.output_scale == 0:
        return "its output scale is 0"
    return None


def rule_memory(c: CpuContext) -> str | None:
    """Every byte must lie inside the memory that the address names; lines do not overlap."""
    try:
        found = accesses(c.operation)
    except BadStride as error:
        return str(error)
    for access in found:
        if not 0 <= access.index < len(c.task.addresses):
            return f"{access.role} has address index {access.index} of {len(c.task.addresses)}"
        address = c.task.addresses[access.index]
        memory = c.loadable.memories[address.memory]
        end = address.offset + access.runs[-1][1]
        if end > memory.size:
            return f"{access.role} ends at byte {end} of memory {memory.id} of {memory.size}"
        start = address.offset + access.start
        if start % ELEMENT_BYTES[c.operation.source.format]:
            return f"{access.role} starts at odd byte {start}"
    return None


RULES = (rule_format, rule_shape, rule_scale, rule_memory)


def reasons(context: CpuContext) -> tuple[str, ...]:
    """Why a CPU operator is not supported; empty if it is."""
    for rule in RULES:
        reason = rule(context)
        if reason is not None:
            return (reason,)
    return ()
