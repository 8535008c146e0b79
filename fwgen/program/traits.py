"""What the optimiser and the disassembler must know about a register map.

Each accelerator family provides one object of this shape
(`fwgen.accel.<family>.traits`). The program package itself knows no register.
"""

from __future__ import annotations

from typing import Protocol


class RegisterTraits(Protocol):
    """Facts about the registers of one accelerator configuration.

    Offsets are byte offsets in the accelerator's register window.
    """

    def block(self, offset: int) -> int:
        """A number that is the same for all registers of one unit, e.g. its base offset."""
        ...

    def is_group_register(self, offset: int) -> bool:
        """True if the unit has one copy of this register per ping-pong group."""
        ...

    def is_ordered(self, offset: int) -> bool:
        """True if a write acts at once, so that it must keep its place and its count.

        Pointers, enables, table ports, interrupt registers and everything that is
        shared by both groups are ordered. A register that is not ordered only
        stores its value until the unit is enabled.
        """
        ...

    def name(self, offset: int) -> str:
        """Readable name ("CDMA.D_BANK"); the offset in hexadecimal if there is none."""
        ...
