"""Containers 1.0.0 to 1.0.20 (the NBG header and parser published with TIM-VX).

A fixed part of fields, some of them since a later version only, states where the
tables lie. Newer versions keep the tables of inputs, outputs and layers where they
were; of those no more is read.
"""

from __future__ import annotations

from dataclasses import replace

from fwgen.model.nbg import tables
from fwgen.model.nbg.container import Container, check_operations
from fwgen.model.nbg.cursor import Cursor, Span
from fwgen.model.nbg.records import NbgTensor

NEWEST = 20
"""The last minor version that the published parser reads."""

_TABLES = (
    "input",
    "output",
    "layer",
    "operation",
    "LCD table",
    "LCD",
    "NN descriptor",
    "TP descriptor",
    "shader operation",
    "patch",
    "layer parameter",
    "software operation",
)
_SINCE_12 = ("hardware initialisation", "ICD table", "ICD")
_SINCE_14 = ("PPU parameter",)


def _header(
    cursor: Cursor, minor: int
) -> tuple[int, list[int], dict[str, tuple[Span, int]], list[int]]:
    """Feature byte, counts, tables with the place that states them, and memory words."""
    counts = list(cursor.words(76, 4, "counts"))
    at, feature = 92, 0
    if minor >= 3:
        feature = cursor.u32(at, "features")
        at += 256
    memory = list(cursor.words(at, 5, "memory sizes"))
    at += 20
    if minor >= 8:
        memory += cursor.words(at, 2, "VIP SRAM")
        at += 8
    names = _TABLES + (_SINCE_12 if minor >= 12 else ()) + (_SINCE_14 if minor >= 14 else ())
    spans = {}
    for name in names:
        offset, size = cursor.words(at, 2, f"range of the {name} table")
        # Files state any offset for a table that is empty.
        span = cursor.span(offset, size, name, at) if size else Span(0, 0)
        spans[name] = (span, at)
        at += 8
    return feature, counts, spans, memory


def _tensors(
    cursor: Cursor, span: Span, place: int, direction: str, minor: int
) -> tuple[NbgTensor, ...]:
    dims = 6 if minor >= 11 else 4
    name = 64 if minor >= 4 else 0
    size = 4 + 4 * dims + 24 + name
    return tables.unique(
        tables.tensor(cursor, offset, index, direction, dims=dims, shared=False, name_size=name)
        for index, offset in enumerate(cursor.records(span, size, direction, place))
    )


def read(cursor: Cursor, minor: int) -> Container:
    """Read a file whose magic and version are known. Raises ModelError."""
    feature, counts, spans, memory = _header(cursor, minor)
    layer_size = 76 if minor >= 8 else 72
    container = Container(
        cursor,
        (1, 0, minor),
        cursor.u32(8, "target"),
        cursor.text(12, 64, "name of the network"),
        _tensors(cursor, *spans["input"], "input", minor),
        _tensors(cursor, *spans["output"], "output", minor),
        tables.layers(cursor, spans["layer"][0], layer_size, spans["layer"][1]),
    )
    _counts(cursor, 76, counts[0], len(container.layers), "layers")
    _counts(cursor, 84, counts[2], len(container.inputs), "inputs")
    _counts(cursor, 88, counts[3], len(container.outputs), "outputs")
    if minor > NEWEST:
        return replace(
            container,
            refusal=f"container 1.0.{minor} is newer than 1.0.{NEWEST}, the last one whose "
            "operation tables are published",
        )
    if feature >> 2 & 3 > 1:
        cursor.fail(92, f"NN descriptors have the size {feature >> 2 & 3}", "0 (128) or 1 (192)")
    nn_bytes = 192 if feature >> 2 & 3 else 128
    lcd = tables.pairs(cursor, *_first(spans, "LCD table", "LCD"), "LCD", spans["LCD table"][1])
    shaders = spans["shader operation"][0]
    container = replace(
        container,
        operations=tables.operations(
            cursor, spans["operation"][0], 24, len(container.layers), spans["operation"][1]
        ),
        nn=_descriptors(cursor, spans, "NN descriptor", nn_bytes),
        tp=_descriptors(cursor, spans, "TP descriptor", 128),
        shaders=len(
            cursor.records(
                shaders, 8 if minor >= 14 else 4, "shader operation", spans["shader operation"][1]
            )
        ),
        patches=tables.patches(cursor, *spans["patch"]),
        states=lcd,
        coefficients=lcd,
        coefficient_block=spans["LCD"][0],
        pool_size=memory[0],
        pool_alignment=max(64, memory[1]),
        axi_sram=memory[4],
        vip_sram=memory[6] if len(memory) > 6 else 0,
    )
    _counts(cursor, 80, counts[1], len(container.operations), "operations")
    alignment = container.pool_alignment
    if alignment & (alignment - 1) or alignment > 1 << 16:
        cursor.fail(
            348 if minor >= 3 else 96, f"the pool's alignment is {alignment}", "a power of two"
        )
    return check_operations(container)


def _first(spans: dict[str, tuple[Span, int]], table: str, data: str) -> tuple[Span, Span]:
    return spans[table][0], spans[data][0]


def _descriptors(
    cursor: Cursor, spans: dict[str, tuple[Span, int]], name: str, size: int
) -> tuple[Span, ...]:
    span, place = spans[name]
    return tables.descriptors(cursor, span, size, name, place)


def _counts(cursor: Cursor, place: int, stated: int, found: int, what: str) -> None:
    if stated != found:
        cursor.fail(place, f"the file states {stated} {what}, its table has {found}", str(found))
