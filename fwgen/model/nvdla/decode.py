"""Decoding the tasks of a validated loadable (NVDLA kernel firmware interface).

A task's first address leads to its network descriptor, and the indices in
there to everything else. The dependency graph is checked here, because a graph
that contradicts itself would make the firmware wait for ever.
"""

from __future__ import annotations

from fwgen.model.nvdla.descriptors import (
    EMU_BUFFER_SIZE,
    EMU_NETWORK_SIZE,
    EMU_OPERATION_SIZE,
    LUT_SIZE,
    OPERATION_RECORDS,
    OPERATION_SIZE,
    SURFACE_RECORDS,
    SURFACE_SIZE,
    CommonOp,
    EmuBuffer,
    EmuNetwork,
    EmuOp,
    EmuOpType,
    Event,
    Lut,
    Network,
    OpType,
)
from fwgen.model.nvdla.loadable import Loadable, MemoryFlags, TaskEntry, Version
from fwgen.model.nvdla.records import decode, shape
from fwgen.model.nvdla.tasks import Address, DlaOperation, DlaTask, EmuOperation, EmuTask
from fwgen.model.nvdla.validate import NEW_MINOR, blobs_by_name, fail

UNIT_COUNT = len(OpType)
COMMON_SIZE = 36


class _Descriptors:
    """Reads the memories that a task's address list leads to."""

    def __init__(self, loadable: Loadable, task: TaskEntry, source: str) -> None:
        self.loadable = loadable
        self.source = source
        self.place = f"task {task.id}"
        self.addresses = tuple(
            Address(loadable.addresses[i].mem_id, loadable.addresses[i].offset)
            for i in task.address_list
        )
        self._blobs = blobs_by_name(loadable)

    def read(self, index: int, size: int, what: str) -> bytes:
        """The first `size` bytes behind an address index; all must come from blobs."""
        if not 0 <= index < len(self.addresses):
            fail(
                self.source,
                self.place,
                f"{what} has address index {index}",
                f"0 to {len(self.addresses) - 1}",
            )
        address = self.addresses[index]
        if address.offset:
            fail(self.source, self.place, f"{what} lies at offset {address.offset}", "offset 0")
        memory = self.loadable.memories[address.memory]
        if not memory.flags & MemoryFlags.SET or memory.flags & (
            MemoryFlags.INPUT | MemoryFlags.OUTPUT
        ):
            fail(
                self.source, self.place, f"{what} lies in memory {memory.id}, which has no contents"
            )
        if size > memory.size:
            fail(
                self.source,
                self.place,
                f"{what} needs {size} bytes, memory {memory.id} has {memory.size}",
            )
        pieces = [
            (offset, self._blobs[name].data)
            for name, offset in zip(memory.contents, memory.offsets, strict=True)
            if name and offset < size
        ]
        filled = 0
        for offset, data in sorted(pieces, key=lambda piece: piece[0]):
            if offset <= filled:
                filled = max(filled, offset + len(data))
        if filled < size:
            fail(
                self.source,
                self.place,
                f"{what} needs {size} bytes, the blobs of memory {memory.id} give {filled}",
            )
        out = bytearray(size)
        for offset, data in pieces:
            part = data[: size - offset]
            out[offset : offset + len(part)] = part
        return bytes(out)


def _check_graph(d: _Descriptors, network: Network, nodes: list[CommonOp]) -> None:
    """Edges, dependency counts and unit queues must fit together."""
    incoming = [0] * len(nodes)
    for index, node in enumerate(nodes):
        place = f"{d.place}, operation {index}"
        if node.index != index:
            fail(d.source, place, f"its index is {node.index}", str(index))
        if node.op_type >= UNIT_COUNT:
            fail(d.source, place, f"unknown operation type {node.op_type}", "0 to 5")
        if node.roi_index != 0:
            fail(d.source, place, "it belongs to a region of interest", "one region")
        edges = [(unit, edge) for unit, edge in enumerate(node.consumers)]
        if node.fused_parent.index != -1:
            edges.append((node.op_type - 1, node.fused_parent))
        for unit, edge in edges:
            if edge.index == -1:
                continue
            if not 0 <= edge.index < len(nodes) or edge.index == index:
                fail(d.source, place, f"it has an edge to operation {edge.index}")
            if nodes[edge.index].op_type != unit:
                fail(d.source, place, f"its edge to operation {edge.index} names the wrong unit")
            if edge.event not in tuple(Event):
                fail(d.source, place, f"its edge has the unknown event {edge.event}", "1 to 5")
            incoming[edge.index] += 1
        if node.fused_parent.index != -1 and node.op_type not in (OpType.SDP, OpType.PDP):
            fail(d.source, place, f"{OpType(node.op_type).name} takes no data on the fly")
    for index, node in enumerate(nodes):
        if node.dependency_count != incoming[index]:
            fail(
                d.source,
                f"{d.place}, operation {index}",
                f"it counts {node.dependency_count} dependencies",
                f"{incoming[index]}, the number of edges that lead to it",
            )
    seen = 0
    for unit, head in enumerate(network.op_head):
        following = head
        for _ in range(len(nodes) + 1):
            if following == -1:
                break
            if not 0 <= following < len(nodes) or nodes[following].op_type != unit:
                fail(d.source, d.place, f"the queue of {OpType(unit).name} leads to {following}")
            seen += 1
            following = nodes[following].consumers[unit].index
        else:
            fail(d.source, d.place, f"the queue of {OpType(unit).name} has no end")
    if seen != len(nodes):
        fail(d.source, d.place, f"the queues hold {seen} of {len(nodes)} operations")


