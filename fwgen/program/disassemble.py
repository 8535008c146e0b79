"""A program's words as text with register names (`fwgen inspect --stage program`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fwgen.program.commands import CacheAction, Condition, Kernel
from fwgen.program.decode import Instruction, Opcode, decode
from fwgen.program.program import Operation
from fwgen.program.runs import REGISTER_STRIDE
from fwgen.program.traits import RegisterTraits


def disassemble(
    words: Sequence[int], traits: RegisterTraits, operations: Sequence[Operation] = ()
) -> list[str]:
    """One line per command, and one per register of a run.

    Args:
        words: an encoded program.
        traits: gives the names.
        operations: where given, MARK lines show the operation's summary.

    Raises:
        ModelError: the words are not a program.
    """
    lines: list[str] = []
    for instruction in decode(words):
        first, *rest = _texts(instruction, traits, operations)
        lines.append(f"{instruction.index:5d}  {first}")
        lines.extend(f"       {line}" for line in rest)
    return lines


def describe(instruction: Instruction, traits: RegisterTraits) -> str:
    """One line for a command; runs name their first and last register."""
    if instruction.opcode is Opcode.RUN and instruction.count > 1:
        last = instruction.register + REGISTER_STRIDE * (instruction.count - 1)
        first_name = traits.name(instruction.register)
        last_name = traits.name(last).rpartition(".")[2]
        return f"RUN   {first_name} .. {last_name}"
    return next(_texts(instruction, traits, ()))


def _texts(
    instruction: Instruction, traits: RegisterTraits, operations: Sequence[Operation]
) -> Iterator[str]:
    count = instruction.count
    operands = instruction.operands
    match instruction.opcode:
        case Opcode.END:
            yield f"END   toggles pairs 0x{instruction.field & 0xFFFF:04x}"
        case Opcode.RUN if count == 1:
            yield f"RUN   {traits.name(instruction.register)} = 0x{operands[0]:08x}"
        case Opcode.RUN:
            yield f"RUN   {count} registers"
            for index, value in enumerate(operands):
                register = instruction.register + REGISTER_STRIDE * index
                yield f"      {traits.name(register)} = 0x{value:08x}"
        case Opcode.PORT:
            yield f"PORT  {traits.name(instruction.register)}, {count} values"
            for start in range(0, count, 8):
                yield "      " + " ".join(f"{v:08x}" for v in operands[start : start + 8])
        case Opcode.SET:
            yield f"SET   {traits.name(instruction.register)} = {count}"
        case Opcode.GROUP:
            name = traits.name(instruction.register)
            yield f"GROUP {name} = {count & 1} (pair {count >> 1})"
        case Opcode.WAIT:
            limit = f"{instruction.field} ms" if instruction.field else "default time"
            yield f"WAIT  0x{operands[0]:08x}, {limit}"
        case Opcode.POLL:
            name = traits.name(instruction.register)
            yield f"POLL  ({name} & 0x{operands[0]:x}) == 0x{operands[1]:x}"
        case Opcode.CPU:
            kernel = _enum_name(Kernel, count)
            yield f"CPU   {kernel} " + " ".join(f"{value:08x}" for value in operands)
        case Opcode.CACHE:
            action = _enum_name(CacheAction, count)
            yield f"CACHE {action} 0x{operands[0]:08x}, {operands[1]} bytes"
        case Opcode.ONLY:
            condition = _enum_name(Condition, count)
            yield f"ONLY  {condition}: the next {instruction.field} words"
        case Opcode.MARK:
            number = instruction.field
            text = f" {operations[number].summary}" if number < len(operations) else ""
            yield f"MARK  operation {number}{text}"


def _enum_name(kind: type[Kernel] | type[CacheAction] | type[Condition], number: int) -> str:
    try:
        return kind(number).name.lower()
    except ValueError:
        return f"{kind.__name__.lower()} {number}"
