"""Tables whose records are alike in the container versions."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

from fwgen.model.nbg.cursor import Cursor, Span
from fwgen.model.nbg.records import (
    DATA_FORMATS,
    QUANT_FORMATS,
    NbgLayer,
    NbgOperation,
    NbgPatch,
    NbgTensor,
    OperationType,
    PatchSource,
)

TENSOR_LIMIT = 1 << 31
"""Bytes of a tensor; more cannot be addressed."""

NO_LAYER = 0xFFFFFFFF
PATCH_SIZE = 28


def tensor(
    cursor: Cursor,
    offset: int,
    index: int,
    direction: str,
    *,
    dims: int,
    shared: bool,
    name_size: int,
) -> NbgTensor:
    """An input or output record.

    Args:
        dims: extents that the record has room for.
        shared: whether one word holds either scale or fixed position (container 2.0.5).
        name_size: bytes of the name, 0 where records have none.
    """
    what = f"record of {direction} {index}"
    count, *extents = cursor.words(offset, 1 + dims, what)
    at = offset + 4 + 4 * dims
    data_format, data_type, quant_format, *rest = cursor.words(at, 5 if shared else 6, what)
    if not 1 <= count <= dims:
        cursor.fail(offset, f"{direction} {index} has {count} dimensions", f"1 to {dims}")
    if data_format not in DATA_FORMATS:
        cursor.fail(
            at,
            f"{direction} {index} has data format {data_format}",
            "a number from 0 to 12, as in the NBG header",
        )
    if data_type != 0:
        cursor.fail(at + 4, f"{direction} {index} has data type {data_type}", "0, a tensor")
    if quant_format not in QUANT_FORMATS:
        cursor.fail(
            at + 8,
            f"{direction} {index} has quantisation format {quant_format}",
            "0 (none), 1 (dynamic fixed point) or 2 (affine)",
        )
    total = DATA_FORMATS[data_format][1]
    for number, extent in enumerate(extents[:count]):
        total *= extent
        if not 0 < total < TENSOR_LIMIT:
            cursor.fail(
                offset + 4 + 4 * number,
                f"{direction} {index} has {' x '.join(map(str, extents[:count]))} elements",
                f"at least 1 in each direction, less than {TENSOR_LIMIT} bytes in all",
            )
    tail = at + 12
    fixed, scale, zero = 0, 1.0, 0
    if quant_format == 1:
        fixed = _signed(rest[0])
        if not -64 <= fixed <= 64:
            cursor.fail(tail, f"{direction} {index} has fixed position {fixed}", "-64 to 64")
    if quant_format == 2:
        place = tail if shared else tail + 4
        scale, zero = struct.unpack_from("<fi", cursor.data, place)
        if not (math.isfinite(scale) and scale > 0):
            cursor.fail(place, f"{direction} {index} has scale {scale}", "a positive number")
        if not -(1 << 16) <= zero <= 1 << 16:
            cursor.fail(
                place + 4, f"{direction} {index} has zero point {zero}", "a value of its type"
            )
    name_at = tail + (8 if shared else 12)
    name = cursor.text(name_at, name_size, f"name of {direction} {index}") if name_size else ""
    return NbgTensor(
        index,
        direction,
        name or f"{direction}{index}",
        tuple(extents[:count]),
        data_format,
        quant_format,
        fixed,
        scale,
        zero,
        offset,
    )


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def unique(tensors: Iterable[NbgTensor]) -> tuple[NbgTensor, ...]:
    """The tensors; names that come again get the tensor's number behind them."""
    import dataclasses

    seen: set[str] = set()
    found = []
    for entry in tensors:
        name = entry.name
        while name in seen:
            name = f"{name}_{entry.index}"
        seen.add(name)
        found.append(dataclasses.replace(entry, name=name))
    return tuple(found)


def layers(cursor: Cursor, span: Span, size: int, place: int) -> tuple[NbgLayer, ...]:
    """The layer table; records have `size` bytes."""
    found = []
    for offset in cursor.records(span, size, "layer", place):
        number, count = cursor.words(offset + 64, 2, "layer table")
        found.append(NbgLayer(cursor.text(offset, 64, "layer's name"), number, count))
    return tuple(found)


def operations(
    cursor: Cursor, span: Span, size: int, layer_count: int, place: int
) -> tuple[NbgOperation, ...]:
    """The operation table; the first six words of each record count."""
    found = []
    types = {int(t) for t in OperationType}
    for index, offset in enumerate(cursor.records(span, size, "operation", place)):
        kind, descriptor, layer, state, first, count = cursor.words(offset, 6, "operation table")
        if kind not in types:
            cursor.fail(
                offset,
                f"operation {index} has type {kind:#x}",
                "1 (shader), 2 (NN), 3 (TP), 0xffff (init) or 0xfffe (end)",
            )
        real = kind in (OperationType.SH, OperationType.NN, OperationType.TP)
        if real and layer >= layer_count:
            cursor.fail(
                offset + 8,
                f"operation {index} belongs to layer {layer}",
                f"an index below {layer_count}",
            )
        found.append(
            NbgOperation(
                index,
                OperationType(kind),
                descriptor,
                layer if real else None,
                state,
                range(first, first + count),
                offset,
            )
        )
    return tuple(found)


def patches(cursor: Cursor, span: Span, place: int) -> tuple[NbgPatch, ...]:
    """The patch table."""
    found = []
    for offset in cursor.records(span, PATCH_SIZE, "patch", place):
        kind, at, source, index, base, transformed, _ = cursor.words(offset, 7, "patch table")
        if source > max(PatchSource):
            cursor.fail(offset + 8, f"a patch has source {source}", f"0 to {max(PatchSource):d}")
        if transformed > 1:
            cursor.fail(offset + 20, f"a patch is marked {transformed}", "0 or 1")
        found.append(
            NbgPatch(kind, at, PatchSource(source), _signed(index), base, bool(transformed), offset)
        )
    return tuple(found)


def pairs(cursor: Cursor, table: Span, data: Span, what: str, place: int) -> tuple[Span, ...]:
    """A table of (offset, size) into a block of data, as ranges of the file."""
    found = []
    for number, offset in enumerate(cursor.records(table, 8, what, place)):
        start, size = cursor.words(offset, 2, f"{what} table")
        if start + size > data.size:
            cursor.fail(
                offset,
                f"entry {number} of the {what} table ends at byte {start + size:#x} of its block",
                f"at most {data.size:#x}",
            )
        found.append(Span(data.offset + start, size))
    return tuple(found)


def descriptors(cursor: Cursor, span: Span, size: int, what: str, place: int) -> tuple[Span, ...]:
    """A table of job descriptors."""
    return tuple(Span(o, size) for o in cursor.records(span, size, what, place))
