"""A register map of two small units, for tests that need no real accelerator."""

from __future__ import annotations

import pytest

from fwgen.plan.layout import Arena, Layout, Placement


class TwoUnits:
    """Blocks of 4 KiB at 0x1000 and 0x2000 with S_ registers below 0x10.

    +0x00 status, +0x04 pointer, +0x08 table port, +0x0c enable, then 60
    configuration registers per group.
    """

    def block(self, offset: int) -> int:
        return offset & ~0xFFF

    def is_group_register(self, offset: int) -> bool:
        return 0x1000 <= offset < 0x3000 and 0x10 <= offset & 0xFFF < 0x100

    def is_ordered(self, offset: int) -> bool:
        return not self.is_group_register(offset)

    def name(self, offset: int) -> str:
        unit = {1: "A", 2: "B"}.get(offset >> 12)
        return f"{unit}.R{offset & 0xFFF:03x}" if unit else f"0x{offset:05x}"


@pytest.fixture(scope="session")
def traits() -> TwoUnits:
    return TwoUnits()


@pytest.fixture(scope="session")
def layout() -> Layout:
    """Three buffers below and above 4 GiB."""
    return Layout(
        board="test",
        placements=(
            Placement(0, "ram", 0x2000_0000, 0x100),
            Placement(1, "ram", 0x2000_0100, 0x40),
            Placement(2, "high", 0x1_8000_0040, 0x40),
        ),
        arenas=(Arena("ram", "tensors", 0x2000_0000, 0x140, 0x140),),
    )
