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
    Cpu,
    End,
    Mark,
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


def encode(program: Program, layout: Layout, traits: RegisterTraits) -> list[EncodedLine]:
    """The program as words.

    Raises:
        FitError: a buffer lies above the accelerator's address range.
        ValueError: a command has a value that the encoding cannot hold; the lowering
            must not produce such commands.
    """
    check_addresses(program, layout)
    lines: list[EncodedLine] = []
    operation: int | None = None
    for words in _encoded(program.commands, layout):
        instruction = decode_one(words)
        starts = instruction.opcode is Opcode.MARK
        if starts:
            operation = instruction.field
        lines.append(EncodedLine(words, describe(instruction, traits), operation, starts))
    return lines


def all_words(lines: list[EncodedLine]) -> list[int]:
    """The words of all lines in order."""
    return [word for line in lines for word in line.words]


def _encoded(commands: tuple[Command, ...], layout: Layout) -> Iterator[tuple[int, ...]]:
    stretch: list[tuple[int, int]] = []  # (register, value), consecutive registers
    for command in commands:
        if isinstance(command, Write):
            if stretch and stretch[-1][0] + REGISTER_STRIDE != command.register:
                yield from _stretch_words(stretch)
                stretch = []
            stretch.append((command.register, resolve(command.value, layout)))
            continue
        yield from _stretch_words(stretch)
        stretch = []
        yield from _command_words(command, layout)
    yield from _stretch_words(stretch)


def _stretch_words(stretch: list[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Writes to consecutive registers as RUN and SET commands."""
    values = dict(stretch)
    for chunk in plan_chunks(list(values), lambda register: values[register] < SET_LIMIT):
        if chunk.is_set:
            yield (_first(Opcode.SET, values[chunk.register], _field(chunk.register)),)
            continue
        registers = range(
            chunk.register, chunk.register + chunk.count * REGISTER_STRIDE, REGISTER_STRIDE
        )
        operands = tuple(values[register] for register in registers)
        yield (_first(Opcode.RUN, chunk.count, _field(chunk.register)), *operands)


def _command_words(command: Command, layout: Layout) -> Iterator[tuple[int, ...]]:
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
        case Cpu(kernel, arguments):
            operands = tuple(_pointer(argument, layout) for argument in arguments)
            yield (_first(Opcode.CPU, int(kernel), len(operands)), *operands)
        case Cache(action, buffer):
            placement = layout.placements[buffer]
            yield (_first(Opcode.CACHE, int(action), 0), placement.address, placement.size)
        case Mark(operation):
            yield (_first(Opcode.MARK, 0, operation),)
        case End(toggled_pairs):
            yield (_first(Opcode.END, 0, toggled_pairs & 0xFFFF),)
        case Write():
            raise AssertionError("writes are collected into stretches")


def _pointer(value: Value, layout: Layout) -> int:
    """An argument of a CPU kernel; addresses are the CPU's and have 32 bits."""
    if isinstance(value, AddressOf) and layout.address(value.buffer) >> 32:
        raise ValueError("the CPU cannot address this buffer")
    return resolve(value, layout)


def _field(register: int) -> int:
    if register % REGISTER_STRIDE:
        raise ValueError(f"register offset 0x{register:x} is not a multiple of 4")
    return register // REGISTER_STRIDE


def _first(opcode: Opcode, count: int, field: int) -> int:
    if not 0 <= count < 256 or not 0 <= field < FIELD_LIMIT:
        raise ValueError(f"{opcode.name}: operand {count} or field {field} is out of range")
    return opcode << 28 | count << 20 | field
