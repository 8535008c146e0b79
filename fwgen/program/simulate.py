"""Plays encoded programs on the host: which register gets which value, in order.

The reverse check of encoder and optimiser. It follows docs/program.md and
keeps the parity word over several runs as the executor on the target does.
`GroupedRegisters` models nothing but storage: which value each register of each
group holds, and what a unit would see when it is enabled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fwgen.program.commands import Condition
from fwgen.program.decode import Opcode, decode
from fwgen.program.traits import RegisterTraits


@dataclass(frozen=True, slots=True)
class RegisterWrite:
    """One write to the accelerator's window."""

    register: int
    value: int
    is_pointer: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Anything that is not a register write, as (opcode, operands).

    For WAIT the mask has been exchanged by parity already.
    """

    opcode: Opcode
    operands: tuple[int, ...]


def swap_pairs(mask: int, parity: int) -> int:
    """`mask` with bits 2n and 2n + 1 exchanged for each bit n set in `parity`."""
    for pair in range(16):
        if parity >> pair & 1:
            two = mask >> 2 * pair & 3
            exchanged = two >> 1 | (two & 1) << 1
            mask = mask & ~(3 << 2 * pair) | exchanged << 2 * pair
    return mask


class Player:
    """Plays programs and remembers the parity between them.

    Attributes:
        parity: bit n: the unit of pair n starts with group 1 next time.
        ahead: the first commands of the next run have been made.
    """

    def __init__(self) -> None:
        self.parity = 0
        self.ahead = False

    def run(
        self,
        words: Sequence[int],
        bank: int = 0,
        following: int | None = None,
    ) -> Iterator[RegisterWrite | Pause]:
        """All effects of one run, in order.

        Args:
            words: the program.
            bank: 0 or 1, of this run's inputs and outputs.
            following: bank of the run of the same program that comes next and is known
                in time; None for none.

        Raises:
            ModelError: the words are not a program.
        """
        holds = {Condition.BANK_B if bank else Condition.BANK_A}
        if not self.ahead:
            holds.add(Condition.COLD)
        self.ahead = False
        skipped_to = 0
        for instruction in decode(words):
            if instruction.index < skipped_to:
                continue
            count = instruction.count
            match instruction.opcode:
                case Opcode.RUN:
                    for index, value in enumerate(instruction.operands):
                        yield RegisterWrite(instruction.register + 4 * index, value)
                case Opcode.PORT:
                    for value in instruction.operands:
                        yield RegisterWrite(instruction.register, value)
                case Opcode.SET:
                    yield RegisterWrite(instruction.register, count)
                case Opcode.GROUP:
                    group = count & 1 ^ self.parity >> (count >> 1) & 1
                    yield RegisterWrite(instruction.register, group, is_pointer=True)
                case Opcode.WAIT:
                    mask = swap_pairs(instruction.operands[0], self.parity)
                    yield Pause(Opcode.WAIT, (instruction.field, mask))
                case Opcode.ONLY:
                    condition = Condition(count)
                    if condition is Condition.NEXT and following is not None:
                        self.ahead = True
                        holds |= {Condition.NEXT, Condition.AHEAD}
                        holds.add(Condition.NEXT_BANK_B if following else Condition.NEXT_BANK_A)
                    if condition not in holds:
                        skipped_to = instruction.index + 1 + instruction.field
                case Opcode.END:
                    self.parity ^= instruction.field & 0xFFFF
                    yield Pause(Opcode.END, ())
                case Opcode.MARK:
                    yield Pause(Opcode.MARK, (instruction.field,))
                case _:
                    operands = (count, instruction.field, *instruction.operands)
                    yield Pause(instruction.opcode, operands)


class GroupedRegisters:
    """Storage of a register window with two groups per unit."""

    def __init__(self, traits: RegisterTraits) -> None:
        self._traits = traits
        self._group: dict[int, int] = {}
        self._values: dict[tuple[int, int], int] = {}

    def write(self, write: RegisterWrite) -> None:
        """Store a value in the group that the unit's pointer selects."""
        block = self._traits.block(write.register)
        if write.is_pointer:
            self._group[block] = write.value & 1
        elif self._traits.is_group_register(write.register):
            self._values[write.register, self._group.get(block, 0)] = write.value

    def seen_by(self, register: int) -> dict[int, int]:
        """Register -> value of the selected group of the unit that owns `register`."""
        block = self._traits.block(register)
        group = self._group.get(block, 0)
        return {
            offset: value
            for (offset, owner), value in self._values.items()
            if owner == group and self._traits.block(offset) == block
        }
