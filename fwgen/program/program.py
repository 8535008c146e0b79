"""Program, Buffer, Tensor and Operation: what the hardware does, and on what."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fwgen.program.commands import AddressOf, Command


class Role(StrEnum):
    """What a buffer is for; the planner and the linker script go by it."""

    CONSTANT = "constant"  # read only, contents known: weights, biases
    INPUT = "input"  # bound by the application
    OUTPUT = "output"  # bound by the application
    INTERNAL = "internal"  # activations between operations


class Space(StrEnum):
    """The accelerator's memory port through which a buffer is reached."""

    DRAM = "dram"
    SRAM = "sram"


@dataclass(frozen=True, slots=True)
class Relocation:
    """An address inside the contents of a constant buffer.

    The lowest `bits` of the little-endian word at `offset` become the address, shifted
    right by `shift`; the bits above stay as they are.
    """

    offset: int
    value: AddressOf
    shift: int = 0
    bits: int = 32


@dataclass(frozen=True, slots=True)
class Buffer:
    """A range of memory that is placed as a whole.

    Attributes:
        id: index in Program.buffers.
        name: unique C identifier without prefix ("conv1_weights", "act3").
        size: bytes, not padded.
        alignment: bytes, at least 64 for what the accelerator touches.
        role: see Role.
        data: contents for CONSTANT (len == size), else None.
        relocations: addresses in those contents, known with a Layout only.
        first_step, last_step: first and last step (index of Program.steps) at
            which the contents matter. INPUT and OUTPUT live for the whole
            program: (-1, len(steps)).
        zeroed: the contents must be zero at boot and nobody else may use
            the memory (bytes that are read although no operation writes them).
        space: memory port.
        origin: where it comes from in the model ("memory 1 + 0x8000").
    """

    id: int
    name: str
    size: int
    alignment: int
    role: Role
    data: bytes | None
    first_step: int
    last_step: int
    zeroed: bool
    space: Space
    origin: str
    relocations: tuple[Relocation, ...] = ()


class TensorDirection(StrEnum):
    """Which way a bound tensor's data flows."""

    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that the application binds.

    Attributes:
        name: as in the model.
        bind_index: position among the tensors of the same direction.
        shape: (N, C, H, W) in elements.
        dtype: "int8", "uint8", "int16", "float16", ...
        layout: "NCHW", "NHWC", or "NCxHWx" with `atom` channels per x.
        atom: channels per innermost block; 1 for NCHW, C for NHWC.
        strides: bytes (element, line, surface); surface is 0 for NHWC.
        buffer, offset, size: where the bytes lie and how many there are.
        scale, zero_point: quantisation where the model states it, else None.
    """

    name: str
    direction: TensorDirection
    bind_index: int
    shape: tuple[int, int, int, int]
    dtype: str
    layout: str
    atom: int
    strides: tuple[int, int, int]
    buffer: int
    offset: int
    size: int
    scale: float | None = None
    zero_point: int | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One hardware layer or CPU operator, for reports, profiles and comments.

    Attributes:
        index: position in Program.operations; Mark refers to it.
        unit: "CONV", "SDP", "PDP", "CDP", "CPU", ...
        name: short label, unique ("op3_conv").
        summary: one line for a reader ("conv 5x5 28x28x4 -> 24x24x20").
        macs: multiply-accumulates, 0 where there are none.
        bytes_read, bytes_written: DMA traffic by the descriptors.
    """

    index: int
    unit: str
    name: str
    summary: str
    macs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """Operations that are started together and waited for together."""

    operations: tuple[int, ...]
    reads: tuple[int, ...]  # buffer ids
    writes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """All that the target will do for one inference.

    Attributes:
        family: accelerator family ("nvdla").
        config: accelerator configuration ("nv_small").
        model_name, model_sha256: identity of the compiled model.
        address_bits: width of the accelerator's addresses.
        interrupt_mask: all status bits that Wait commands may name.
        kernels: names of CPU kernels used, sorted.
        pipeline_depth: how far operations are programmed ahead in `pipelined`.
        pipelined: the commands of a pipelined run; empty at depth 1. `commands`
            are those of depth 1 always.
        banks: pairs of buffers: the application fills or reads one while the
            accelerator uses the other. Commands and tensors name the first.
        shadows: address ranges (first, end) at which the accelerator sees memory of its
            own instead of the board's: no buffer may lie there.
    """

    family: str
    config: str
    model_name: str
    model_sha256: str
    address_bits: int
    buffers: tuple[Buffer, ...]
    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    steps: tuple[Step, ...]
    commands: tuple[Command, ...]
    interrupt_mask: int = 0
    kernels: tuple[str, ...] = field(default=())
    pipeline_depth: int = 1
    pipelined: tuple[Command, ...] = ()
    banks: tuple[tuple[int, int], ...] = ()
    shadows: tuple[tuple[int, int], ...] = ()

    def inputs(self) -> tuple[Tensor, ...]:
        """Input tensors in bind order."""
        return tuple(t for t in self.tensors if t.direction is TensorDirection.INPUT)

    def outputs(self) -> tuple[Tensor, ...]:
        """Output tensors in bind order."""
        return tuple(t for t in self.tensors if t.direction is TensorDirection.OUTPUT)
