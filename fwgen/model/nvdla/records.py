"""Packed little-endian records described once, by annotated dataclasses.

A record class lists its fields in file order; the annotation of each field says
how it is stored. Sizes, offsets, decoding and encoding all come from that one
table. Records are packed without gaps, as the firmware interface stores them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Stored:
    """How a field is stored.

    Attributes:
        code: struct format character for a scalar, "" for a nested record.
        count: 0 for a single item, else the length of a tuple.
        since: first minor interface version that has the field; it reads 0 before.
    """

    code: str
    count: int = 0
    since: int = 0


U8 = Annotated[int, Stored("B")]
I8 = Annotated[int, Stored("b")]
U16 = Annotated[int, Stored("H")]
I16 = Annotated[int, Stored("h")]
U32 = Annotated[int, Stored("I")]
I32 = Annotated[int, Stored("i")]
U64 = Annotated[int, Stored("Q")]
I64 = Annotated[int, Stored("q")]
F32 = Annotated[float, Stored("f")]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Item:
    """One field of a record in one interface version."""

    name: str
    offset: int
    size: int
    code: str
    count: int
    record: type[Any] | None
    present: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """A record's size and fields in one interface version."""

    size: int
    items: tuple[Item, ...]
    packer: struct.Struct


def shape(record: type[Any], minor: int) -> Shape:
    """Size in bytes and field offsets of a record in interface version 0.minor."""
    key: Any = record
    return _shape(key, minor)


@cache
def _shape(record: Any, minor: int) -> Shape:
    hints = get_type_hints(record, include_extras=True)
    items: list[Item] = []
    codes = "<"
    offset = 0
    for item in fields(record):
        annotation = hints[item.name]
        stored = Stored("")
        kind: Any = annotation
        if get_origin(annotation) is Annotated:
            kind, stored = get_args(annotation)
        if get_origin(kind) is tuple:
            kind = get_args(kind)[0]
        nested = None if stored.code else kind
        present = stored.since <= minor
        repeat = max(stored.count, 1)
        if not present:
            code, size = "", 0
        elif nested is not None:
            inner = shape(nested, minor)
            code = inner.packer.format[1:] * repeat
            size = inner.size * repeat
        else:
            code = stored.code * repeat
            size = struct.calcsize("<" + code)
        items.append(Item(item.name, offset, size, stored.code, stored.count, nested, present))
        codes += code
        offset += size
    return Shape(offset, tuple(items), struct.Struct(codes))


def _take(record: type[Any], minor: int, values: list[Any]) -> Any:
    """Build a record from flat values in reverse order (pop takes the next)."""
    out: list[Any] = []
    for item in shape(record, minor).items:
        if not item.present:
            out.append(0)
        elif item.record is not None:
            if item.count:
                out.append(tuple(_take(item.record, minor, values) for _ in range(item.count)))
            else:
                out.append(_take(item.record, minor, values))
        elif item.count:
            out.append(tuple(values.pop() for _ in range(item.count)))
        else:
            out.append(values.pop())
    return record(*out)


def decode(record: type[R], minor: int, data: bytes, offset: int = 0) -> R:
    """Decode one record. The caller has checked that `data` holds it."""
    values = list(shape(record, minor).packer.unpack_from(data, offset))
    values.reverse()
    result: R = _take(record, minor, values)
    return result


def _flatten(value: Any, minor: int, out: list[Any]) -> None:
    for item in shape(type(value), minor).items:
        content = getattr(value, item.name)
        if not item.present:
            continue
        if item.record is None:
            out.extend(content) if item.count else out.append(content)
        elif item.count:
            for entry in content:
                _flatten(entry, minor, out)
        else:
            _flatten(content, minor, out)


def encode(value: Any, minor: int) -> bytes:
    """Encode one record; the inverse of `decode`."""
    values: list[Any] = []
    _flatten(value, minor, values)
    return shape(type(value), minor).packer.pack(*values)
