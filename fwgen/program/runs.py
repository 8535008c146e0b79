"""Which writes share a command: the cheapest cover of registers by RUN and SET.

The encoding (docs/program.md) has two forms of a register write: RUN, one header
word and a word per consecutive register, and SET, one word for a value below
256. This module decides where one command ends and the next begins. The
optimiser uses it to judge whether rewriting a known value closes a gap
profitably, the encoder to write the words; both get the same answer because
they ask the same question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

RUN_LIMIT = 255
"""Largest number of values in one RUN or PORT command."""

SET_LIMIT = 256
"""Values below this fit the SET command."""

GAP_LIMIT = 2
"""Longest gap, in registers, that is considered for bridging."""

# Weights of the cost. A word costs four bytes of flash and, in the executor, about
# four instructions; a command costs about as much again for its dispatch.
WORD_COST = 4
COMMAND_COST = 3

REGISTER_STRIDE = 4
"""Bytes from a register to the next."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One command: `count` registers from byte offset `register` on."""

    register: int
    count: int
    is_set: bool

    @property
    def words(self) -> int:
        """Length of the command in words."""
        return 1 if self.is_set else 1 + self.count


def plan_chunks(
    registers: Sequence[int],
    is_small: Callable[[int], bool],
    may_bridge: Callable[[int], bool] = lambda _register: False,
) -> list[Chunk]:
    """Cover strictly ascending registers by commands at the least cost.

    Args:
        registers: byte offsets that must be written, strictly ascending.
        is_small: whether the value for a register is below SET_LIMIT.
        may_bridge: whether a register outside `registers` may be written too.

    Returns:
        Chunks in ascending order. They cover `registers`, and of others only
        registers for which `may_bridge` holds.
    """
    count = len(registers)
    # best[i]: least cost of covering registers[i:], and the end of the first chunk.
    best: list[tuple[int, int, bool]] = [(0, count, False)] * (count + 1)
    for start in range(count - 1, -1, -1):
        choice: tuple[int, int, bool] | None = None
        if is_small(registers[start]):
            cost = WORD_COST + COMMAND_COST + best[start + 1][0]
            choice = (cost, start + 1, True)
        end = start
        while True:
            length = (registers[end] - registers[start]) // REGISTER_STRIDE + 1
            if length > RUN_LIMIT:
                break
            cost = WORD_COST * (1 + length) + COMMAND_COST + best[end + 1][0]
            if choice is None or cost < choice[0]:
                choice = (cost, end + 1, False)
            if end + 1 == count or not _joins(registers[end], registers[end + 1], may_bridge):
                break
            end += 1
        assert choice is not None
        best[start] = choice
    chunks = []
    position = 0
    while position < count:
        _, end, is_set = best[position]
        first = registers[position]
        length = (registers[end - 1] - first) // REGISTER_STRIDE + 1
        chunks.append(Chunk(first, length, is_set))
        position = end
    return chunks


def _joins(left: int, right: int, may_bridge: Callable[[int], bool]) -> bool:
    gap = range(left + REGISTER_STRIDE, right, REGISTER_STRIDE)
    return len(gap) <= GAP_LIMIT and all(may_bridge(register) for register in gap)
