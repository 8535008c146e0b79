"""The order of a pipelined run: what is programmed, started and awaited when.

Units have two register groups, so that one operation can be programmed while
another runs. From steps in an order that is right one after the other, this
module makes a list of events; the accelerator family turns each into commands.
docs/pipelining.md gives the rules. Depth 2 programs one step ahead and lets
one step run at a time; depth 4 also starts a step while others run, where no
byte is written by one and used by the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fwgen.program.program import Buffer, Role

DEPTHS = (1, 2, 4)
"""Pipeline depths that can be generated; 1 is one step after the other."""


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes [low, high) of a buffer."""

    buffer: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Node:
    """One step: operations that are started together, or one CPU operator.

    Attributes:
        programs: units whose free register group the step writes.
        uses: those of them that the step starts, so that their group advances.
        tables: units whose registers without groups (look-up tables) it writes:
            they must be idle.
        reads, writes: bytes that it touches.
        after: earlier steps that must be over, whatever the bytes say.
        on_cpu: runs on the CPU, alone.
    """

    programs: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    reads: tuple[Range, ...] = ()
    writes: tuple[Range, ...] = ()
    after: frozenset[int] = frozenset()
    on_cpu: bool = False


class EventKind(StrEnum):
    """What happens to a step."""

    PROGRAM = "program"  # its registers are written
    TABLES = "tables"  # its tables are written
    START = "start"
    WAIT = "wait"  # until it is over
    CPU = "cpu"  # it runs on the CPU


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one step; `following`: the step of the next run."""

    kind: EventKind
    step: int
    following: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The events of a run, and which steps may run at the same time.

    Attributes:
        events: in order. Those of the next run are left out when no run follows;
            waits are always of this run.
        last: by step, the last step that may be under way before it is known to
            be over.
        has_next: whether a run does the first step's part of the next run.
        started: whether that step is started too, not only programmed.
        beside: steps that may still run when the next run's first step starts.
    """

    events: tuple[Event, ...]
    last: tuple[int, ...]
    has_next: bool
    started: bool
    beside: frozenset[int]


def conflict(first: Node, second: Node) -> bool:
    """Whether one of two steps writes bytes that the other one touches."""
    return (
        _overlap(first.writes, second.reads)
        or _overlap(first.writes, second.writes)
        or _overlap(first.reads, second.writes)
    )


def _overlap(some: Iterable[Range], others: Sequence[Range]) -> bool:
    return any(
        a.buffer == b.buffer and a.low < b.high and b.low < a.high for a in some for b in others
    )


@dataclass(slots=True)
class _Scheduler:
    nodes: Sequence[Node]
    depth: int
    events: list[Event] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)  # started and not awaited, ascending
    users: dict[str, list[int]] = field(default_factory=dict)  # by unit, in order
    last: dict[int, int] = field(default_factory=dict)

    def wait(self, steps: Iterable[int]) -> None:
        """Await those of the given steps that may still run."""
        for step in sorted(set(steps).intersection(self.pending)):
            self.events.append(Event(EventKind.WAIT, step))
            self.pending.remove(step)

    def program(self, step: int, *, following: bool = False) -> None:
        """Write the step's registers once its groups are free."""
        node = self.nodes[step]
        # The group is that of the last but one operation of the unit.
        self.wait(
            self.users[unit][-2] for unit in node.programs if len(self.users.get(unit, ())) >= 2
        )
        self.events.append(Event(EventKind.PROGRAM, step, following))

    def start(self, step: int, *, following: bool = False) -> None:
        """Write tables and start, once what the step depends on is over."""
        node = self.nodes[step]
        if self.depth < 4 and not following:
            self.wait(self.pending)
        self.wait(self.blockers(step, following=following))
        if node.tables:
            self.wait(user for unit in node.tables for user in self.users.get(unit, ()))
            self.events.append(Event(EventKind.TABLES, step, following))
        self.events.append(Event(EventKind.START, step, following))
        if following:
            return
        for unit in node.uses:
            self.users.setdefault(unit, []).append(step)
        for other in self.pending:
            self.last[other] = step
        self.pending.append(step)
        self.last[step] = step

    def blockers(self, step: int, *, following: bool) -> list[int]:
        """Steps under way that the step must not overtake."""
        node = self.nodes[step]
        return [
            other
            for other in self.pending
            if conflict(self.nodes[other], node) or (not following and other in node.after)
        ]

    def run_cpu(self, step: int) -> None:
        """A CPU step: nothing else is under way."""
        self.wait(self.pending)
        self.events.append(Event(EventKind.CPU, step))
        self.last[step] = step


