"""Cutting the memories of a loadable into buffers that can be placed one by one.

A loadable's memories are pools in which its compiler laid tensors over each
other. Here each *value* becomes a buffer again: all accesses are followed in
execution order, every read is joined with the writes whose bytes it may see,
and what is joined moves together. Bytes that are read although nothing wrote
them hold the memory's initial contents: blobs where the loadable sets it, zero
elsewhere. Bindable memories stay whole, because the application fills them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fwgen.accel.nvdla.access import Runs
from fwgen.accel.nvdla.intervals import IntervalMap, Values
from fwgen.accel.nvdla.writer import Place
from fwgen.errors import ModelError
from fwgen.model.nvdla.loadable import Blob, MemoryDomain, MemoryEntry, MemoryFlags
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.validate import blobs_by_name
from fwgen.program.program import Buffer, Role, Space

ALIGNMENT = 64
# A read may pass the end of a blob by a block; reading megabytes of nothing is
# a damaged size.
MAX_UNSET = 16 << 20

_INITIAL: Values = frozenset({-1})


@dataclass(frozen=True, slots=True)
class Use:
    """One access of one operation, with byte ranges in a memory.

    Attributes:
        operation: index in Program.operations.
        label: unique C identifier.
    """

    operation: int
    role: str
    label: str
    step: int
    memory: int
    start: int
    runs: Runs
    exact: bool
    write: bool


Key = tuple[int, str]
"""Operation index and role."""


@dataclass(frozen=True, slots=True)
class Memory:
    """All buffers, and where each access of each operation lies."""

    buffers: tuple[Buffer, ...]
    places: dict[Key, Place]
    bound: dict[int, int]


class _Groups:
    """Union-find over use numbers."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def find(self, item: int) -> int:
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def join(self, a: int, b: int) -> None:
        a, b = self.find(a), self.find(b)
        self._parent[max(a, b)] = min(a, b)


@dataclass(frozen=True, slots=True)
class _Initial:
    """A range of initial contents that a use reads."""

    low: int
    high: int
    use: int


def _follow(
    uses: Sequence[Use], numbers: Sequence[int], size: int, groups: _Groups
) -> list[_Initial]:
    """Join the uses of one memory that share values; return the initial reads."""
    state = IntervalMap(size, _INITIAL)
    initial: list[_Initial] = []
    for number in numbers:
        use = uses[number]
        for low, high in use.runs:
            if use.write:
                # Bytes in gaps of an inexact write keep their value, so both may be there.
                state.add(low, high, number, keep=not use.exact)
                continue
            for start, end, values in state.overlap(low, high):
                for value in values:
                    if value == -1:
                        initial.append(_Initial(start, end, number))
                    else:
                        groups.join(value, number)
    initial.sort(key=lambda part: (part.low, part.high))
    reached, owner = -1, -1
    for part in initial:
        if part.low < reached:
            groups.join(owner, part.use)
        if part.high > reached:
            reached, owner = part.high, part.use
    return initial


def pieces_of(
    memory: MemoryEntry, blobs: Mapping[str, Blob], low: int, high: int
) -> list[tuple[int, bytes]]:
    """Parts of blobs that lie in [low, high) of a memory, in the order of copying."""
    found = []
    for name, offset in zip(memory.contents, memory.offsets, strict=True):
        blob = blobs[name].data if name else b""
        start, end = max(low, offset), min(high, offset + len(blob))
        if start < end:
            found.append((start, blob[start - offset : end - offset]))
    return found


