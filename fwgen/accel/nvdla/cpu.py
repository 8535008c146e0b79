"""CPU operators as kernel calls (NVDLA loadable format, EMU tasks).

Argument words, floats as their IEEE single bits, format 0 = int8 in blocks of
32 channels, 1 = int8 in blocks of 8, 3 = fp16 in blocks of 16:

    SOFTMAX  source address, destination address, channels, format,
             input scale, output scale
    POWER    source address, destination address, format, width, height,
             channels, source line stride, source surface stride, destination
             line stride, destination surface stride, power, scale, shift,
             input scale, output scale

Addresses are bits 31:0. docs/program.md repeats this for the target.
"""

from __future__ import annotations

import struct

from fwgen.accel.nvdla.writer import Place
from fwgen.model.nvdla.descriptors import EmuOpType
from fwgen.model.nvdla.tasks import EmuOperation
from fwgen.program.commands import AddressOf, Cpu, Kernel


def float_bits(value: float) -> int:
    """The bits of a value as IEEE single."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits


def kernel_call(operation: EmuOperation, source: Place, destination: Place) -> Cpu:
    """The command that runs a CPU operator the rules admit."""
    op, src, dst = operation.op, operation.source, operation.destination
    addresses = (AddressOf(*source), AddressOf(*destination))
    scales = (float_bits(op.input_scale), float_bits(op.output_scale))
    if operation.type == EmuOpType.SOFTMAX:
        return Cpu(Kernel.SOFTMAX, (*addresses, src.channel, src.format, *scales))
    return Cpu(
        Kernel.POWER,
        (
            *addresses,
            src.format,
            src.width,
            src.height,
            src.channel,
            src.line_stride,
            src.surf_stride,
            dst.line_stride,
            dst.surf_stride,
            float_bits(op.power),
            float_bits(op.scale),
            float_bits(op.shift),
            *scales,
        ),
    )
