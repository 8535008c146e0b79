"""A network binary graph in memory, as a driver prepares it before the first inference.

In the plainest way: the tables are placed, the patches applied, the state buffers joined to
one command stream. It shares nothing with the lowering that firmware is built with, so that
each checks the other.

Facts: the TIM-VX header of the graph format (patches) and the etnaviv command stream.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fwgen.errors import ModelError
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.records import NbgOperation, NbgPatch, OperationType, PatchSource

Bytes = npt.NDArray[np.uint8]

VIP_SRAM = 0x400000
"""Where the VIP SRAM is put among the addresses of the NPU."""
MEMORY = 0x10000000
GUARD = 256
"""Bytes between two buffers, which nothing may write."""
GUARD_BYTE = 0xC3
ALIGNMENT = 256
EVENT = 5
TAIL = (
    (0x0801_0E03, 0xC23),  # flush the caches
    (0x0801_0E02, 0x0701),  # semaphore: front end to pixel engine
    (0x4800_0000, 0x0701),  # and wait for it
    (0x0801_0E01, 0x40 | EVENT),  # GL.EVENT from the pixel engine
    (0x1000_0000, 0),  # END
)


class _Placer:
    """Gives out aligned ranges with a guard behind each."""

    def __init__(self, base: int) -> None:
        self.next = base

    def take(self, size: int, alignment: int = ALIGNMENT) -> int:
        at = (self.next + alignment - 1) // alignment * alignment
        self.next = at + size + GUARD
        return at


def _rounded(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass(frozen=True, slots=True)
class Placement:
    """Where everything lies: addresses, and bytes taken from MEMORY on."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    coefficients: int
    pool: int
    axi_sram: int
    descriptors: dict[int, int]  # by index of the operation
    commands: int
    size: int


def place(container: Container) -> Placement:
    """Addresses for a graph's buffers."""
    placer = _Placer(MEMORY)
    descriptors = {o.index: placer.take(192, 64) for o in container.jobs()}
    states = sum(container.states[o.state].size for o in container.operations)
    commands = placer.take(states + 8 * len(TAIL))
    coefficients = placer.take(container.coefficient_block.size)
    inputs = tuple(placer.take(_rounded(t.size)) for t in container.inputs)
    outputs = tuple(placer.take(_rounded(t.size)) for t in container.outputs)
    pool = placer.take(container.pool_size)
    axi = placer.take(container.axi_sram)
    return Placement(
        inputs, outputs, coefficients, pool, axi, descriptors, commands, placer.next - MEMORY
    )


def _source(container: Container, placement: Placement, patch: NbgPatch, own: int) -> int:
    """Address of what a patch refers to; `own`: of the operation's descriptor."""
    if patch.source is PatchSource.COEFFICIENT:
        entry = container.coefficients[patch.index]
        return placement.coefficients + entry.offset - container.coefficient_block.offset
    simple = {
        PatchSource.COMMAND: own,
        PatchSource.POOL: placement.pool,
        PatchSource.AXI_SRAM: placement.axi_sram,
        PatchSource.VIP_SRAM: VIP_SRAM,
    }
    if patch.source in simple:
        return simple[patch.source]
    if patch.source is PatchSource.INPUT:
        return placement.inputs[patch.index]
    if patch.source is PatchSource.OUTPUT:
        return placement.outputs[patch.index]
    raise ModelError(
        f"a patch has the source {patch.source.name}, which is not understood",
        where=f"offset {patch.at:#x}",
    )


def _patched(old: int, address: int, patch: NbgPatch) -> int:
    if patch.type == 0 and patch.source is PatchSource.COMMAND:
        return address | old & 0x3F
    if patch.type == 1 and patch.transformed:
        low = 0x3FFFFFF
        return old & ~low | ((address + patch.base + (old & low)) >> 6) & low
    return (address + patch.base + old) & 0xFFFFFFFF


