"""NVDLA's registers as the optimiser sees them (NVDLA register manual).

Registers called D_* exist once per ping-pong group and only store their value
until D_OP_ENABLE is written. All others act at once or are shared by both groups.
"""

from __future__ import annotations

from fwgen.accel.nvdla.registers import REGISTERS, register_name

BLOCK_SIZE = 0x1000
"""Every unit's registers lie in a 4 KiB block of their own."""

_STORED = frozenset(
    register.offset
    for register in REGISTERS.values()
    if register.grouped and register.writable and not register.name.endswith(".D_OP_ENABLE")
)


class NvdlaTraits:
    """`fwgen.program.traits.RegisterTraits` of the nv_small to nv_large register map."""

    def block(self, offset: int) -> int:
        """Byte offset of the unit's block."""
        return offset // BLOCK_SIZE * BLOCK_SIZE

    def is_group_register(self, offset: int) -> bool:
        """True for the writable D_* registers, D_OP_ENABLE excepted."""
        return offset in _STORED

    def is_ordered(self, offset: int) -> bool:
        """True for everything that acts at once, and for what is not known."""
        return offset not in _STORED

    def name(self, offset: int) -> str:
        """Name of the register, or its offset."""
        return register_name(offset) or f"0x{offset:05x}"


TRAITS = NvdlaTraits()
