"""Putting a Program together: order, buffers, commands (NVDLA kernel firmware).

For each chain every operation is programmed, producer first, then all are
started, consumer first, so that nothing is sent to a unit that does not listen;
then the chain's done bits are awaited. Interrupt masks are the driver's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.accel.nvdla import rules_cpu
from fwgen.accel.nvdla.access import Access, accesses
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.cpu import kernel_call
from fwgen.accel.nvdla.describe import macs, summary
from fwgen.accel.nvdla.lower import lower_rows
from fwgen.accel.nvdla.memory import Memory, Use, cut
from fwgen.accel.nvdla.schedule import DONE_MASK, FLUSH_DONE, Groups, chains
from fwgen.accel.nvdla.tensors import make_tensors
from fwgen.accel.nvdla.writer import Place, Resolve
from fwgen.model.nvdla.descriptors import EmuOpType, OpType
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask, EmuOperation, EmuTask
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
from fwgen.program.program import Operation, Program, Role, Step

EMU_KERNELS = {EmuOpType.SOFTMAX: Kernel.SOFTMAX, EmuOpType.POWER: Kernel.POWER}


@dataclass(frozen=True, slots=True)
class _Item:
    """One operation with its number in the program."""

    number: int
    name: str
    task: DlaTask | EmuTask
    operation: DlaOperation | EmuOperation


def operation_names(model: NvdlaModel) -> tuple[str, ...]:
    """Unique labels of all operations, in the order of Program.operations."""
    names: list[str] = []
    for task in model.tasks:
        for operation in task.operations:
            names.append(f"op{len(names)}_{operation.type.name.lower()}")
    return tuple(names)


def _steps(model: NvdlaModel) -> list[list[_Item]]:
    """Operations grouped by step, in execution order."""
    steps: list[list[_Item]] = []
    names = operation_names(model)
    first = 0
    for task in model.tasks:
        if isinstance(task, DlaTask):
            groups: Sequence[Sequence[DlaOperation | EmuOperation]] = chains(task, model.name)
        else:
            groups = [(operation,) for operation in task.operations]
        for group in groups:
            numbers = [first + operation.index for operation in group]
            steps.append(
                [_Item(n, names[n], task, op) for n, op in zip(numbers, group, strict=True)]
            )
        first += len(task.operations)
    return steps


def _accesses(item: _Item, config: Configuration) -> list[Access]:
    if isinstance(item.operation, DlaOperation):
        return accesses(item.operation, config)
    return rules_cpu.accesses(item.operation)


def _uses(model: NvdlaModel, steps: list[list[_Item]], config: Configuration) -> list[Use]:
    uses = []
    for step, items in enumerate(steps):
        for item in items:
            for access in _accesses(item, config):
                address = item.task.addresses[access.index]
                size = model.loadable.memories[address.memory].size
                runs = tuple(
                    (address.offset + low, min(address.offset + high, size))
                    for low, high in access.runs
                )
                label = "out" if access.role == "dst" else access.role
                uses.append(
                    Use(
                        item.number,
                        access.role,
                        f"{item.name}_{label}",
                        step,
                        address.memory,
                        address.offset + access.start,
                        runs,
                        access.exact,
                        access.write,
                    )
                )
    return uses


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

    def chain(self, items: Sequence[_Item]) -> None:
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

    def cpu(self, item: _Item) -> None:
        """Run a CPU operator between cache maintenance."""
        assert isinstance(item.operation, EmuOperation)
        source = self.memory.places[item.number, "src"]
        destination = self.memory.places[item.number, "dst"]
        self.out.append(Mark(item.number))
        for buffer in sorted({source[0], destination[0]}):
            self.out.append(Cache(CacheAction.INVALIDATE, buffer))
        self.out.append(kernel_call(item.operation, source, destination))
        self.out.append(Cache(CacheAction.CLEAN, destination[0]))

    def end(self) -> None:
        """What the accelerator wrote must be seen by the CPU."""
        for buffer in self.memory.buffers:
            if buffer.role is Role.OUTPUT:
                self.out.append(Cache(CacheAction.INVALIDATE, buffer.id))
        self.out.append(End(self.groups.toggled_pairs()))


def _operations(steps: list[list[_Item]], config: Configuration) -> tuple[Operation, ...]:
    found = []
    for item in sorted((i for items in steps for i in items), key=lambda i: i.number):
        dla = isinstance(item.operation, DlaOperation)
        access = _accesses(item, config)
        found.append(
            Operation(
                item.number,
                item.operation.type.name if dla else "CPU",
                item.name,
                summary(item.operation),
                macs(item.operation),
                sum(a.size for a in access if not a.write),
                sum(a.size for a in access if a.write),
            )
        )
    return tuple(found)


def build_program(model: NvdlaModel, config: Configuration) -> Program:
    """The program of a model that `check` admits.

    Raises ModelError if its graph or its memories contradict themselves.
    """
    steps = _steps(model)
    uses = _uses(model, steps, config)
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
    return Program(
        family="nvdla",
        config=config.name,
        model_name=model.name,
        model_sha256=model.sha256,
        address_bits=config.address_bits,
        buffers=memory.buffers,
        tensors=make_tensors(model, config, memory.bound),
        operations=_operations(steps, config),
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