def _operation(
    container: Container, placement: Placement, operation: NbgOperation
) -> tuple[bytes, bytes]:
    """(state buffer, descriptor) with all patches applied."""
    cursor = container.cursor
    state = bytearray(cursor.bytes_of(container.states[operation.state]))
    descriptor = bytearray()
    own = placement.descriptors.get(operation.index, 0)
    if operation.type in (OperationType.NN, OperationType.TP):
        descriptor += cursor.bytes_of(container.descriptor(operation))
    for patch in container.patches_of(operation):
        target = descriptor if patch.type == 1 and descriptor else state
        (old,) = struct.unpack_from("<I", target, patch.offset)
        address = _source(container, placement, patch, own)
        struct.pack_into("<I", target, patch.offset, _patched(old, address, patch))
    return bytes(state), bytes(descriptor)


class GraphImage:
    """Memory with a graph in it, ready to run any number of times.

    Args:
        container: the graph.
        allocate: gives the memory of so many bytes that lies at MEMORY.

    Raises:
        ModelError: the graph has shader operations or a patch that is not understood.
    """

    def __init__(self, container: Container, allocate: Callable[[int], Bytes]) -> None:
        if any(job.type is OperationType.SH for job in container.jobs()):
            raise ModelError("the graph has shader operations, which cannot be run")
        self.container = container
        self.placement = place(container)
        self.memory = allocate(self.placement.size)
        self.memory[:] = GUARD_BYTE
        stream = bytearray()
        for operation in container.operations:
            if operation.type is OperationType.END:
                continue
            state, descriptor = _operation(container, self.placement, operation)
            stream += state
            if descriptor:
                self._put(self.placement.descriptors[operation.index], descriptor)
        stream += b"".join(struct.pack("<II", *pair) for pair in TAIL)
        self.stream_size = len(stream)
        self._put(self.placement.commands, bytes(stream))
        block = container.cursor.bytes_of(container.coefficient_block)
        self._put(self.placement.coefficients, block)

    def _view(self, address: int, size: int) -> Bytes:
        return self.memory[address - MEMORY : address - MEMORY + size]

    def _put(self, address: int, data: bytes) -> None:
        self._view(address, len(data))[:] = np.frombuffer(data, np.uint8)

    def words(self, operation: NbgOperation) -> list[int]:
        """The 32 words of a descriptor, patched."""
        found: list[int] = (
            self._view(self.placement.descriptors[operation.index], 128).view("<u4").tolist()
        )
        return found

    def put_inputs(self, inputs: list[bytes]) -> None:
        """Store the inputs and overwrite the outputs of an earlier run."""
        for address, tensor, data in zip(
            self.placement.inputs, self.container.inputs, inputs, strict=True
        ):
            if len(data) != tensor.size:
                raise ModelError(f"{tensor.name} has {tensor.size} bytes, {len(data)} were given")
            self._put(address, data)
        for address, tensor in zip(self.placement.outputs, self.container.outputs, strict=True):
            self._view(address, tensor.size)[:] = GUARD_BYTE

    def outputs(self) -> tuple[bytes, ...]:
        """The output buffers as they are."""
        return tuple(
            self._view(address, tensor.size).tobytes()
            for address, tensor in zip(self.placement.outputs, self.container.outputs, strict=True)
        )

    def guards_intact(self) -> bool:
        """Whether no byte outside the buffers was written."""
        taken = np.zeros(self.memory.size, bool)
        sizes: list[tuple[int, int]] = [
            *((a, 192) for a in self.placement.descriptors.values()),
            (self.placement.commands, self.stream_size),
            (self.placement.coefficients, self.container.coefficient_block.size),
            (self.placement.pool, self.container.pool_size),
            (self.placement.axi_sram, self.container.axi_sram),
        ]
        for addresses, tensors in (
            (self.placement.inputs, self.container.inputs),
            (self.placement.outputs, self.container.outputs),
        ):
            sizes += [(a, _rounded(t.size)) for a, t in zip(addresses, tensors, strict=True)]
        for address, size in sizes:
            taken[address - MEMORY : address - MEMORY + size] = True
        return bool((self.memory[~taken] == GUARD_BYTE).all())
