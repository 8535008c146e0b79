"""Bounds-checked reading of FlatBuffers (FlatBuffers binary format).

A FlatBuffer is a graph of offsets, so a damaged file can point anywhere, also
many times at the same large object. Every access here is checked against the
file, and the total amount of data handed out is limited in proportion to the
file's size: reading always ends, and only ModelError is raised.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from fwgen.errors import ModelError

_SCALARS = {
    "u8": struct.Struct("<B"),
    "i8": struct.Struct("<b"),
    "u16": struct.Struct("<H"),
    "i16": struct.Struct("<h"),
    "u32": struct.Struct("<I"),
    "i32": struct.Struct("<i"),
    "u64": struct.Struct("<Q"),
}


class FlatFile:
    """The bytes of one FlatBuffer file and the checks on them."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data = data
        self.source = source
        # Honest files hand out each byte about once, and reading a table costs
        # at most one unit a slot, so this is generous for them.
        self._budget = 8 * len(data) + 65536

    def error(self, offset: int, message: str, expected: str | None = None) -> ModelError:
        """A ModelError that names file and byte offset."""
        return ModelError(
            message,
            where=f"{self.source}, byte 0x{offset:x}",
            expected=expected,
            hints=("The file may be truncated or damaged: copy or compile it again.",),
        )

    def spend(self, amount: int, offset: int) -> None:
        """Account for data handed out."""
        self._budget -= amount
        if self._budget < 0:
            raise self.error(offset, "the file refers to the same data too many times")

    def require(self, offset: int, size: int, what: str) -> None:
        """Check that [offset, offset + size) lies in the file."""
        if offset < 0 or offset + size > len(self.data):
            raise self.error(
                min(max(offset, 0), len(self.data)),
                f"{what} reaches beyond the end of the file",
                f"at most {len(self.data)} bytes",
            )

    def scalar(self, kind: str, offset: int, what: str) -> int:
        """A little-endian integer."""
        packer = _SCALARS[kind]
        self.require(offset, packer.size, what)
        value: int = packer.unpack_from(self.data, offset)[0]
        return value

    def root(self) -> Table:
        """The root table."""
        if len(self.data) < 8:
            raise self.error(len(self.data), "the file is too short", "a FlatBuffer")
        return Table.at(self, self.scalar("u32", 0, "the root offset"), "the root table")


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its position and its verified vtable."""

    file: FlatFile
    position: int
    vtable: int
    slots: int
    what: str

    @staticmethod
    def at(file: FlatFile, position: int, what: str) -> Table:
        """Verify the table at a position."""
        file.spend(1, position)
        vtable = position - file.scalar("i32", position, what)
        length = file.scalar("u16", vtable, f"the vtable of {what}")
        size = file.scalar("u16", vtable + 2, f"the vtable of {what}")
        if length < 4 or length % 2:
            raise file.error(vtable, f"the vtable of {what} has a bad size {length}")
        file.require(vtable, length, f"the vtable of {what}")
        if size < 4:
            raise file.error(vtable + 2, f"{what} has a bad size {size}")
        file.require(position, size, what)
        return Table(file, position, vtable, (length - 4) // 2, what)

    def _field(self, slot: int, size: int) -> int | None:
        """Absolute offset of an inline field, None if absent."""
        if slot >= self.slots:
            return None
        entry = self.vtable + 4 + 2 * slot
        offset = self.file.scalar("u16", entry, f"the vtable of {self.what}")
        if offset == 0:
            return None
        # The size in the vtable is no bound: flatc wrote inline structs behind it.
        if offset < 4:
            raise self.file.error(entry, f"field {slot} of {self.what} has a bad offset {offset}")
        self.file.require(self.position + offset, size, f"field {slot} of {self.what}")
        return self.position + offset

    def scalar(self, slot: int, kind: str) -> int:
        """An integer field, 0 if absent."""
        at = self._field(slot, _SCALARS[kind].size)
        return 0 if at is None else self.file.scalar(kind, at, self.what)

    def inline(self, slot: int, size: int) -> bytes | None:
        """An inline struct's bytes, None if absent."""
        at = self._field(slot, size)
        return None if at is None else self.file.data[at : at + size]

    def _target(self, slot: int) -> int | None:
        at = self._field(slot, 4)
        if at is None:
            return None
        return at + self.file.scalar("u32", at, self.what)

    def _vector(self, slot: int, width: int) -> tuple[int, int]:
        """First element's offset and the count of a vector, (0, 0) if absent."""
        at = self._target(slot)
        if at is None:
            return 0, 0
        what = f"a list in {self.what}"
        count = self.file.scalar("u32", at, what)
        self.file.require(at + 4, count * width, what)
        self.file.spend(count * width, at)
        return at + 4, count

    def bytes_at(self, slot: int) -> bytes:
        """A vector of bytes, empty if absent."""
        at, count = self._vector(slot, 1)
        return self.file.data[at : at + count]

    def scalars(self, slot: int, kind: str) -> tuple[int, ...]:
        """A vector of integers, empty if absent."""
        packer = _SCALARS[kind]
        at, count = self._vector(slot, packer.size)
        raw = self.file.data[at : at + count * packer.size]
        return tuple(value for (value,) in packer.iter_unpack(raw))

    def tables(self, slot: int, what: str) -> tuple[Table, ...]:
        """A vector of tables, empty if absent."""
        at, count = self._vector(slot, 4)
        return tuple(
            Table.at(
                self.file,
                entry + self.file.scalar("u32", entry, what),
                f"{what} {index}",
            )
            for index, entry in enumerate(range(at, at + 4 * count, 4))
        )

    def string(self, slot: int) -> str:
        """A string field, empty if absent."""
        at = self._target(slot)
        return "" if at is None else self._string(at)

    def strings(self, slot: int) -> tuple[str, ...]:
        """A vector of strings, empty if absent."""
        at, count = self._vector(slot, 4)
        what = f"a string in {self.what}"
        return tuple(
            self._string(entry + self.file.scalar("u32", entry, what))
            for entry in range(at, at + 4 * count, 4)
        )

    def _string(self, at: int) -> str:
        what = f"a string in {self.what}"
        length = self.file.scalar("u32", at, what)
        self.file.require(at + 4, length + 1, what)
        self.file.spend(length + 1, at)
        if self.file.data[at + 4 + length] != 0:
            raise self.file.error(at + 4 + length, f"{what} does not end with a zero byte")
        try:
            return self.file.data[at + 4 : at + 4 + length].decode()
        except UnicodeDecodeError as error:
            raise self.file.error(at + 4 + error.start, f"{what} is not UTF-8") from error
