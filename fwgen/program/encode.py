"""Program and Layout to 32-bit words (docs/program.md).

Addresses become numbers here. The encoder keeps the order of the commands; it
joins writes to consecutive registers into runs and splits what is longer than a
command can hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fwgen.plan.layout import Layout
from fwgen.program.commands import (
    AddressOf,
    Cache,
    Command,
    Condition,
    Cpu,
    End,
    Mark,
    Only,
    Poll,
    SelectGroup,
    Value,
    Wait,
    Write,
    WritePort,
)
from fwgen.program.decode import Opcode, decode_one
from fwgen.program.disassemble import describe
from fwgen.program.program import Program
from fwgen.program.resolve import check_addresses, resolve
from fwgen.program.runs import REGISTER_STRIDE, RUN_LIMIT, SET_LIMIT, plan_chunks
from fwgen.program.traits import RegisterTraits

FIELD_LIMIT = 1 << 20
"""Registers (offset / 4), timeouts and operation numbers are below this."""


@dataclass(frozen=True, slots=True)
class EncodedLine:
    """One command in words.

    Attributes:
        words: first word and operands.
        text: what it does, with register names, for comments.
        operation: number of the operation it belongs to, None before the first.
        starts_operation: True for the MARK command of an operation.
    """

    words: tuple[int, ...]
    text: str
    operation: int | None
    starts_operation: bool = False


def encode(
    program: Program, layout: Layout, traits: RegisterTraits, *, pipelined: bool = False
) -> list[EncodedLine]:
    """The program as words.

    Args:
        pipelined: encode the commands of a pipelined run.

    Raises:
        FitError: a buffer lies above the accelerator's address range.
        ValueError: a command has a value that the encoding cannot hold; the lowering
            must not produce such commands.
    """
    check_addresses(program, layout)
    lines: list[EncodedLine] = []
    operation: int | None = None
    commands = program.pipelined if pipelined else program.commands
    for words in _Encoder(layout, dict(program.banks)).encoded(commands):
        instruction = decode_one(words)
        starts = instruction.opcode is Opcode.MARK
        if starts:
            operation = instruction.field
        lines.append(EncodedLine(words, describe(instruction, traits), operation, starts))
    return lines


def all_words(lines: list[EncodedLine]) -> list[int]:
    """The words of all lines in order."""
    return [word for line in lines for word in line.words]


Words = tuple[int, ...]


class _Encoder:
    def __init__(self, layout: Layout, second: dict[int, int]) -> None:
        self._layout = layout
        self._second = second

    def encoded(self, commands: tuple[Command, ...]) -> Iterator[Words]:
        """Each command's words."""
        stretch: list[Write] = []  # consecutive registers
        for command in commands:
            if isinstance(command, Write):
                if stretch and stretch[-1].register + REGISTER_STRIDE != command.register:
                    yield from self._stretch(stretch)
                    stretch = []
                stretch.append(command)
                continue
            yield from self._stretch(stretch)
            stretch = []
            if isinstance(command, Only):
                yield from self._only(command.condition, list(self.encoded(command.commands)))
            else:
                yield from self._command(command)
        yield from self._stretch(stretch)

    @staticmethod
    def _only(condition: Condition, inner: list[Words]) -> Iterator[Words]:
        yield (_first(Opcode.ONLY, int(condition), sum(map(len, inner))),)
        yield from inner

    def _stretch(self, writes: list[Write]) -> Iterator[Words]:
        """Writes to consecutive registers; where the banks differ, the second one's follow.

        A register that is written twice has the last value when its unit starts.
        """
        yield from _stretch_words({w.register: resolve(w.value, self._layout) for w in writes})
        for following in (False, True):
            other = {
                w.register: resolve(w.value, self._layout, self._second)
                for w in writes
                if self._differs(w.value)
                and isinstance(w.value, AddressOf)
                and w.value.following is following
            }
            condition = Condition.NEXT_BANK_B if following else Condition.BANK_B
            if other:
                yield from self._only(condition, list(_stretch_words(other)))

    def _differs(self, value: Value) -> bool:
        return resolve(value, self._layout) != resolve(value, self._layout, self._second)

    def _command(self, command: Command) -> Iterator[Words]:
        match command:
            case WritePort(register, values):
                for start in range(0, len(values), RUN_LIMIT):
                    part = tuple(value & 0xFFFFFFFF for value in values[start : start + RUN_LIMIT])
                    yield (_first(Opcode.PORT, len(part), _field(register)), *part)
            case SelectGroup(register, group, pair):
                if group not in (0, 1) or not 0 <= pair < 16:
                    raise ValueError(f"group {group} of pair {pair} does not exist")
                yield (_first(Opcode.GROUP, pair << 1 | group, _field(register)),)
            case Wait(mask, timeout_ms):
                yield (_first(Opcode.WAIT, 0, timeout_ms), mask & 0xFFFFFFFF)
            case Poll(register, mask, expected):
                yield (_first(Opcode.POLL, 0, _field(register)), mask, expected)
            case Cpu() | Cache():
                yield from self._per_bank(command)
            case Mark(operation):
                yield (_first(Opcode.MARK, 0, operation),)
            case End(toggled_pairs):
                yield (_first(Opcode.END, 0, toggled_pairs & 0xFFFF),)
            case Write() | Only():
                raise AssertionError("writes are collected into stretches, blocks taken apart")

    def _per_bank(self, command: Cpu | Cache) -> Iterator[Words]:
        """A command that names buffers; one for each bank where they differ."""
        first = self._placed(command, None)
        second = self._placed(command, self._second)
        if first == second:
            yield first
            return
        following = isinstance(command, Cache) and command.following
        banks = (Condition.BANK_A, Condition.BANK_B)
        if following:
            banks = (Condition.NEXT_BANK_A, Condition.NEXT_BANK_B)
        for condition, words in zip(banks, (first, second), strict=True):
            yield from self._only(condition, [words])

    def _placed(self, command: Cpu | Cache, second: dict[int, int] | None) -> Words:
        if isinstance(command, Cpu):
            operands = tuple(self._pointer(value, second) for value in command.arguments)
            return (_first(Opcode.CPU, int(command.kernel), len(operands)), *operands)
        buffer = command.buffer if second is None else second.get(command.buffer, command.buffer)
        placement = self._layout.placements[buffer]
        return (_first(Opcode.CACHE, int(command.action), 0), placement.address, placement.size)

    def _pointer(self, value: Value, second: dict[int, int] | None) -> int:
        """An argument of a CPU kernel; addresses are the CPU's and have 32 bits."""
        if isinstance(value, AddressOf):
            high = AddressOf(value.buffer, value.offset, high=True)
            if resolve(high, self._layout, second):
                raise ValueError("the CPU cannot address this buffer")
        return resolve(value, self._layout, second)


def _stretch_words(values: dict[int, int]) -> Iterator[Words]:
    """Writes to ascending registers as RUN and SET commands."""
    for chunk in plan_chunks(list(values), lambda register: values[register] < SET_LIMIT):
        if chunk.is_set:
            yield (_first(Opcode.SET, values[chunk.register], _field(chunk.register)),)
            continue
        registers = range(
            chunk.register, chunk.register + chunk.count * REGISTER_STRIDE, REGISTER_STRIDE
        )
        operands = tuple(values[register] for register in registers)
        yield (_first(Opcode.RUN, chunk.count, _field(chunk.register)), *operands)


def _field(register: int) -> int:
    if register % REGISTER_STRIDE:
        raise ValueError(f"register offset 0x{register:x} is not a multiple of 4")
    return register // REGISTER_STRIDE


def _first(opcode: Opcode, count: int, field: int) -> int:
    if not 0 <= count < 256 or not 0 <= field < FIELD_LIMIT:
        raise ValueError(f"{opcode.name}: operand {count} or field {field} is out of range")
    return opcode << 28 | count << 20 | field
