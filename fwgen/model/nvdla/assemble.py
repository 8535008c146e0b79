"""From operations to a loadable: dependency graph, lists, blobs (NVDLA loadable format).

One task for the accelerator. Positions in its address list: 0 network
descriptor, 1 dependency graph, 2 operations, 3 surfaces, 4 look-up tables,
5 weights, 6 activations, 7... bound tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fwgen.model.nvdla.descriptors import (
    LUT_SIZE,
    OPERATION_SIZE,
    SURFACE_SIZE,
    CommonOp,
    Edge,
    Event,
    Network,
    OpDesc,
    OpType,
    Surface,
)
from fwgen.model.nvdla.loadable import (
    AddressEntry,
    Blob,
    EventEntry,
    Interface,
    Loadable,
    MemoryEntry,
    MemoryFlags,
    SubmitEntry,
    TaskEntry,
    TensorDesc,
)
from fwgen.model.nvdla.records import encode

MINOR = 12
INTERFACE_VERSION = (0, MINOR, 3)
LOADABLE_VERSION = (0, 7, 0)
ALIGNMENT = 4096
_NO_EDGE = Edge(-1, Event.OP_COMPLETED, 0)


@dataclass(frozen=True, slots=True)
class Piece:
    """One operation before it has its place in the graph.

    Attributes:
        parent: operation that feeds it on the fly, -1 for none.
        needs: operations whose output it reads from memory.
    """

    kind: OpType
    op: OpDesc
    surface: Surface
    parent: int
    needs: tuple[int, ...]


def graph(pieces: Sequence[Piece]) -> tuple[list[CommonOp], tuple[int, ...]]:
    """Nodes of the dependency graph and the first operation of each unit.

    An operation has one outgoing edge for each unit. Where a second one would be
    needed, the queue of the unit already keeps the order.
    """
    consumers = [[_NO_EDGE] * len(OpType) for _ in pieces]
    parents = [_NO_EDGE] * len(pieces)
    heads = [-1] * len(OpType)
    last: dict[OpType, int] = {}
    for index, piece in enumerate(pieces):
        if piece.kind in last:
            consumers[last[piece.kind]][piece.kind] = Edge(index, Event.OP_PROGRAMMED, 0)
        else:
            heads[piece.kind] = index
        last[piece.kind] = index
    for index, piece in enumerate(pieces):
        if piece.parent >= 0:
            consumers[piece.parent][piece.kind] = Edge(index, Event.OP_PROGRAMMED, 0)
            parents[index] = Edge(piece.parent, Event.OP_ENABLED, 0)
    for index, piece in enumerate(pieces):
        for need in piece.needs:
            if consumers[need][piece.kind] == _NO_EDGE:
                consumers[need][piece.kind] = Edge(index, Event.OP_COMPLETED, 0)
    counts = [0] * len(pieces)
    for edge in (*(e for row in consumers for e in row), *parents):
        if edge.index >= 0:
            counts[edge.index] += 1
    nodes = [
        CommonOp(i, 0, piece.kind, counts[i], (0, 0, 0), tuple(consumers[i]), parents[i])
        for i, piece in enumerate(pieces)
    ]
    return nodes, tuple(heads)


def _records(values: Sequence[OpDesc | Surface], size: int) -> bytes:
    return b"".join(encode(value, MINOR).ljust(size, b"\0") for value in values)


def assemble(
    pieces: Sequence[Piece],
    weights: Sequence[tuple[int, bytes]],
    weights_size: int,
    activations_size: int,
    bound: Sequence[tuple[str, TensorDesc]],
) -> Loadable:
    """Make the loadable of a network.

    `weights` are (offset, bytes) in the weight memory; `bound` are directions
    ("input", "output") with tensor descriptions, in the order of their addresses.
    """
    nodes, heads = graph(pieces)
    network = Network(2, 3, 1, 4, -1, -1, -1, 0, heads, 1, len(pieces), 0, 7 + len(bound), 0, 0, 0)
    lists = (
        ("addr0", encode(network, MINOR)),
        ("dep_graph", b"".join(encode(node, MINOR) for node in nodes)),
        ("op_list", _records([p.op for p in pieces], OPERATION_SIZE)),
        ("surf_list", _records([p.surface for p in pieces], SURFACE_SIZE)),
        ("lut_list", bytes(LUT_SIZE)),
    )
    blobs = [
        Blob(f"task-0-{name}", len(data), Interface.DLA1, sub + 1, INTERFACE_VERSION, data)
        for sub, (name, data) in enumerate(lists)
    ]
    set_flags = MemoryFlags.ALLOC | MemoryFlags.SET
    memories = [
        MemoryEntry(i, 0, set_flags, blob.size, ALIGNMENT, (blob.name,), (0,), 0, 0)
        for i, blob in enumerate(blobs)
    ]
    names = tuple(f"tb-{n}" for n in range(len(weights)))
    blobs += [
        Blob(name, len(data), Interface.NONE, 0, (0, 0, 0), data)
        for name, (_, data) in zip(names, weights, strict=True)
    ]
    offsets = tuple(offset for offset, _ in weights)
    memories.append(
        MemoryEntry(5, 0, set_flags, max(weights_size, 1), ALIGNMENT, names, offsets, 0, 0)
    )
    memories.append(
        MemoryEntry(6, 0, MemoryFlags.ALLOC, max(activations_size, 1), ALIGNMENT, (), (), 0, 0)
    )
    tensors: list[TensorDesc] = []
    counts = {"input": 0, "output": 0}
    for direction, desc in bound:
        number = len(memories)
        flag = MemoryFlags.INPUT if direction == "input" else MemoryFlags.OUTPUT
        flags = MemoryFlags.ALLOC | flag
        bind, counts[direction] = counts[direction], counts[direction] + 1
        memories.append(
            MemoryEntry(number, 0, flags, desc.size, ALIGNMENT, (), (), bind, len(tensors))
        )
        tensors.append(replace(desc, id=len(tensors), mem_id=number))
    addresses = tuple(AddressEntry(m.id, m.id, 0, m.size) for m in memories)
    task = TaskEntry(0, Interface.DLA1, -1, tuple(range(len(addresses))), (), (0,))
    return Loadable(
        version=LOADABLE_VERSION,
        tasks=(task,),
        memories=tuple(memories),
        addresses=addresses,
        events=(EventEntry(0, 0, 0, 1, 1),),
        blobs=tuple(blobs),
        tensors=tuple(tensors),
        relocs=(),
        submits=(SubmitEntry(0, (0,)),),
    )
