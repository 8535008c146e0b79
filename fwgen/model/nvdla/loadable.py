"""The NVDLA loadable file: its tables as frozen values, reader and writer.

Facts: the loadable FlatBuffer schema of NVIDIA's NVDLA software release.
Enumerated fields stay the integers of the file; validate.py judges them. The
file identifier "NVDA" is written and never required: hand-made files lack it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any

import flatbuffers  # type: ignore[import-untyped]

from fwgen.model.nvdla.flatbuffer import FlatFile, Table

IDENTIFIER = b"NVDA"


class Interface(IntEnum):
    """Who runs a task or reads a blob."""

    NONE = 0
    DLA1 = 1
    EMU1 = 2


class MemoryDomain(IntEnum):
    """Which memory a memory entry lies in."""

    SYSTEM = 0
    SRAM = 1


class MemoryFlags(IntFlag):
    """How the runtime treats a memory."""

    NONE = 0
    ALLOC = 1
    SET = 2
    INPUT = 4
    OUTPUT = 8


Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Blob:
    """A named piece of data; `version` is the interface version of its contents."""

    name: str
    size: int
    interface: int
    sub_interface: int
    version: Version | None
    data: bytes


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory: size in bytes, flags, and which blobs are copied to which byte offsets."""

    id: int
    domain: int
    flags: int
    size: int
    alignment: int
    contents: tuple[str, ...]
    offsets: tuple[int, ...]
    bind_id: int
    tensor_desc_id: int


