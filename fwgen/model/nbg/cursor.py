"""Bounds-checked reads of a network binary graph's bytes.

Every read names what it wants, so that a damaged file ends in one error with the
offset and what was expected there. Nothing is allocated by a size that the file
states before that size has been compared with the file's own.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NoReturn

from fwgen.errors import ModelError

_HINT = "The file may be truncated or damaged: copy it again, or compile the network again."


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the file, checked to lie inside it.

    Attributes:
        offset: of the first byte.
        size: in bytes.
    """

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """A file's bytes and its name for errors."""

    data: bytes
    source: str

    def fail(
        self, offset: int, message: str, expected: str | None = None, hint: str = _HINT
    ) -> NoReturn:
        """Raise ModelError for the byte at `offset`."""
        raise ModelError(
            message,
            where=f"{self.source}, byte {offset:#x}",
            expected=expected,
            hints=(hint,) if hint else (),
        )

    def span(self, offset: int, size: int, what: str, place: int) -> Span:
        """A range that the word at `place` states. Raises ModelError outside the file."""
        if offset < 0 or size < 0 or offset + size > len(self.data):
            self.fail(
                place,
                f"the {what} lies at bytes {offset:#x} to {offset + size:#x}",
                f"a range inside the file's {len(self.data)} bytes",
            )
        return Span(offset, size)

    def u32(self, offset: int, what: str) -> int:
        """The word at `offset`, which holds `what`."""
        return self.words(offset, 1, what)[0]

    def words(self, offset: int, count: int, what: str) -> tuple[int, ...]:
        """`count` words from `offset` on."""
        if offset < 0 or offset + 4 * count > len(self.data):
            self.fail(
                min(max(offset, 0), len(self.data)),
                f"the file ends inside the {what}",
                f"{4 * count} bytes from {offset:#x} on, the file has {len(self.data)}",
            )
        return struct.unpack_from(f"<{count}I", self.data, offset)

    def bytes_of(self, span: Span) -> bytes:
        """The bytes of a range."""
        return self.data[span.offset : span.offset + span.size]

    def text(self, offset: int, size: int, what: str) -> str:
        """A NUL-padded name; what cannot be printed appears as "?"."""
        if offset + size > len(self.data):
            self.fail(offset, f"the file ends inside the {what}", f"{size} bytes")
        raw = self.data[offset : offset + size].split(b"\0", 1)[0]
        return "".join(chr(c) if 0x20 <= c < 0x7F else "?" for c in raw)

    def records(self, span: Span, size: int, what: str, place: int) -> tuple[int, ...]:
        """Offsets of a table's records.

        Args:
            size: bytes of one record.
            place: where the file states the table's range, for the error.
        """
        if span.size % size:
            self.fail(
                place,
                f"the {what} table has {span.size} bytes",
                f"a multiple of its record size, {size}",
            )
        return tuple(range(span.offset, span.offset + span.size, size))
