"""Writes a graph again as a container 1.x, as TIM-VX's published header lays it out.

The reference data has container 1.0.9 only. Other minor versions have other fields and
records; what the graph does stays the same, so that the same outputs are right.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

from fwgen.model.nbg.container import Container
from fwgen.model.nbg.cursor import Span
from fwgen.model.nbg.records import NbgOperation, NbgTensor, OperationType

VIP_SRAM = 8  # patch source
_ADDRESS_WORDS = {  # word of a descriptor -> whether it counts in units of 64 bytes
    OperationType.NN: {6: False, 7: False, 19: True, 21: True},
    OperationType.TP: {10: False, 13: False, 26: True, 28: True},
}
_NO_RING = {19: 18, 21: 20, 26: 25, 28: 27}  # end of a ring -> its size
_NAMES = (
    "input", "output", "layer", "operation", "lcd_table", "lcd", "nn", "tp", "sh", "patch",
    "layer_param", "sw",
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """What files of the same version differ in.

    Attributes:
        wide: NN descriptors of 192 bytes instead of 128.
        in_place: offsets stand in the patched word, not in the patch.
        literal: addresses in the VIP's SRAM are numbers without a patch.
        end: whether an end operation comes last.
        spare: unused all-zero descriptors and coefficient entries at the end.
        seed: order of the tables in the file; None for that of the header.
    """

    wide: bool = False
    in_place: bool = True
    literal: bool = False
    end: bool = True
    spare: int = 0
    seed: int | None = None


def _tensor(tensor: NbgTensor, minor: int) -> bytes:
    room = 6 if minor >= 11 else 4
    dims = [*tensor.dims, *[1] * (room - len(tensor.dims))]
    rubbish = 0x7FC00001  # of fields that the quantisation format does not select
    fixed = tensor.fixed_position if tensor.quant_format == 1 else rubbish
    out = struct.pack(f"<I{room}I", len(tensor.dims), *dims)
    out += struct.pack("<III", tensor.data_format, 0, tensor.quant_format)
    if tensor.quant_format == 2:
        out += struct.pack("<Ifi", fixed, tensor.scale, tensor.zero_point)
    else:
        out += struct.pack("<III", fixed & 0xFFFFFFFF, rubbish, rubbish)
    return out + (tensor.name.encode().ljust(64, b"\0") if minor >= 4 else b"")


class _Writer:
    def __init__(self, container: Container, minor: int, style: Style) -> None:
        self.c, self.minor, self.style = container, minor, style
        self.v7 = container.target in (0x82, 0x88)
        self.patches: list[bytes] = []
        self.lcd = bytearray()
        self.entries: list[tuple[int, int]] = []
        self.nn: list[bytes] = []
        self.tp: list[bytes] = []

    def _entry(self, data: bytes) -> int:
        self.lcd += bytes(-len(self.lcd) % (64 if self.v7 else 256))
        self.entries.append((len(self.lcd), len(data)))
        self.lcd += data
        return len(self.entries) - 1

    def _bytes(self, span: Span) -> bytes:
        return self.c.cursor.bytes_of(span)

    def _patch(self, *words: int) -> None:
        self.patches.append(struct.pack("<7I", *(w & 0xFFFFFFFF for w in words), 0))

    def _job(self, operation: NbgOperation) -> int:
        """Adds descriptor and patches; the descriptor's index."""
        span = self.c.descriptor(operation)
        words = list(struct.unpack("<32I", self._bytes(span)[:128]))
        named = set()
        for patch in self.c.patches_of(operation):
            source, base, at = int(patch.source), patch.base, patch.offset
            if patch.type == 1:
                named.add(at // 4)
                if self.style.in_place:
                    mask = 0x3FFFFFF if patch.transformed else 0xFFFFFFFF
                    old = words[at // 4]
                    words[at // 4] = (old & ~mask) | (old + base) & mask
                    base = 0
            self._patch(patch.type, at, source, patch.index, base, patch.transformed)
        for word, units in _ADDRESS_WORDS[operation.type].items():
            is_address = word not in _NO_RING or words[_NO_RING[word]] & 0x3FFFFFF
            if word in named or not is_address or self.style.literal:
                continue
            mask = 0x3FFFFFF if units else 0xFFFFFFFF
            address = (words[word] & mask) << 6 if units else words[word]
            offset = address - 0x400000
            words[word] = words[word] & ~mask | (offset & mask if self.style.in_place else 0)
            self._patch(1, 4 * word, VIP_SRAM, 0, 0 if self.style.in_place else offset, units)
        table = self.nn if operation.type is OperationType.NN else self.tp
        size = 192 if self.style.wide and table is self.nn else 128
        table.append(struct.pack("<32I", *words).ljust(size, b"\0"))
        return len(table) - 1

    def _init(self, operation: NbgOperation) -> bytes:
        words = list(struct.unpack(f"<{self.c.states[operation.state].size // 4}I",
                                   self._bytes(self.c.states[operation.state])))  # fmt: skip
        for at in range(0, len(words), 2):
            if words[at] == 0x08010E4E and not self.style.literal:
                words[at + 1] = 0
                self._patch(1, 4 * at + 4, VIP_SRAM, 0, 0, 0)
        return struct.pack(f"<{len(words)}I", *words)

    def write(self) -> bytes:
        c, style = self.c, self.style
        for span in c.coefficients:
            self._entry(self._bytes(span))
        for _ in range(style.spare):
            self._entry(bytes(64))
        operations = []
        for operation in c.operations:
            first = len(self.patches)
            if operation.type is OperationType.INIT:
                index, state = 0, self._init(operation)
            else:
                index, state = self._job(operation), self._bytes(c.states[operation.state])
            layer = 0 if operation.layer is None else operation.layer
            operations.append((
                int(operation.type), index, layer, self._entry(state), first,
                len(self.patches) - first,
            ))  # fmt: skip
        if style.end:
            words = (0x08010E03, 0xC23, 0x08010E03, 0xC23, 0x08010594, 1)
            operations.append((0xFFFE, 0, 0, self._entry(struct.pack("<6I", *words)), 0, 0))
        self.lcd += bytes(-len(self.lcd) % 64)
        unused = bytes(128) * style.spare
        layers = b"".join(
            layer.name.encode().ljust(64, b"\0")
            + struct.pack("<3I", layer.id, layer.operation_count, 7)[: 12 if self.minor >= 8 else 8]
            for layer in c.layers
        )
        tables = {
            "input": b"".join(_tensor(t, self.minor) for t in c.inputs),
            "output": b"".join(_tensor(t, self.minor) for t in c.outputs),
            "layer": layers,
            "operation": b"".join(struct.pack("<6I", *o) for o in operations),
            "lcd_table": b"".join(struct.pack("<2I", *e) for e in self.entries),
            "lcd": bytes(self.lcd),
            "nn": b"".join(self.nn) + bytes(192 if style.wide else 128) * style.spare,
            "tp": b"".join(self.tp) + unused,
            "sh": b"",
            "patch": b"".join(self.patches),
            "layer_param": bytes(76),
            "sw": b"",
        }
        return self._file(tables, len(operations))

    def _file(self, tables: dict[str, bytes], operations: int) -> bytes:
        c, minor, style = self.c, self.minor, self.style
        head = b"VPMN" + struct.pack("<II", 0x00010000 | minor, c.target)
        head += b"network".ljust(64, b"\0")
        head += struct.pack("<4I", len(c.layers), operations, len(c.inputs), len(c.outputs))
        if minor >= 3:
            head += struct.pack("<I", 3 | 4 * style.wide).ljust(256, b"\0")
        head += struct.pack("<3I", c.pool_size, 64, 0) + struct.pack("<2I", 0, 0)
        if minor >= 8:
            head += struct.pack("<2I", 0, 0x40000)
        names = list(_NAMES) + ["hw_init", "icd_table", "icd"] * (minor >= 12)
        names += ["ppu"] * (minor >= 14)
        at = len(head) + 8 * len(names) + (8 if minor >= 15 else 0)
        order = list(names)
        if style.seed is not None:
            random.Random(style.seed).shuffle(order)
        body = bytearray()
        places = {}
        for name in order:
            data = tables.get(name, b"")
            body += bytes(-(at + len(body)) % 64)
            places[name] = (at + len(body), len(data))
            body += data
        head += b"".join(struct.pack("<2I", *places[name]) for name in names)
        return head + bytes(at - len(head)) + bytes(body)


def repack(container: Container, minor: int, style: Style = Style()) -> bytes:  # noqa: B008
    """The graph of a container 2.0.5 as a file of container 1.0.`minor`."""
    return _Writer(container, minor, style).write()
