"""Turns symbolic values into numbers once a Layout is known."""

from __future__ import annotations

from collections.abc import Mapping

from fwgen.errors import FitError
from fwgen.plan.layout import Layout
from fwgen.program.commands import AddressOf, Value
from fwgen.program.program import Program

WORD_MASK = 0xFFFFFFFF

Key = int | AddressOf
"""What two values are compared by: the number, or the symbol while there is none."""


def resolve(value: Value, layout: Layout, second: Mapping[int, int] | None = None) -> int:
    """The 32-bit number that is written for a value.

    Args:
        second: where given, the buffers of the second bank by those of the first: the
            number is that of a run in the second bank.
    """
    if isinstance(value, AddressOf):
        buffer = value.buffer if second is None else second.get(value.buffer, value.buffer)
        address = layout.address(buffer) + value.offset
        return (address >> 32) & WORD_MASK if value.high else address & WORD_MASK
    return value & WORD_MASK


def value_key(value: Value, layout: Layout | None, second: Mapping[int, int] | None = None) -> Key:
    """Equal for values that are certainly equal; numbers wherever possible.

    What differs from bank to bank stays a symbol.
    """
    if layout is not None:
        number = resolve(value, layout)
        if not second or number == resolve(value, layout, second):
            return number
    return value if isinstance(value, AddressOf) else value & WORD_MASK


def check_addresses(program: Program, layout: Layout) -> None:
    """Check that the accelerator can address every buffer where it was placed.

    Raises:
        FitError: a buffer ends above the accelerator's address range, or lies where the
            accelerator sees memory of its own.
    """
    limit = 1 << program.address_bits
    for placement in layout.placements:
        end = placement.address + placement.size
        if end > limit:
            buffer = program.buffers[placement.buffer]
            raise FitError(
                f"buffer {buffer.name} lies outside the accelerator's address range",
                where=f"region {placement.region}, 0x{placement.address:x}..0x{end:x}",
                expected=f"addresses below 0x{limit:x} ({program.address_bits} bits)",
                hints=("Allow DMA only in regions of the board that the accelerator reaches.",),
            )
        for low, high in program.shadows:
            if placement.address < high and low < end:
                buffer = program.buffers[placement.buffer]
                raise FitError(
                    f"buffer {buffer.name} lies where the accelerator sees its own memory",
                    where=f"region {placement.region}, 0x{placement.address:x}..0x{end:x}",
                    expected=f"addresses outside 0x{low:x}..0x{high:x}",
                    hints=("Begin the board's regions for DMA behind that range.",),
                )
