"""Constants that hold addresses, in packages whose address differs from slot to slot.

Command buffers and descriptors of some accelerators name the places of weights and of each
other. Where models stay in their slot, a package carries such constants once for each of
its addresses; everything else stands there once.
"""

from __future__ import annotations

from dataclasses import replace

from fwgen.plan.layout import Layout
from fwgen.program.program import Buffer, Program, Role


def with_copies(program: Program, addresses: int) -> Program:
    """The program with a copy of each constant that holds addresses, for each further address.

    The copies follow the buffers of the program, all of the second address first; no command
    names them.
    """
    held = _holders(program)
    copies: list[Buffer] = []
    for number in range(1, addresses):
        for buffer in held:
            copies.append(
                replace(
                    buffer,
                    id=len(program.buffers) + len(copies),
                    name=f"{buffer.name}_at{number}",
                    origin=f"{buffer.origin}, for address {number}",
                )
            )
    return replace(program, buffers=(*program.buffers, *copies))


def layout_at(program: Program, layout: Layout, number: int) -> Layout:
    """What the commands of one address see: the constants that were copied for it.

    Args:
        program: without copies.
        layout: of the program with copies, at that address.
        number: of the address, from 0.
    """
    placements = list(layout.placements[: len(program.buffers)])
    if number:
        held = _holders(program)
        first = len(program.buffers) + (number - 1) * len(held)
        for copy, buffer in enumerate(held, first):
            placements[buffer.id] = replace(layout.placements[copy], buffer=buffer.id)
    return replace(layout, placements=tuple(placements))


def _holders(program: Program) -> list[Buffer]:
    return [b for b in program.buffers if b.role is Role.CONSTANT and b.relocations]
