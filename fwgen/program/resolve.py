"""Turns symbolic values into numbers once a Layout is known."""

from __future__ import annotations

from fwgen.errors import FitError
from fwgen.plan.layout import Layout
from fwgen.program.commands import AddressOf, Value
from fwgen.program.program import Program

WORD_MASK = 0xFFFFFFFF

Key = int | AddressOf
"""What two values are compared by: the number, or the symbol while there is none."""


def resolve(value: Value, layout: Layout) -> int:
    """The 32-bit number that is written for a value."""
    if isinstance(value, AddressOf):
        address = layout.address(value.buffer) + value.offset
        return (address >> 32) & WORD_MASK if value.high else address & WORD_MASK
    return value & WORD_MASK


def value_key(value: Value, layout: Layout | None) -> Key:
    """Equal for values that are certainly equal; numbers wherever possible."""
    if layout is not None:
        return resolve(value, layout)
    return value if isinstance(value, AddressOf) else value & WORD_MASK


def check_addresses(program: Program, layout: Layout) -> None:
    """Check that the accelerator can address every buffer where it was placed.

    Raises:
        FitError: a buffer ends above the accelerator's address range.
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