@dataclass(frozen=True, slots=True)
class AddressEntry:
    """A place in a memory: (memory id, byte offset, size in bytes)."""

    id: int
    mem_id: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class EventEntry:
    """An event between tasks; the runtime ignores them."""

    id: int
    type: int
    target: int
    val: int
    op: int


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A task: who runs it and its list of address ids."""

    id: int
    interface: int
    instance: int
    address_list: tuple[int, ...]
    pre_actions: tuple[int, ...]
    post_actions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SubmitEntry:
    """Tasks that are submitted together."""

    id: int
    task_id: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorDesc:
    """Shape, type and strides (bytes) of a bindable memory."""

    name: str
    id: int
    mem_id: int
    size: int
    offset: int
    data_format: int
    data_type: int
    data_category: int
    pixel_format: int
    pixel_mapping: int
    n: int
    c: int
    h: int
    w: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RelocEntry:
    """A stride of a tensor that is also stored in a descriptor (byte offset `offset`)."""

    address_id: int
    write_id: int
    offset: int
    interface: int
    sub_interface: int
    reloc_type: int


@dataclass(frozen=True, slots=True)
class Loadable:
    """The whole file."""

    version: Version | None
    tasks: tuple[TaskEntry, ...]
    memories: tuple[MemoryEntry, ...]
    addresses: tuple[AddressEntry, ...]
    events: tuple[EventEntry, ...]
    blobs: tuple[Blob, ...]
    tensors: tuple[TensorDesc, ...]
    relocs: tuple[RelocEntry, ...]
    submits: tuple[SubmitEntry, ...]


def _version(table: Table, slot: int) -> Version | None:
    raw = table.inline(slot, 3)
    return None if raw is None else (raw[0], raw[1], raw[2])


def _read_blob(t: Table) -> Blob:
    return Blob(
        t.string(0),
        t.scalar(1, "u64"),
        t.scalar(2, "u32"),
        t.scalar(3, "u32"),
        _version(t, 4),
        t.bytes_at(5),
    )


def _read_memory(t: Table) -> MemoryEntry:
    return MemoryEntry(
        t.scalar(0, "u16"),
        t.scalar(1, "u8"),
        t.scalar(2, "u16"),
        t.scalar(3, "u64"),
        t.scalar(4, "u32"),
        t.strings(5),
        t.scalars(6, "u64"),
        t.scalar(7, "u16"),
        t.scalar(8, "u16"),
    )


def _read_tensor(t: Table) -> TensorDesc:
    return TensorDesc(
        t.string(0),
        t.scalar(1, "u16"),
        t.scalar(2, "u16"),
        t.scalar(3, "u64"),
        t.scalar(4, "u64"),
        t.scalar(5, "u8"),
        t.scalar(6, "u8"),
        t.scalar(7, "u8"),
        t.scalar(8, "u8"),
        t.scalar(9, "u8"),
        t.scalar(10, "i32"),
        t.scalar(11, "i32"),
        t.scalar(12, "i32"),
        t.scalar(13, "i32"),
        tuple(t.scalar(slot, "u32") for slot in range(14, 22)),
    )


def read_loadable(data: bytes, source: str) -> Loadable:
    """Read a loadable file.

    `source` names the file in errors. Only the file's structure is checked here
    (ModelError with byte offset); validate.py checks what it says.
    """
    root = FlatFile(data, source).root()
    return Loadable(
        _version(root, 0),
        tuple(
            TaskEntry(
                t.scalar(0, "u16"),
                t.scalar(1, "u32"),
                t.scalar(2, "i16"),
                t.scalars(3, "u16"),
                t.scalars(4, "u16"),
                t.scalars(5, "u16"),
            )
            for t in root.tables(1, "task")
        ),
        tuple(_read_memory(t) for t in root.tables(2, "memory")),
        tuple(
            AddressEntry(
                t.scalar(0, "u16"), t.scalar(1, "u16"), t.scalar(2, "u64"), t.scalar(3, "u64")
            )
            for t in root.tables(3, "address")
        ),
        tuple(
            EventEntry(
                t.scalar(0, "u16"),
                t.scalar(1, "u8"),
                t.scalar(2, "u16"),
                t.scalar(3, "u32"),
                t.scalar(4, "u8"),
            )
            for t in root.tables(4, "event")
        ),
        tuple(_read_blob(t) for t in root.tables(5, "blob")),
        tuple(_read_tensor(t) for t in root.tables(6, "tensor")),
        tuple(
            RelocEntry(
                t.scalar(0, "u16"),
                t.scalar(1, "u16"),
                t.scalar(2, "u64"),
                t.scalar(3, "u32"),
                t.scalar(4, "u32"),
                t.scalar(5, "u8"),
            )
            for t in root.tables(7, "relocation")
        ),
        tuple(
            SubmitEntry(t.scalar(0, "u16"), t.scalars(1, "u16")) for t in root.tables(8, "submit")
        ),
    )


# What to do with one slot of a table: prepend a scalar, an offset or an inline struct.
_Slot = Callable[[Any, int], None]


def _number(kind: str, value: int) -> _Slot:
    def put(builder: Any, slot: int) -> None:
        getattr(builder, f"Prepend{kind}Slot")(slot, value, 0)

    return put


def _reference(offset: int) -> _Slot:
    def put(builder: Any, slot: int) -> None:
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)

    return put


def _inline_version(version: Version | None) -> _Slot:
    def put(builder: Any, slot: int) -> None:
        if version is not None:
            builder.Prep(1, 3)
            for part in reversed(version):
                builder.PrependByte(part)
            builder.PrependStructSlot(slot, builder.Offset(), 0)

    return put


class _Writer:
    """FlatBuffers are written from the leaves up; absent and empty lists are left out."""

    def __init__(self) -> None:
        self.builder: Any = flatbuffers.Builder(4096)

    def text(self, value: str) -> _Slot:
        return _reference(self.builder.CreateString(value))

    def data(self, value: bytes) -> _Slot:
        return _reference(self.builder.CreateByteVector(value))

    def numbers(self, kind: str, code: str, values: Sequence[int]) -> _Slot:
        if not values:
            return _reference(0)
        width = struct.calcsize("<" + code)
        self.builder.StartVector(width, len(values), width)
        for value in reversed(values):
            getattr(self.builder, f"Prepend{kind}")(value)
        return _reference(self.builder.EndVector())

    def offsets(self, values: Sequence[int]) -> _Slot:
        if not values:
            return _reference(0)
        self.builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self.builder.PrependUOffsetTRelative(value)
        return _reference(self.builder.EndVector())

    def texts(self, values: Sequence[str]) -> _Slot:
        return self.offsets([self.builder.CreateString(value) for value in values])

    def table(self, slots: Sequence[_Slot]) -> int:
        self.builder.StartObject(len(slots))
        for slot, put in enumerate(slots):
            put(self.builder, slot)
        end: int = self.builder.EndObject()
        return end


def write_loadable(loadable: Loadable) -> bytes:
    """The bytes of a loadable file with identifier "NVDA". Equal values give equal bytes."""
    w = _Writer()
    u8, u16, i16, u32, i32, u64 = "Uint8", "Uint16", "Int16", "Uint32", "Int32", "Uint64"
    tasks = [
        w.table(
            [
                _number(u16, t.id),
                _number(u32, t.interface),
                _number(i16, t.instance),
                *(w.numbers(u16, "H", v) for v in (t.address_list, t.pre_actions, t.post_actions)),
            ]
        )
        for t in loadable.tasks
    ]
    memories = [
        w.table(
            [
                _number(u16, m.id),
                _number(u8, m.domain),
                _number(u16, m.flags),
                _number(u64, m.size),
                _number(u32, m.alignment),
                w.texts(m.contents),
                w.numbers(u64, "Q", m.offsets),
                _number(u16, m.bind_id),
                _number(u16, m.tensor_desc_id),
            ]
        )
        for m in loadable.memories
    ]
    addresses = [
        w.table(
            [
                _number(u16, a.id),
                _number(u16, a.mem_id),
                _number(u64, a.offset),
                _number(u64, a.size),
            ]
        )
        for a in loadable.addresses
    ]
    events = [
        w.table(
            [
                _number(u16, e.id),
                _number(u8, e.type),
                _number(u16, e.target),
                _number(u32, e.val),
                _number(u8, e.op),
            ]
        )
        for e in loadable.events
    ]
    blobs = [
        w.table(
            [
                w.text(b.name),
                _number(u64, b.size),
                _number(u32, b.interface),
                _number(u32, b.sub_interface),
                _inline_version(b.version),
                w.data(b.data),
            ]
        )
        for b in loadable.blobs
    ]
    tensors = [
        w.table(
            [
                w.text(t.name),
                _number(u16, t.id),
                _number(u16, t.mem_id),
                _number(u64, t.size),
                _number(u64, t.offset),
                _number(u8, t.data_format),
                _number(u8, t.data_type),
                _number(u8, t.data_category),
                _number(u8, t.pixel_format),
                _number(u8, t.pixel_mapping),
                *(_number(i32, v) for v in (t.n, t.c, t.h, t.w)),
                *(_number(u32, v) for v in t.strides),
            ]
        )
        for t in loadable.tensors
    ]
    relocs = [
        w.table(
            [
                _number(u16, r.address_id),
                _number(u16, r.write_id),
                _number(u64, r.offset),
                _number(u32, r.interface),
                _number(u32, r.sub_interface),
                _number(u8, r.reloc_type),
            ]
        )
        for r in loadable.relocs
    ]
    submits = [
        w.table([_number(u16, s.id), w.numbers(u16, "H", s.task_id)]) for s in loadable.submits
    ]
    lists = [
        w.offsets(part)
        for part in (tasks, memories, addresses, events, blobs, tensors, relocs, submits)
    ]
    root = w.table([_inline_version(loadable.version), *lists])
    w.builder.Finish(root, file_identifier=IDENTIFIER)
    return bytes(w.builder.Output())
