"""The words of a model's program, as firmware and packages hold them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fwgen.accel.registry import family
from fwgen.board.types import Board
from fwgen.codegen.cortex_a import is_cortex_a
from fwgen.plan.layout import Layout
from fwgen.program.commands import Cache, Command, Only
from fwgen.program.encode import EncodedLine, encode
from fwgen.program.optimise import optimise
from fwgen.program.program import Program

CACHED_CORES = ("cortex-m7", "cortex-m55", "cortex-m85")


@dataclass(frozen=True, slots=True)
class EncodedProgram:
    """A program and its encoding.

    Attributes:
        program: without what the board does not need.
        lines: of the plain run.
        pipelined: of the pipelined run; empty without one.
    """

    program: Program
    lines: list[EncodedLine]
    pipelined: list[EncodedLine]


def encode_program(
    program: Program, layout: Layout, board: Board, *, optimised: bool = True
) -> EncodedProgram:
    """Encode a program for a board.

    Args:
        optimised: leave out register writes that change nothing.
    """
    if not has_cache(board):
        program = _without_cache(program)
    traits = family(program.family).register_traits(program.config)
    if optimised:
        program = optimise(program, traits, layout)
    return EncodedProgram(
        program,
        encode(program, layout, traits),
        encode(program, layout, traits, pipelined=True) if program.pipelined else [],
    )


def has_cache(board: Board) -> bool:
    """Whether the firmware switches on a data cache, so that CACHE commands mean something."""
    can_cache = board.cpu.core in CACHED_CORES or is_cortex_a(board)
    return can_cache and any(memory.cached for memory in board.memories)


def _without_cache(program: Program) -> Program:
    def without(commands: tuple[Command, ...]) -> tuple[Command, ...]:
        return tuple(
            Only(c.condition, without(c.commands)) if isinstance(c, Only) else c
            for c in commands
            if not isinstance(c, Cache)
        )

    return replace(
        program, commands=without(program.commands), pipelined=without(program.pipelined)
    )
