"""Putting a Program together: order, buffers, commands (NVDLA kernel firmware).

For each chain every operation is programmed, producer first, then all are
started, consumer first, so that nothing is sent to a unit that does not listen;
then the chain's done bits are awaited. Interrupt masks are the driver's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.cpu import kernel_call
from fwgen.accel.nvdla.lower import lower_rows
from fwgen.accel.nvdla.memory import Memory, Use, cut
from fwgen.accel.nvdla.pipelined import Layer, StepParts, make_node, pipelined_commands
from fwgen.accel.nvdla.schedule import DONE_MASK, FLUSH_DONE, Groups
from fwgen.accel.nvdla.steps import Item, operations_of, steps_of, uses_of
from fwgen.accel.nvdla.tensors import make_tensors
from fwgen.accel.nvdla.writer import Place, Resolve
from fwgen.model.nvdla.descriptors import EmuOpType, Event, OpType
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask, EmuOperation
from fwgen.program.commands import (
    Cache,
    CacheAction,
    Command,
    Cpu,
    End,
    Kernel,
    Mark,
    Wait,
)
from fwgen.program.pipeline import Range, lifetimes, schedule
from fwgen.program.program import Buffer, Program, Role, Step

MAX_RANGES = 16
"""Accesses of more pieces count as one range when the pipeline looks for conflicts."""

EMU_KERNELS = {EmuOpType.SOFTMAX: Kernel.SOFTMAX, EmuOpType.POWER: Kernel.POWER}


class _Commands:
    """Collects the commands of a run."""

    def __init__(self, config: Configuration, memory: Memory) -> None:
        self.config = config
        self.memory = memory
        self.groups = Groups()
        self.out: list[Command] = []

    def _resolver(self, number: int) -> Resolve:
        def resolve(role: str) -> Place | None:
            return self.memory.places.get((number, role))

        return resolve

    def begin(self) -> None:
        """What the CPU wrote before the run must reach memory."""
        for buffer in self.memory.buffers:
            if buffer.role is Role.INPUT or buffer.zeroed:
                self.out.append(Cache(CacheAction.CLEAN, buffer.id))

    def chain(self, items: Sequence[Item]) -> None:
        """Program, start and await operations that run together."""
        mask = 0
        operations = []
        for item in items:
            assert isinstance(item.operation, DlaOperation) and isinstance(item.task, DlaTask)
            operations.append(item.operation)
            mask |= self.groups.done_bit(item.operation)
            self.out.append(Mark(item.number))
            self.out += self.groups.pointers(item.operation)
            self.out += lower_rows(
                item.operation, item.task.luts, self.config, self._resolver(item.number)
            )
        for operation in reversed(operations):
            self.out += self.groups.pointers(operation)
            if operation.type is OpType.CONV:
                self.out.append(FLUSH_DONE)
            self.out += self.groups.enables(operation)
        self.out.append(Wait(mask, operations=tuple(item.number for item in items)))
        for operation in operations:
            self.groups.advance(operation)

    def cpu(self, item: Item) -> None:
        """Run a CPU operator between cache maintenance."""
        assert isinstance(item.operation, EmuOperation)
        source = self.memory.places[item.number, "src"]
        destination = self.memory.places[item.number, "dst"]
        self.out.append(Mark(item.number))
        for buffer in sorted({source[0], destination[0]}):
            self.out.append(Cache(CacheAction.INVALIDATE, buffer))
        self.out.append(kernel_call(item.operation, source, destination))
        self.out.append(Cache(CacheAction.CLEAN, destination[0]))

    def parts(self, items: Sequence[Item]) -> StepParts:
        """A step for the pipeline."""
        if not isinstance(items[0].operation, DlaOperation):
            start = len(self.out)
            self.cpu(items[0])
            commands = tuple(self.out[start:])
            del self.out[start:]
            return StepParts((), commands)
        layers = []
        for item in items:
            assert isinstance(item.operation, DlaOperation) and isinstance(item.task, DlaTask)
            rows = lower_rows(
                item.operation, item.task.luts, self.config, self._resolver(item.number)
            )
            layers.append(Layer(item.number, item.operation, tuple(rows)))
        return StepParts(tuple(layers), ())

    def end(self) -> None:
        """What the accelerator wrote must be seen by the CPU."""
        for buffer in self.memory.buffers:
            if buffer.role is Role.OUTPUT:
                self.out.append(Cache(CacheAction.INVALIDATE, buffer.id))
        self.out.append(End(self.groups.toggled_pairs()))


def _ranges(uses: Sequence[Use], memory: Memory) -> tuple[Range, ...]:
    """Bytes of buffers that accesses touch; many pieces become one range around them."""
    found = []
    for use in uses:
        buffer, offset = memory.places[use.operation, use.role]
        runs = use.runs
        if len(runs) > MAX_RANGES:
            runs = ((runs[0][0], runs[-1][1]),)
        base = offset - use.start
        found += [Range(buffer, base + low, base + high) for low, high in runs]
    return tuple(found)


def _with_banks(buffers: tuple[Buffer, ...]) -> tuple[tuple[Buffer, ...], dict[int, int]]:
    """A second buffer for each that the application binds; second ones by first ones."""
    out = list(buffers)
    banks: dict[int, int] = {}
    for buffer in buffers:
        if buffer.role in (Role.INPUT, Role.OUTPUT):
            banks[buffer.id] = len(out)
            out.append(replace(buffer, id=len(out), name=f"{buffer.name}_bank_b"))
    return tuple(out), banks


def _pipelined(
    program: Program, commands: _Commands, steps: list[list[Item]], uses: Sequence[Use], depth: int
) -> Program:
    """The program with a pipelined run and two banks beside what it has."""
    memory = commands.memory
    parts = [commands.parts(items) for items in steps]
    step_of = {item.number: step for step, items in enumerate(steps) for item in items}
    by_step: list[list[Use]] = [[] for _ in steps]
    for use in uses:
        by_step[use.step].append(use)
    nodes = [
        make_node(
            part.layers,
            _ranges([use for use in here if not use.write], memory),
            _ranges([use for use in here if use.write], memory),
            frozenset(_awaited(steps, step_of)[step]),
        )
        for step, (part, here) in enumerate(zip(parts, by_step, strict=True))
    ]
    order = schedule(nodes, depth)
    lives = lifetimes(program.buffers, nodes, order)
    buffers, banks = _with_banks(
        tuple(
            replace(b, first_step=lives[b.id][0], last_step=lives[b.id][1]) if b.id in lives else b
            for b in program.buffers
        )
    )
    # Memory that boot has zeroed is cleaned before the accelerator sees it: in each bank.
    ours = [b for b in program.buffers if b.role is Role.INPUT or b.zeroed]
    bound = (Role.INPUT, Role.OUTPUT)
    return replace(
        program,
        buffers=buffers,
        pipeline_depth=depth,
        pipelined=pipelined_commands(
            parts,
            order,
            cleaned=[b.id for b in ours if b.role not in bound],
            inputs=[b.id for b in ours if b.role in bound],
            outputs=[b.id for b in program.buffers if b.role is Role.OUTPUT],
            banked=frozenset(banks),
        ),
        banks=tuple(banks.items()),
    )


def _awaited(steps: list[list[Item]], step_of: dict[int, int]) -> list[set[int]]:
    """By step, the steps that the graph wants to be over before it starts."""
    found: list[set[int]] = [set() for _ in steps]
    for step, items in enumerate(steps):
        for item in items:
            if not isinstance(item.operation, DlaOperation):
                continue
            first = item.number - item.operation.index
            for edge in item.operation.common.consumers:
                if edge.index != -1 and edge.event == Event.OP_COMPLETED:
                    found[step_of[first + edge.index]].add(step)
    return found


def build_program(model: NvdlaModel, config: Configuration, depth: int = 1) -> Program:
    """The program of a model that `check` admits.

    `depth` above 1 adds a pipelined run and second banks of inputs and outputs.
    Raises ModelError if its graph or its memories contradict themselves.
    """
    steps = steps_of(model)
    uses = uses_of(model, steps, config)
    memory = cut(model, uses, len(steps), config.atom)
    commands = _Commands(config, memory)
    commands.begin()
    for items in steps:
        if isinstance(items[0].operation, DlaOperation):
            commands.chain(items)
        else:
            commands.cpu(items[0])
    commands.end()
    reads: list[set[int]] = [set() for _ in steps]
    writes: list[set[int]] = [set() for _ in steps]
    for use in uses:
        target = writes if use.write else reads
        target[use.step].add(memory.places[use.operation, use.role][0])
    kernels = {c.kernel.name.lower() for c in commands.out if isinstance(c, Cpu)}
    program = Program(
        family="nvdla",
        config=config.name,
        model_name=model.name,
        model_sha256=model.sha256,
        address_bits=config.address_bits,
        buffers=memory.buffers,
        tensors=make_tensors(model, config, memory.bound),
        operations=operations_of(steps, config),
        steps=tuple(
            Step(
                tuple(item.number for item in items),
                tuple(sorted(reads[index])),
                tuple(sorted(writes[index])),
            )
            for index, items in enumerate(steps)
        ),
        commands=tuple(commands.out),
        interrupt_mask=DONE_MASK,
        kernels=tuple(sorted(kernels)),
    )
    return program if depth == 1 else _pipelined(program, commands, steps, uses, depth)
