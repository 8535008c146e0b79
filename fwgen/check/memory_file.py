"""Memory files of register traces (.dat, .mem) and the numbers in them.

A line is `{offset:0x20, size:4, payload:0x00 0x3f 0x7e 0xbd},`, the outer
braces stand on lines of their own, `#` starts a comment. A payload shorter than
its size is filled with zeros. Some published files quote the keys and say
`value` for `payload`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fwgen.errors import ModelError

Bytes = npt.NDArray[np.uint8]

# Largest range one memory command may touch; above it the file is damaged.
MAX_EXTENT = 1 << 30


class TraceError(ModelError):
    """A .cfg or .dat file is not what the grammar allows."""


@dataclass(frozen=True, slots=True)
class DatImage:
    """A .dat file: chunks of (offset, bytes), in file order."""

    name: str
    chunks: tuple[tuple[int, bytes], ...]

    @property
    def size(self) -> int:
        """Bytes from offset 0 to the end of the last chunk."""
        return max((offset + len(data) for offset, data in self.chunks), default=0)

    def store(self, target: Bytes) -> None:
        """Copy the chunks into `target`, at least `size` bytes; later chunks win."""
        for offset, data in self.chunks:
            target[offset : offset + len(data)] = np.frombuffer(data, dtype=np.uint8)


def plain_number(text: str) -> int:
    """Number of a .cfg file: 0x... or decimal.

    Raises:
        ValueError: neither.
    """
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
        return int(text, 16)
    if re.fullmatch(r"[0-9]+", text):
        return int(text, 10)
    raise ValueError(text)


def _c_number(text: str) -> int:
    """Number of a .dat file: 0x... hexadecimal, leading 0 octal, else decimal."""
    if re.fullmatch(r"0[0-7]+", text):
        return int(text, 8)
    return plain_number(text)


def read_dat(path: Path) -> DatImage:
    """Read a memory file.

    Raises:
        TraceError: the file is unreadable or not of the format.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"cannot read memory file: {error}", where=str(path)) from None
    chunks = []
    for number, raw in enumerate(text.splitlines(), 1):
        body = raw.split("#", 1)[0].strip().strip("{} \t,").strip()
        if body:
            chunks.append(_dat_line(body, f"{path}:{number}"))
    return DatImage(path.name, tuple(chunks))


def _dat_line(body: str, where: str) -> tuple[int, bytes]:
    expected = "{offset:N, size:N, payload:BYTE BYTE ...}"
    fields = body.split(",")
    if len(fields) != 3:
        raise TraceError(f"{len(fields)} fields instead of 3", where=where, expected=expected)
    values = []
    for text, names in zip(fields, (("offset",), ("size",), ("payload", "value")), strict=True):
        key, colon, value = text.partition(":")
        if not colon or key.strip().strip("'\"") not in names:
            raise TraceError(
                f'no "{names[0]}:" in "{text.strip()[:40]}"', where=where, expected=expected
            )
        values.append(value.strip())
    try:
        offset, size = _c_number(values[0]), _c_number(values[1])
        payload = [_c_number(word) for word in values[2].split()]
    except ValueError as error:
        raise TraceError(f'"{error}" is not a number', where=where, expected=expected) from None
    if offset + size > MAX_EXTENT:
        raise TraceError(
            f"offset 0x{offset:x} and size 0x{size:x} are too large",
            where=where,
            expected=f"at most 0x{MAX_EXTENT:x}",
        )
    if len(payload) > size:
        raise TraceError(f"{len(payload)} bytes of payload for size {size}", where=where)
    if any(byte > 0xFF for byte in payload):
        raise TraceError("a payload number is above 0xff", where=where)
    return offset, bytes(payload) + bytes(size - len(payload))
