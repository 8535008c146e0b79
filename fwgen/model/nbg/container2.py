"""Container 2.0.5: sections with checksums (from reference data; no header is published).

Exactly this version is read: what others differ in is not known.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from fwgen.model.nbg import tables
from fwgen.model.nbg.container import Container, check_operations
from fwgen.model.nbg.cursor import Cursor, Span
from fwgen.model.nbg.records import NbgTensor

_TABLE_OF_TABLES = 0x30
_RECORD = 44

_INPUTS, _OUTPUTS, _LAYERS, _OPERATIONS = 0x01, 0x02, 0x03, 0x04
_NN, _TP, _SH, _PATCHES = 0x07, 0x08, 0x09, 0x0A
_STATE_DATA, _STATE_TABLE = 0x15, 0x1B
_COEFFICIENT_TABLE, _COEFFICIENTS = 0x17, 0x18
_NETWORK, _POOL, _VIP_SRAM, _CHECKSUMS = 0x23, 0x25, 0x26, 0x28
_DESCRIPTOR = 192

VIP_SRAM_BASE = 0x400000
"""Where files for V8 engines expect the NPU's own SRAM."""


@dataclass(frozen=True, slots=True)
class _Section:
    span: Span
    base: int
    place: int


def _check_file(cursor: Cursor) -> None:
    size, high = cursor.words(0x10, 2, "size of the file")
    if size | high << 32 != len(cursor.data):
        cursor.fail(
            0x10,
            f"the file states a size of {size | high << 32} bytes",
            f"{len(cursor.data)}, the size it has",
        )
    stated = cursor.u32(0xC, "checksum")
    checksum = zlib.crc32(cursor.data[:0xC])
    checksum = zlib.crc32(b"\0\0\0\0", checksum)
    checksum = zlib.crc32(memoryview(cursor.data)[0x10:], checksum)
    if checksum != stated:
        cursor.fail(
            0xC,
            f"the file's CRC-32 is {checksum:#010x}",
            f"{stated:#010x}, as the file states",
        )


def _sections(cursor: Cursor) -> dict[int, _Section]:
    at, size, count = cursor.words(0x18, 3, "table of tables")
    if (at, size, count) != (_TABLE_OF_TABLES, 12, 1):
        cursor.fail(0x18, "another table of tables than 2.0.5 has", "12 bytes at 0x30")
    start, record, number = cursor.words(_TABLE_OF_TABLES, 3, "section table")
    if record != _RECORD:
        cursor.fail(_TABLE_OF_TABLES + 4, f"a section record has {record} bytes", str(_RECORD))
    cursor.span(start, record * number, "section table", _TABLE_OF_TABLES)
    found: dict[int, _Section] = {}
    for offset in range(start, start + record * number, record):
        words = cursor.words(offset, 11, "section table")
        section = words[0]
        if section in found:
            cursor.fail(offset, f"section {section:#x} appears twice", "one of each kind")
        span = cursor.span(
            words[1] | words[2] << 32,
            words[3] | words[4] << 32,
            f"section {section:#x}",
            offset + 4,
        )
        found[section] = _Section(span, words[5] | words[6] << 32, offset)
    return found


def _check_sums(cursor: Cursor, sections: dict[int, _Section]) -> None:
    table = sections.get(_CHECKSUMS)
    if table is None:
        return
    for offset in cursor.records(table.span, 8, "checksum", table.place):
        section, stated = cursor.words(offset, 2, "checksum table")
        if section not in sections:
            cursor.fail(offset, f"a checksum for section {section:#x}", "a section of the file")
        found = zlib.crc32(cursor.bytes_of(sections[section].span))
        if found != stated:
            cursor.fail(
                offset + 4,
                f"the CRC-32 of section {section:#x} is {found:#010x}",
                f"{stated:#010x}, as the file states",
            )


def read(cursor: Cursor) -> Container:
    """Read a file whose magic and version are known. Raises ModelError."""
    _check_file(cursor)
    sections = _sections(cursor)
    _check_sums(cursor, sections)
    empty = _Section(Span(0, 0), 0, _TABLE_OF_TABLES)

    def part(number: int) -> tuple[Span, int]:
        section = sections.get(number, empty)
        return section.span, section.place

    def tensors(number: int, direction: str) -> tuple[NbgTensor, ...]:
        span, place = part(number)
        return tables.unique(
            tables.tensor(cursor, offset, index, direction, dims=6, shared=True, name_size=64)
            for index, offset in enumerate(cursor.records(span, 112, direction, place))
        )

    def word(number: int, what: str) -> int:
        span, place = part(number)
        if not span.size:
            return 0
        if span.size < 4:
            cursor.fail(place, f"the section of the {what} has {span.size} bytes", "4 or more")
        return cursor.u32(span.offset, what)

    layers = tables.layers(cursor, part(_LAYERS)[0], 76, part(_LAYERS)[1])
    vip_sram = word(_VIP_SRAM, "VIP SRAM")
    base = sections.get(_VIP_SRAM, empty).base
    if base not in (0, VIP_SRAM_BASE):  # 0: V7 engines, which keep no tensor there
        cursor.fail(
            sections[_VIP_SRAM].place + 20,
            f"the VIP SRAM lies at {base:#x}",
            f"{VIP_SRAM_BASE:#x}, or 0",
        )
    container = Container(
        cursor,
        (2, 0, 5),
        cursor.u32(8, "target"),
        "",
        tensors(_INPUTS, "input"),
        tensors(_OUTPUTS, "output"),
        layers,
        tables.operations(cursor, part(_OPERATIONS)[0], 32, len(layers), part(_OPERATIONS)[1]),
        tables.descriptors(cursor, part(_NN)[0], _DESCRIPTOR, "NN descriptor", part(_NN)[1]),
        tables.descriptors(cursor, part(_TP)[0], _DESCRIPTOR, "TP descriptor", part(_TP)[1]),
        len(cursor.records(part(_SH)[0], 8, "shader operation", part(_SH)[1])),
        tables.patches(cursor, *part(_PATCHES)),
        tables.pairs(
            cursor, part(_STATE_TABLE)[0], part(_STATE_DATA)[0], "state", part(_STATE_TABLE)[1]
        ),
        tables.pairs(
            cursor,
            part(_COEFFICIENT_TABLE)[0],
            part(_COEFFICIENTS)[0],
            "coefficient",
            part(_COEFFICIENT_TABLE)[1],
        ),
        part(_COEFFICIENTS)[0],
        pool_size=word(_POOL, "memory pool"),
        vip_sram=vip_sram,
    )
    return check_operations(_named(container, sections))


def _named(container: Container, sections: dict[int, _Section]) -> Container:
    """The container with its network's name; checks the counts beside it."""
    from dataclasses import replace

    section = sections.get(_NETWORK)
    if section is None:
        return container
    cursor, at = container.cursor, section.span.offset
    if section.span.size < 76:
        cursor.fail(section.place, f"the network has {section.span.size} bytes", "76 or more")
    stated = cursor.words(at + 64, 3, "network")
    found = (len(container.inputs), len(container.outputs), len(container.layers))
    for number, (left, right) in enumerate(zip(stated, found, strict=True)):
        if left != right:
            what = ("inputs", "outputs", "layers")[number]
            cursor.fail(
                at + 64 + 4 * number,
                f"the file states {left} {what}, its table has {right}",
                str(right),
            )
    return replace(container, network=cursor.text(at, 64, "name of the network"))
