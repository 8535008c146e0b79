"""Words back to commands: the reverse of the encoder, for tools and tests.

Implements docs/program.md from the words alone, independent of the encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from fwgen.errors import ModelError


class Opcode(IntEnum):
    """Bits 31:28 of a command's first word."""

    END = 0
    RUN = 1
    PORT = 2
    SET = 3
    GROUP = 4
    WAIT = 5
    POLL = 6
    CPU = 7
    CACHE = 8
    MARK = 9
    ONLY = 10


@dataclass(frozen=True, slots=True)
class Instruction:
    """One command as it lies in memory.

    Attributes:
        index: position of its first word.
        opcode: see Opcode.
        count: bits 27:20 of the first word.
        field: bits 19:0 of the first word.
        operands: the words that follow.
    """

    index: int
    opcode: Opcode
    count: int
    field: int
    operands: tuple[int, ...]

    @property
    def register(self) -> int:
        """Byte offset of the register (RUN, PORT, SET, GROUP, POLL)."""
        return self.field * 4


def operand_count(opcode: Opcode, count: int, field: int) -> int:
    """Number of words that follow the first one."""
    match opcode:
        case Opcode.RUN | Opcode.PORT:
            return count
        case Opcode.WAIT:
            return 1
        case Opcode.POLL | Opcode.CACHE:
            return 2
        case Opcode.CPU:
            return field
        case _:
            return 0


def decode_one(words: Sequence[int], position: int = 0) -> Instruction:
    """The command that starts at `position`.

    Raises:
        ModelError: reserved opcode, empty run, or operands beyond the end.
    """
    word = words[position]
    where = f"program word {position}"
    if word >> 28 > max(Opcode):
        raise ModelError(f"reserved opcode {word >> 28}", where=where)
    opcode = Opcode(word >> 28)
    count = (word >> 20) & 0xFF
    field = word & 0xFFFFF
    if opcode in (Opcode.RUN, Opcode.PORT) and count == 0:
        raise ModelError(f"{opcode.name} without values", where=where)
    length = operand_count(opcode, count, field)
    operands = tuple(words[position + 1 : position + 1 + length])
    if len(operands) != length:
        raise ModelError(f"{opcode.name} continues beyond the end", where=where)
    return Instruction(position, opcode, count, field, operands)


def decode(words: Sequence[int]) -> Iterator[Instruction]:
    """All commands of a program up to and including END.

    Raises:
        ModelError: as `decode_one`, or no END, or words after it, or a conditional block
            that does not end with a command in it.
    """
    position = 0
    skips: list[int] = []  # where the blocks around the position end, innermost last
    while position < len(words):
        instruction = decode_one(words, position)
        while skips and skips[-1] == position:
            skips.pop()
        end = position + 1 + len(instruction.operands)
        if instruction.opcode is Opcode.ONLY:
            end += instruction.field
        # The last word is the END, which no block contains.
        outer = skips[-1] if skips else len(words) - (instruction.opcode is Opcode.ONLY)
        if end > outer or (skips and instruction.opcode is Opcode.END):
            raise ModelError(
                "a conditional block ends inside a command or behind the program",
                where=f"program word {position}",
            )
        if instruction.opcode is Opcode.ONLY and instruction.field:
            skips.append(end)
        yield instruction
        position += 1 + len(instruction.operands)
        if instruction.opcode is Opcode.END:
            if position != len(words):
                raise ModelError("words after END", where=f"program word {position}")
            return
    raise ModelError("program without END", where=f"program word {position}")
