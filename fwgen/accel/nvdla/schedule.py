"""The static order of a network's operations (NVDLA kernel firmware, dependency graph).

Operations that feed each other on the fly form a chain and run together; chains
run one after the other. Every edge of the graph between two chains, and the
queue of each unit, is an order that must hold.
"""

from __future__ import annotations

import heapq

from fwgen.accel.nvdla.lower_sdp import needs_rdma
from fwgen.accel.nvdla.registers import OFFSETS
from fwgen.errors import ModelError
from fwgen.model.nvdla.descriptors import CubeType, OpType, PdpSurface, SdpOp, SdpSurface
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask
from fwgen.program.commands import Poll, SelectGroup, Write

Chain = tuple[DlaOperation, ...]
"""Operations that run together, producer first."""

# Number of a unit's pair of status bits in GLB.S_INTR_STATUS; the bits of pair
# n are 2n and 2n + 1. The read DMAs have no bits of their own and take free ones.
PAIRS = {
    "SDP": 0,
    "CDP": 1,
    "PDP": 2,
    "SDP_RDMA": 5,
    "PDP_RDMA": 6,
    "CDMA_DAT": 8,
    "CDMA_WT": 9,
    "CONV": 10,
}

DONE_MASK = sum(0b11 << (2 * PAIRS[unit]) for unit in ("SDP", "CDP", "PDP", "CONV"))
"""Status bits that a Wait may name. Loads end with their convolution: theirs stay masked."""

CONV_BLOCKS = ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA")

FLUSH_DONE = Poll(OFFSETS["CDMA.S_CBUF_FLUSH_STATUS"], 1, 1)


def chains(task: DlaTask, model_name: str) -> tuple[Chain, ...]:
    """Chains in an order that satisfies the graph, lower indices first.

    Raises ModelError if the graph allows no order.
    """
    operations = task.operations
    chain_of: dict[int, int] = {}
    members: list[list[int]] = []
    for operation in operations:
        if operation.common.fused_parent.index == -1:
            chain_of[operation.index] = len(members)
            members.append([operation.index])
    # Parents have a lower type, so two rounds reach the end of CONV -> SDP -> PDP.
    for unit in (OpType.SDP, OpType.PDP):
        for operation in operations:
            parent = operation.common.fused_parent.index
            if operation.type is unit and parent != -1:
                chain_of[operation.index] = chain_of[parent]
                members[chain_of[parent]].append(operation.index)
    after: list[set[int]] = [set() for _ in members]
    waiting = [0] * len(members)
    for operation in operations:
        here = chain_of[operation.index]
        for edge in operation.common.consumers:
            if edge.index == -1:
                continue
            there = chain_of[edge.index]
            if there != here and there not in after[here]:
                after[here].add(there)
                waiting[there] += 1
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order: list[Chain] = []
    while ready:
        here = heapq.heappop(ready)
        order.append(tuple(operations[index] for index in members[here]))
        for there in after[here]:
            waiting[there] -= 1
            if waiting[there] == 0:
                heapq.heappush(ready, there)
    if len(order) != len(members):
        stuck = sorted(members[i][0] for i, count in enumerate(waiting) if count > 0)
        raise ModelError(
            "the dependency graph goes round in a circle",
            where=f"{model_name}, task {task.id}, operation {stuck[0]}",
            hints=("The file may be damaged: copy or compile it again.",),
        )
    return tuple(order)


def uses_rdma(operation: DlaOperation) -> bool:
    """Whether the unit's read DMA is started for an operation."""
    op, surface = operation.op, operation.surface
    if isinstance(op, SdpOp) and isinstance(surface, SdpSurface):
        return needs_rdma(op, surface)
    if isinstance(surface, PdpSurface):
        return surface.src_data.type != CubeType.HW
    return operation.type is OpType.CDP


class Groups:
    """The ping-pong position of every unit, counted from 0 at the start of a run."""

    def __init__(self) -> None:
        self._count = dict.fromkeys(PAIRS, 0)

    def _select(self, block: str, unit: str) -> SelectGroup:
        pair = PAIRS[unit]
        return SelectGroup(OFFSETS[f"{block}.S_POINTER"], self.group(unit), pair)

    def group(self, unit: str) -> int:
        """Group that the unit uses next."""
        return self._count[unit] & 1

    def pointers(self, operation: DlaOperation) -> list[SelectGroup]:
        """Pointer writes that select the operation's groups."""
        unit = operation.type.name
        if operation.type is OpType.CONV:
            return [self._select(block, unit) for block in CONV_BLOCKS]
        # CDP's read DMA follows CDP; the others alternate on their own.
        rdma = unit if operation.type is OpType.CDP else f"{unit}_RDMA"
        return [self._select(unit, unit), self._select(f"{unit}_RDMA", rdma)]

    def enables(self, operation: DlaOperation) -> list[Write]:
        """Writes that start the operation."""
        unit = operation.type.name
        if operation.type is OpType.CONV:
            blocks: tuple[str, ...] = CONV_BLOCKS
        else:
            blocks = (f"{unit}_RDMA", unit) if uses_rdma(operation) else (unit,)
        return [Write(OFFSETS[f"{block}.D_OP_ENABLE"], 1) for block in blocks]

    def done_bit(self, operation: DlaOperation) -> int:
        """Status bit that ends the operation."""
        unit = operation.type.name
        return 1 << (2 * PAIRS[unit] + self.group(unit))

    def advance(self, operation: DlaOperation) -> None:
        """The operation has ended: its units go on to the other group."""
        unit = operation.type.name
        self._count[unit] += 1
        if operation.type is OpType.CONV:
            self._count["CDMA_DAT"] += 1
            self._count["CDMA_WT"] += 1
        elif operation.type is not OpType.CDP and uses_rdma(operation):
            self._count[f"{unit}_RDMA"] += 1

    def toggled_pairs(self) -> int:
        """Pairs of units that ran an odd number of operations."""
        return sum((count & 1) << PAIRS[unit] for unit, count in self._count.items())
