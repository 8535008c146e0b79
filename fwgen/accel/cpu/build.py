"""Putting a Program of CPU kernels together.

Order, cutting of memories and tensors are those of the NVDLA family. Weights, tables and
scratch memory are buffers of their own; there is no cache to maintain, for nobody but the
CPU touches memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fwgen.accel.cpu.chain import chain_calls
from fwgen.accel.cpu.layer import layer_of
from fwgen.accel.cpu.weights import ROLE, weights_of
from fwgen.accel.nvdla.configurations import Configuration
from fwgen.accel.nvdla.cpu import kernel_call
from fwgen.accel.nvdla.lower import lower_rows
from fwgen.accel.nvdla.memory import ALIGNMENT, Memory, Use, cut
from fwgen.accel.nvdla.steps import Item, operations_of, steps_of, uses_of
from fwgen.accel.nvdla.tensors import make_tensors
from fwgen.accel.nvdla.writer import Place, Resolve
from fwgen.model.nvdla.model import NvdlaModel
from fwgen.model.nvdla.tasks import DlaOperation, DlaTask, EmuOperation
from fwgen.program.commands import AddressOf, Command, Cpu, End, Mark, Value, Write, WritePort
from fwgen.program.program import Buffer, Program, Role, Space, Step


class _Builder:
    """Buffers and commands of a run."""

    def __init__(
        self,
        model: NvdlaModel,
        config: Configuration,
        uses: Sequence[Use],
        memory: Memory,
        steps: int,
    ) -> None:
        self.model = model
        self.config = config
        self.uses = uses
        self.memory = memory
        self.buffers = [replace(buffer, space=Space.DRAM) for buffer in memory.buffers]
        self.out: list[Command] = []
        self.reads: list[set[int]] = [set() for _ in range(steps)]
        self.writes: list[set[int]] = [set() for _ in range(steps)]
        for use in uses:
            if use.role != ROLE:
                target = self.writes if use.write else self.reads
                target[use.step].add(memory.places[use.operation, use.role][0])
        self._steps = steps
        self._constants: dict[bytes, int] = {}

    def _add(self, name: str, size: int, data: bytes | None, life: tuple[int, int]) -> int:
        number = len(self.buffers)
        role = Role.INTERNAL if data is None else Role.CONSTANT
        origin = "made by the lowering"
        self.buffers.append(
            Buffer(number, name, size, ALIGNMENT, role, data, *life, False, Space.DRAM, origin)
        )
        return number

    def step(self, index: int, items: Sequence[Item]) -> None:
        """The commands of one step."""
        if isinstance(items[0].operation, EmuOperation):
            item = items[0]
            places = (self.memory.places[item.number, role] for role in ("src", "dst"))
            self.out += [Mark(item.number), kernel_call(items[0].operation, *places)]
            return
        rows: list[Write | WritePort] = []
        weights = b""
        for item in items:
            assert isinstance(item.operation, DlaOperation) and isinstance(item.task, DlaTask)
            rows += lower_rows(
                item.operation, item.task.luts, self.config, self._resolver(item.number)
            )
            if item.operation.type.name == "CONV":
                weights = weights_of(self.model, item, self.uses)

        def store(name: str, data: bytes) -> Value:
            number = self._constants.get(data)
            if number is None:
                label = f"{items[0].name}_{name}"
                number = self._add(self._unique(label), len(data), data, (-1, self._steps))
                self._constants[data] = number
            self.reads[index].add(number)
            return AddressOf(number)

        def reserve(name: str, size: int) -> Value:
            number = self._add(self._unique(f"{items[0].name}_{name}"), size, None, (index, index))
            self.reads[index].add(number)
            self.writes[index].add(number)
            return AddressOf(number)

        units = [item.operation.type.name for item in items]
        calls = chain_calls(units, layer_of(rows), self.config, weights, store, reserve)
        for item, unit in zip(items, units, strict=True):
            self.out += [Mark(item.number), *calls.get(unit, ())]

    def _unique(self, name: str) -> str:
        taken = {buffer.name for buffer in self.buffers}
        candidate, number = name, 2
        while candidate in taken:
            candidate, number = f"{name}{number}", number + 1
        return candidate

    def _resolver(self, number: int) -> Resolve:
        def resolve(role: str) -> Place | None:
            return self.memory.places.get((number, role))

        return resolve


def build_program(model: NvdlaModel, config: Configuration) -> Program:
    """The program of a model that `check` admits.

    Raises ModelError if its graph or its memories contradict themselves.
    """
    steps = steps_of(model)
    uses = uses_of(model, steps, config)
    kept = [use for use in uses if use.role != ROLE]
    memory = cut(model, kept, len(steps), config.atom)
    builder = _Builder(model, config, uses, memory, len(steps))
    for index, items in enumerate(steps):
        builder.step(index, items)
    builder.out.append(End())
    kernels = {c.kernel.name.lower() for c in builder.out if isinstance(c, Cpu)}
    return Program(
        family="cpu",
        config=config.name,
        model_name=model.name,
        model_sha256=model.sha256,
        address_bits=config.address_bits,
        buffers=tuple(builder.buffers),
        tensors=make_tensors(model, config, memory.bound),
        operations=operations_of(steps, config),
        steps=tuple(
            Step(
                tuple(item.number for item in items),
                tuple(sorted(builder.reads[index])),
                tuple(sorted(builder.writes[index])),
            )
            for index, items in enumerate(steps)
        ),
        commands=tuple(builder.out),
        kernels=tuple(sorted(kernels)),
    )
