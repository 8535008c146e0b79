"""The buffers of a graph, and where the addresses in its constants point."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.accel.vip.configurations import Configuration
from fwgen.accel.vip.fields import FIELDS, VIP_SRAM_BASE, Place, places
from fwgen.accel.vip.rules import rounded
from fwgen.accel.vip.stream import Stream
from fwgen.model.nbg.container import Container
from fwgen.model.nbg.records import NbgOperation, PatchSource
from fwgen.program.commands import AddressOf
from fwgen.program.program import Buffer, Relocation, Role, Space

COMMANDS = "commands"
"""Name of the buffer that the front end plays."""

_UNIT = 6
_UNIT_BITS = 26

Key = tuple[PatchSource, int]


@dataclass(frozen=True, slots=True)
class Memory:
    """All buffers, and which of them each memory of the graph became.

    Attributes:
        buffers: by id.
        ids: buffer of each input, output and of pool, AXI SRAM and coefficients (index 0).
        descriptors, commands: buffers that the hardware reads addresses from.
    """

    buffers: tuple[Buffer, ...]
    ids: dict[Key, int]
    descriptors: int
    commands: int


class _Buffers:
    def __init__(self, last: int) -> None:
        self.made: list[Buffer] = []
        self._last = last

    def add(
        self,
        name: str,
        size: int,
        alignment: int,
        role: Role,
        origin: str,
        data: bytes | None = None,
        relocations: tuple[Relocation, ...] = (),
        space: Space = Space.DRAM,
    ) -> int:
        number = len(self.made)
        self.made.append(
            Buffer(
                number,
                name,
                size,
                alignment,
                role,
                data,
                -1,
                self._last,
                False,
                space,
                origin,
                relocations,
            )
        )
        return number


def used_sources(container: Container) -> set[Key]:
    """The memories that the jobs' patches and the init operation's name."""
    found: set[Key] = set()
    for operation in container.operations:
        for patch in container.patches_of(operation):
            found.add((patch.source, max(0, patch.index)))
    return found


def make_memory(
    container: Container,
    config: Configuration,
    jobs: Sequence[NbgOperation],
    stream: Stream,
    steps: int,
) -> Memory:
    """The buffers of a graph that the rules admit.

    Args:
        jobs: operations whose descriptors are needed.
        steps: number of steps of the program.
    """
    buffers = _Buffers(steps)
    ids: dict[Key, int] = {}
    align = max(64, config.buffer_alignment)
    used = used_sources(container)
    for source, tensors, role in (
        (PatchSource.INPUT, container.inputs, Role.INPUT),
        (PatchSource.OUTPUT, container.outputs, Role.OUTPUT),
    ):
        for tensor in tensors:
            ids[source, tensor.index] = buffers.add(
                f"{tensor.direction}{tensor.index}",
                rounded(tensor.size, config),
                align,
                role,
                f"{tensor.direction} {tensor.index}",
            )
    if (PatchSource.POOL, 0) in used:
        ids[PatchSource.POOL, 0] = buffers.add(
            "pool",
            rounded(container.pool_size, config),
            max(align, container.pool_alignment),
            Role.INTERNAL,
            "memory pool",
        )
    if (PatchSource.AXI_SRAM, 0) in used:
        ids[PatchSource.AXI_SRAM, 0] = buffers.add(
            "axi_sram", container.axi_sram, align, Role.INTERNAL, "AXI SRAM", space=Space.SRAM
        )
    block = container.coefficient_block
    if block.size:
        ids[PatchSource.COEFFICIENT, 0] = buffers.add(
            "coefficients",
            block.size,
            config.coefficient_alignment,
            Role.CONSTANT,
            f"file + {block.offset:#x}",
            container.cursor.bytes_of(block),
        )
    resolver = _Resolver(container, ids)
    data, relocations, place_of = _descriptors(container, jobs, resolver)
    descriptors = buffers.add(
        "descriptors", len(data), 64, Role.CONSTANT, "NN and TP descriptors", data, relocations
    )
    command_relocations = []
    for offset, load, operation in stream.fixups:
        if load.is_job:
            target = AddressOf(descriptors, place_of[operation] + load.value)
        else:
            assert load.place is not None
            target = resolver.address(load.place)
        command_relocations.append(Relocation(offset, target))
    words = stream.data()
    commands = buffers.add(
        COMMANDS,
        len(words),
        64,
        Role.CONSTANT,
        "state buffers",
        words,
        tuple(command_relocations),
    )
    return Memory(tuple(buffers.made), ids, descriptors, commands)


class _Resolver:
    def __init__(self, container: Container, ids: dict[Key, int]) -> None:
        self._container = container
        self._ids = ids

    def address(self, place: Place) -> AddressOf:
        """The address of a place in one of the buffers."""
        if place.source is PatchSource.COEFFICIENT:
            start = self._container.coefficients[place.index].offset
            offset = start - self._container.coefficient_block.offset + place.offset
            return AddressOf(self._ids[place.source, 0], offset)
        index = place.index if (place.source, place.index) in self._ids else 0
        return AddressOf(self._ids[place.source, index], place.offset)


def _descriptors(
    container: Container, jobs: Sequence[NbgOperation], resolver: _Resolver
) -> tuple[bytes, tuple[Relocation, ...], dict[int, int]]:
    """The words of all descriptors, one after another, the addresses in them, and places.

    A descriptor keeps the size that it has in the file, 128 or 192 bytes: how many the
    hardware fetches is a feature of the NPU that the file was compiled for.

    Returns:
        Data, relocations, and where the descriptor of each operation (by index) begins.
    """
    out = bytearray()
    relocations: list[Relocation] = []
    places_of: dict[int, int] = {}
    for job in jobs:
        places_of[job.index] = len(out)
        span = container.descriptor(job)
        words = list(container.cursor.words(span.offset, span.size // 4, "descriptor"))
        patched = {p.offset // 4 for p in container.patches_of(job) if p.type == 1}
        found, _ = places(container, job, words)
        for field in FIELDS[job.type]:
            place = found.get(field.word)
            if place is None or field.word not in patched:
                continue
            shift, bits = (_UNIT, _UNIT_BITS) if field.in_units else (0, 32)
            keep = words[field.word] & ~((1 << bits) - 1) & 0xFFFFFFFF
            if place.source is PatchSource.VIP_SRAM:
                words[field.word] = keep | (VIP_SRAM_BASE + place.offset) >> shift
                continue
            words[field.word] = keep
            relocations.append(
                Relocation(len(out) + 4 * field.word, resolver.address(place), shift, bits)
            )
        out += struct.pack(f"<{len(words)}I", *words)
    return bytes(out), tuple(relocations), places_of