class _Builder:
    def __init__(self, model: NvdlaModel, uses: Sequence[Use], steps: int, atom: int) -> None:
        self.model = model
        self.uses = uses
        self.steps = steps
        self.atom = atom
        self.buffers: list[Buffer] = []
        self.places: dict[Key, Place] = {}
        self.bound: dict[int, int] = {}
        self._groups = _Groups(len(uses))
        self._blobs = blobs_by_name(model.loadable)
        self._numbers: dict[int, list[int]] = {}
        for number, use in enumerate(uses):
            self._numbers.setdefault(use.memory, []).append(number)

    def _fail(self, memory: int, message: str) -> ModelError:
        return ModelError(
            message,
            where=f"{self.model.name}, memory {memory}",
            hints=("The file may be damaged: copy or compile it again.",),
        )

    def _add(
        self,
        name: str,
        size: int,
        role: Role,
        *,
        memory: MemoryEntry,
        low: int = 0,
        data: bytes | None = None,
        life: tuple[int, int] | None = None,
        zeroed: bool = False,
    ) -> int:
        first, last = life if life is not None else (-1, self.steps)
        space = Space.SRAM if memory.domain == MemoryDomain.SRAM else Space.DRAM
        origin = f"memory {memory.id} + 0x{low:x}"
        number = len(self.buffers)
        self.buffers.append(
            Buffer(number, name, size, ALIGNMENT, role, data, first, last, zeroed, space, origin)
        )
        return number

    def add_bound(self) -> None:
        """One buffer for each memory that the application binds."""
        for tensor in self.model.bound:
            memory = self.model.loadable.memories[tensor.memory]
            uses = [self.uses[n] for n in self._numbers.get(tensor.memory, ())]
            if tensor.direction == "input":
                zeroed = tensor.desc.offset != 0 or tensor.desc.size < memory.size
            else:
                zeroed = not self._covers(uses, memory.size)
            number = self._add(
                f"{tensor.direction}{tensor.bind_index}",
                memory.size,
                Role.INPUT if tensor.direction == "input" else Role.OUTPUT,
                memory=memory,
                zeroed=zeroed,
            )
            self.bound[memory.id] = number
            for use in uses:
                self.places[use.operation, use.role] = (number, use.start)

    @staticmethod
    def _covers(uses: Sequence[Use], size: int) -> bool:
        reached = 0
        runs = sorted(run for use in uses if use.write and use.exact for run in use.runs)
        for low, high in runs:
            if low > reached:
                break
            reached = max(reached, high)
        return reached >= size

    def add_values(self, memory: MemoryEntry) -> None:
        """One buffer for each value in a memory that is not bound."""
        # Within a step everything is read before anything is written.
        numbers = sorted(
            self._numbers.get(memory.id, ()), key=lambda n: (self.uses[n].step, self.uses[n].write)
        )
        groups = self._groups
        initial = _follow(self.uses, numbers, memory.size, groups)
        members: dict[int, list[int]] = {}
        for number in numbers:
            members.setdefault(groups.find(number), []).append(number)
        parts: dict[int, list[_Initial]] = {}
        for part in initial:
            parts.setdefault(groups.find(part.use), []).append(part)
        ordered = sorted(
            members, key=lambda g: (min(self.uses[n].runs[0][0] for n in members[g]), g)
        )
        for group in ordered:
            self._add_value(memory, members[group], parts.get(group, []))

    def _add_value(
        self, memory: MemoryEntry, numbers: Sequence[int], initial: Sequence[_Initial]
    ) -> None:
        uses = [self.uses[n] for n in numbers]
        low = min(use.runs[0][0] for use in uses)
        low -= low % self.atom
        high = max(use.runs[-1][1] for use in uses)
        writes = [use for use in uses if use.write]
        name = (writes or uses)[0].label
        self._check_state(memory, writes, initial)
        life: tuple[int, int] | None = None
        role, data, zeroed = Role.INTERNAL, None, False
        if not initial:
            life = (min(use.step for use in uses), max(use.step for use in uses))
        elif memory.flags & MemoryFlags.SET:
            pieces = pieces_of(memory, self._blobs, low, high)
            given = sum(len(piece) for _, piece in pieces)
            if high - low - given > MAX_UNSET:
                raise self._fail(
                    memory.id, f"{name} reads {high - low} bytes of which blobs give {given}"
                )
            image = bytearray(high - low)
            for offset, piece in pieces:
                image[offset - low : offset - low + len(piece)] = piece
            data = bytes(image)
            if not writes:
                role = Role.CONSTANT
            elif given == 0:
                data, zeroed = None, True
            else:
                raise self._fail(
                    memory.id,
                    f"{name}: contents of the file and computed bytes are read as one tensor, "
                    "which is not supported",
                )
        else:
            zeroed = True
        number = self._add(
            name,
            high - low,
            role,
            memory=memory,
            low=low,
            data=data,
            life=life,
            zeroed=zeroed,
        )
        for use in uses:
            self.places[use.operation, use.role] = (number, use.start - low)

    def _check_state(
        self, memory: MemoryEntry, writes: Sequence[Use], initial: Sequence[_Initial]
    ) -> None:
        """Initial contents that are overwritten would be gone in the next inference."""
        exact = [part for part in initial if self.uses[part.use].exact]
        for write in writes:
            if not write.exact:
                continue
            for low, high in write.runs:
                for part in exact:
                    if low < part.high and part.low < high:
                        raise self._fail(
                            memory.id,
                            f"bytes 0x{max(low, part.low):x} to 0x{min(high, part.high):x} are "
                            f"read by {self.uses[part.use].label} and overwritten later by "
                            f"{write.label}: the result would depend on the inference before",
                        )


def cut(model: NvdlaModel, uses: Sequence[Use], steps: int, atom: int) -> Memory:
    """Make the buffers of a model.

    `uses` are all accesses in execution order with runs inside their memories;
    `steps` is the number of steps. Raises ModelError if initial contents are
    read and overwritten.
    """
    builder = _Builder(model, uses, steps, atom)
    builder.add_bound()
    for memory in model.loadable.memories:
        if memory.id not in builder.bound:
            builder.add_values(memory)
    return Memory(tuple(builder.buffers), builder.places, builder.bound)