def _place_of_next(nodes: Sequence[Node], depth: int) -> int:
    """Index of the step before which the next run's first step has its place.

    All steps from there on use other units and other bytes. Depth 2 programs
    it behind the last start.
    """
    first = nodes[0]
    place = len(nodes)
    while place > 1:
        node = nodes[place - 1]
        if depth == 2:
            stays = not node.on_cpu
        else:
            stays = bool(node.programs & first.programs) or conflict(node, first)
        if stays:
            break
        place -= 1
    return place


def schedule(nodes: Sequence[Node], depth: int) -> Order:
    """The events of a run of depth 2 or 4.

    Args:
        nodes: the steps, in an order in which they are right one by one.
    """
    assert depth in DEPTHS and depth > 1
    work = _Scheduler(nodes, depth)
    with_next = bool(nodes) and not nodes[0].on_cpu
    place = _place_of_next(nodes, depth) if with_next else -1
    beside: frozenset[int] = frozenset()
    programmed: set[int] = set()
    for step in range(len(nodes) + 1):
        if step == place:
            work.program(0, following=True)
            if depth == 4:
                work.start(0, following=True)
                beside = frozenset([*work.pending, *range(place, len(nodes))])
        if step == len(nodes):
            break
        if not nodes[step].on_cpu:
            if step not in programmed:
                work.program(step)
            work.start(step)
            continue
        ahead = next((i for i in range(step, len(nodes)) if not nodes[i].on_cpu), len(nodes))
        # Registers behind a CPU step are written before it, while others run.
        if ahead < len(nodes) and ahead not in programmed:
            work.program(ahead)
            programmed.add(ahead)
        work.run_cpu(step)
    work.wait(work.pending)
    last = tuple(work.last[step] for step in range(len(nodes)))
    return Order(tuple(work.events), last, with_next, with_next and depth == 4, beside)


def lifetimes(
    buffers: Sequence[Buffer], nodes: Sequence[Node], order: Order
) -> dict[int, tuple[int, int]]:
    """First and last step of each INTERNAL buffer that the steps touch.

    A step's bytes are in use until it is known to be over. What the next run's
    first step touches must not share memory with what may still run beside it: the
    smaller of the two sets then lives always.
    """
    touched: dict[int, tuple[int, int]] = {}
    by_step: list[set[int]] = []
    for step, node in enumerate(nodes):
        here = {r.buffer for r in (*node.reads, *node.writes)}
        here = {b for b in here if _is_shared(buffers[b])}
        by_step.append(here)
        for buffer in here:
            first, last = touched.get(buffer, (step, step))
            touched[buffer] = (min(first, step), max(last, order.last[step]))
    if not order.started:
        return touched
    ours = set().union(*(by_step[step] for step in order.beside))
    theirs = by_step[0]
    apart = any(
        touched[a][1] < touched[b][0] or touched[b][1] < touched[a][0]
        for a in ours
        for b in theirs
        if a != b
    )
    if apart:
        smaller = min(
            (ours, theirs), key=lambda group: sum(buffers[buffer].size for buffer in group)
        )
        for buffer in smaller:
            touched[buffer] = (-1, len(nodes))
    return touched


def _is_shared(buffer: Buffer) -> bool:
    """Whether the planner may give the buffer's memory to others at times."""
    return buffer.role is Role.INTERNAL and not buffer.zeroed and buffer.data is None
