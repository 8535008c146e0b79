"""The commands of a pipelined run (NVDLA register manual, ping-pong groups).

fwgen.program.pipeline decides the order of events; this module knows which units a
chain programs and starts, and writes each event as commands. docs/pipelining.md
tells what may overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fwgen.accel.nvdla.schedule import FLUSH_DONE, Groups, uses_rdma
from fwgen.accel.nvdla.traits import TRAITS
from fwgen.model.nvdla.descriptors import OpType
from fwgen.model.nvdla.tasks import DlaOperation
from fwgen.program.commands import (
    AddressOf,
    Cache,
    CacheAction,
    Command,
    Condition,
    End,
    Mark,
    Only,
    Wait,
    Write,
    WritePort,
)
from fwgen.program.pipeline import Event, EventKind, Node, Order, Range


@dataclass(frozen=True, slots=True)
class Layer:
    """One operation of a chain and its configuration writes."""

    number: int
    operation: DlaOperation
    rows: tuple[Write | WritePort, ...]

    @property
    def tables(self) -> tuple[Write | WritePort, ...]:
        """Writes to what both groups share: only while the unit is idle."""
        return tuple(row for row in self.rows if TRAITS.is_ordered(row.register))

    @property
    def stored(self) -> tuple[Write | WritePort, ...]:
        """Writes to the operation's own group."""
        return tuple(row for row in self.rows if not TRAITS.is_ordered(row.register))


@dataclass(frozen=True, slots=True)
class StepParts:
    """One step as the pipeline needs it.

    Attributes:
        layers: of a chain, producer first; empty for a CPU step.
        cpu: commands of a CPU step.
    """

    layers: tuple[Layer, ...]
    cpu: tuple[Command, ...]


def make_node(
    layers: Sequence[Layer],
    reads: tuple[Range, ...],
    writes: tuple[Range, ...],
    after: frozenset[int],
) -> Node:
    """The step of a chain, or of a CPU operator where there are no layers."""
    programs: set[str] = set()
    uses: set[str] = set()
    tables: set[str] = set()
    for layer in layers:
        unit = layer.operation.type.name
        programs.add(unit)
        uses.add(unit)
        # CDP's read DMA follows CDP; a convolution's units start and end together.
        if layer.operation.type in (OpType.SDP, OpType.PDP):
            programs.add(f"{unit}_RDMA")
            if uses_rdma(layer.operation):
                uses.add(f"{unit}_RDMA")
        if layer.tables:
            tables.add(unit)
    return Node(
        frozenset(programs),
        frozenset(uses),
        frozenset(tables),
        reads,
        writes,
        after,
        on_cpu=not layers,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A chain's groups, chosen when it is programmed."""

    pointers: tuple[tuple[Command, ...], ...]
    enables: tuple[tuple[Command, ...], ...]
    mask: int


class _Writer:
    """Turns events into commands."""

    def __init__(self, parts: Sequence[StepParts], banked: frozenset[int]) -> None:
        self._parts = parts
        self._banked = banked
        self._groups = Groups()
        self._chosen: dict[tuple[int, bool], _Chosen] = {}
        self._mark: int | None = None

    def mark(self, operation: int) -> list[Command]:
        """Name the operation unless it is named already."""
        if self._mark == operation:
            return []
        self._mark = operation
        return [Mark(operation)]

    def lose_mark(self) -> None:
        """What follows may be reached with another operation named."""
        self._mark = None

    def event(self, event: Event) -> list[Command]:
        """The commands of one event."""
        parts = self._parts[event.step]
        match event.kind:
            case EventKind.PROGRAM:
                return self._program(parts.layers, event)
            case EventKind.TABLES:
                return self._tables(parts.layers)
            case EventKind.START:
                return self._start(self._chosen[event.step, event.following])
            case EventKind.WAIT:
                chosen = self._chosen[event.step, False]
                numbers = tuple(layer.number for layer in parts.layers)
                return [*self.mark(numbers[-1]), Wait(chosen.mask, operations=numbers)]
            case EventKind.CPU:
                self.lose_mark()
                return list(parts.cpu)

    def _program(self, layers: Sequence[Layer], event: Event) -> list[Command]:
        out: list[Command] = []
        pointers: list[tuple[Command, ...]] = []
        enables: list[tuple[Command, ...]] = []
        mask = 0
        for layer in layers:
            operation = layer.operation
            pointers.append(tuple(self._groups.pointers(operation)))
            enables.append(tuple(self._groups.enables(operation)))
            mask |= self._groups.done_bit(operation)
            out += self.mark(layer.number)
            out += pointers[-1]
            out += (
                (self._following(row) for row in layer.stored)
                if event.following
                else (layer.stored)
            )
        # The buffer is flushed once, after reset, so it does not matter how long before
        # the start this is made sure of.
        if any(layer.operation.type is OpType.CONV for layer in layers):
            out.append(FLUSH_DONE)
        self._chosen[event.step, event.following] = _Chosen(tuple(pointers), tuple(enables), mask)
        if not event.following:
            for layer in layers:
                self._groups.advance(layer.operation)
        return out

    def _following(self, row: Write | WritePort) -> Write | WritePort:
        if isinstance(row, Write) and isinstance(row.value, AddressOf):
            if row.value.buffer in self._banked:
                return replace(row, value=replace(row.value, following=True))
        return row

    def _tables(self, layers: Sequence[Layer]) -> list[Command]:
        out: list[Command] = []
        for layer in layers:
            if layer.tables:
                out += [*self.mark(layer.number), *layer.tables]
        return out

    @staticmethod
    def _start(chosen: _Chosen) -> list[Command]:
        # Without a Mark: this is all that a unit waits for.
        out: list[Command] = []
        for pointers, enables in reversed(list(zip(chosen.pointers, chosen.enables, strict=True))):
            out += [*pointers, *enables]
        return out

    def end(self) -> End:
        """The end of the run."""
        return End(self._groups.toggled_pairs())


def pipelined_commands(
    parts: Sequence[StepParts],
    order: Order,
    *,
    cleaned: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
    banked: frozenset[int],
) -> tuple[Command, ...]:
    """The commands of a run.

    Args:
        parts: by step.
        order: of the steps' events.
        cleaned: buffers that the CPU may have written and no run does.
        inputs, outputs: buffers that the application fills and reads.
        banked: buffers with a second bank.
    """
    writer = _Writer(parts, banked)
    cold: list[Command] = [Cache(CacheAction.CLEAN, buffer) for buffer in (*cleaned, *inputs)]
    ahead = [(e.kind, e.step) for e in order.events if e.following]
    events = list(order.events)
    # What the run before may have done already comes first in a cold run.
    while ahead and events and (events[0].kind, events[0].step) == ahead[0]:
        cold += writer.event(events.pop(0))
        ahead.pop(0)
    assert not ahead, "the next run's first events are a run's first events"
    writer.lose_mark()
    out: list[Command] = [Only(Condition.COLD, tuple(cold))] if order.has_next else cold
    condition = Condition.NEXT
    at = 0
    while at < len(events):
        if not events[at].following:
            out += writer.event(events[at])
            at += 1
            continue
        block: list[Command] = []
        writer.lose_mark()
        if condition is Condition.NEXT:
            block += [Cache(CacheAction.CLEAN, buffer, following=True) for buffer in inputs]
        while at < len(events) and events[at].following:
            block += writer.event(events[at])
            at += 1
        writer.lose_mark()
        out.append(Only(condition, tuple(block)))
        condition = Condition.AHEAD
    out += [Cache(CacheAction.INVALIDATE, buffer) for buffer in outputs]
    out.append(writer.end())
    return tuple(out)
