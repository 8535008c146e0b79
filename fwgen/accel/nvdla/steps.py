"""The operations of a model in execution order, and what each one reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fwgen.accel.nvdla import rules_cpu
from fwgen.accel.nvdla.access import Access, accesses
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.describe import macs, summary
from fwgen.accel.nvdla.memory import Use
from fwgen.accel.nvdla.schedule import chains
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask, EmuOperation, EmuTask
from fwgen.program.program import Operation


@dataclass(frozen=True, slots=True)
class Item:
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


def steps_of(model: NvdlaModel) -> list[list[Item]]:
    """Operations grouped by step, in execution order."""
    steps: list[list[Item]] = []
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
                [Item(n, names[n], task, op) for n, op in zip(numbers, group, strict=True)]
            )
        first += len(task.operations)
    return steps


def accesses_of(item: Item, config: Configuration) -> list[Access]:
    """What one operation reads and writes."""
    if isinstance(item.operation, DlaOperation):
        return accesses(item.operation, config)
    return rules_cpu.accesses(item.operation)


def uses_of(model: NvdlaModel, steps: list[list[Item]], config: Configuration) -> list[Use]:
    """All accesses in execution order, with byte ranges in the model's memories."""
    uses = []
    for step, items in enumerate(steps):
        for item in items:
            for access in accesses_of(item, config):
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


def operations_of(steps: list[list[Item]], config: Configuration) -> tuple[Operation, ...]:
    """The program's operations, by number."""
    found = []
    for item in sorted((i for items in steps for i in items), key=lambda i: i.number):
        dla = isinstance(item.operation, DlaOperation)
        access = accesses_of(item, config)
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