def decode_dla_task(loadable: Loadable, task: TaskEntry, version: Version, source: str) -> DlaTask:
    """Decode a network for the accelerator. Raises ModelError."""
    minor = version[1]
    d = _Descriptors(loadable, task, source)
    network = decode(
        Network, minor, d.read(0, shape(Network, minor).size, "the network descriptor")
    )
    if network.num_rois > 1 or network.dynamic_roi:
        fail(source, d.place, "it uses regions of interest", "one fixed region")
    if network.num_addresses > len(d.addresses):
        fail(
            source,
            d.place,
            f"the network counts {network.num_addresses} addresses",
            f"at most {len(d.addresses)}",
        )
    count = network.num_operations
    if count == 0:
        return DlaTask(task.id, d.addresses, network, (), ())
    graph = d.read(network.dependency_graph_index, COMMON_SIZE * count, "the dependency graph")
    operations = d.read(
        network.operation_desc_index, OPERATION_SIZE * count, "the list of operations"
    )
    surfaces = d.read(network.surface_desc_index, SURFACE_SIZE * count, "the list of surfaces")
    nodes = [decode(CommonOp, minor, graph, COMMON_SIZE * i) for i in range(count)]
    _check_graph(d, network, nodes)
    luts: tuple[Lut, ...] = ()
    if network.num_luts:
        table = d.read(network.lut_data_index, LUT_SIZE * network.num_luts, "the list of tables")
        luts = tuple(decode(Lut, minor, table, LUT_SIZE * i) for i in range(network.num_luts))
    return DlaTask(
        task.id,
        d.addresses,
        network,
        tuple(
            DlaOperation(
                i,
                node,
                decode(OPERATION_RECORDS[node.op_type], minor, operations, OPERATION_SIZE * i),
                decode(SURFACE_RECORDS[node.op_type], minor, surfaces, SURFACE_SIZE * i),
            )
            for i, node in enumerate(nodes)
        ),
        luts,
    )


def decode_emu_task(loadable: Loadable, task: TaskEntry, version: Version, source: str) -> EmuTask:
    """Decode a list of CPU operators. Raises ModelError."""
    minor = version[1]
    d = _Descriptors(loadable, task, source)
    if minor < NEW_MINOR:
        fail(
            source,
            d.place,
            f"CPU tasks of interface 0.{minor} carry no scale factors and are not supported",
            f"interface 0.{NEW_MINOR}",
        )
    network = decode(EmuNetwork, minor, d.read(0, EMU_NETWORK_SIZE, "the CPU task's head"))
    count = network.num_operations
    if count == 0:
        return EmuTask(task.id, d.addresses, ())
    operations = d.read(
        network.operation_desc_index, EMU_OPERATION_SIZE * count, "the list of CPU operators"
    )
    buffers = d.read(
        network.buffer_desc_index, 2 * EMU_BUFFER_SIZE * count, "the list of CPU buffers"
    )
    decoded = []
    for i in range(count):
        op = decode(EmuOp, minor, operations, EMU_OPERATION_SIZE * i)
        if op.op_type not in tuple(EmuOpType):
            fail(source, f"{d.place}, operator {i}", f"unknown CPU operator {op.op_type}", "0 or 1")
        decoded.append(
            EmuOperation(
                i,
                op,
                decode(EmuBuffer, minor, buffers, 2 * EMU_BUFFER_SIZE * i),
                decode(EmuBuffer, minor, buffers, 2 * EMU_BUFFER_SIZE * i + EMU_BUFFER_SIZE),
            )
        )
    return EmuTask(task.id, d.addresses, tuple(decoded))
