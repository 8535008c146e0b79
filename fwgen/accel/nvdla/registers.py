"""The NVDLA register map as an interface: names, offsets, fields (NVDLA register manual).

Names are "BLOCK.REGISTER" ("CDMA.D_BANK"). Offsets are byte offsets in
the register window of nv_small to nv_large. nv_full has other block bases
and is not supported.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fwgen.accel.nvdla.register_map import BLOCKS

WINDOW_SIZE: Final = 0x20000


@dataclass(frozen=True, slots=True)
class Field:
    """Bits [lsb, lsb + width) of a register."""

    name: str
    lsb: int
    width: int
    read_only: bool

    @property
    def mask(self) -> int:
        """The field's bits in place."""
        return ((1 << self.width) - 1) << self.lsb


@dataclass(frozen=True, slots=True)
class Register:
    """One 32-bit register."""

    name: str
    offset: int
    reset: int
    fields: tuple[Field, ...]

    @property
    def block(self) -> str:
        """The block's name ("CDMA")."""
        return self.name.partition(".")[0]

    @property
    def grouped(self) -> bool:
        """True for registers that exist once per ping-pong group."""
        return self.name.partition(".")[2].startswith("D_")

    @property
    def writable(self) -> bool:
        """True if software can write any field."""
        return any(not f.read_only for f in self.fields)


def _parse() -> dict[str, Register]:
    registers: dict[str, Register] = {}
    for block, (base, text) in BLOCKS.items():
        for line in text.replace("\n            +", "").strip().splitlines():
            offset, name, reset, *fields = line.split()
            parsed = []
            for item in fields:
                field, lsb, width = item.split(":")
                parsed.append(Field(field, int(lsb), int(width.rstrip("r")), width.endswith("r")))
            full = f"{block}.{name}"
            registers[full] = Register(full, base + int(offset, 16), int(reset, 16), tuple(parsed))
    return registers


_REGISTERS = _parse()
_BY_OFFSET = {register.offset: register for register in _REGISTERS.values()}

REGISTERS = MappingProxyType(_REGISTERS)
"""Every register by name."""

OFFSETS = MappingProxyType({name: register.offset for name, register in _REGISTERS.items()})
"""Byte offset of every register by name."""

FIELDS = MappingProxyType({name: register.fields for name, register in _REGISTERS.items()})
"""Fields of every register by name."""

BLOCK_BASES = MappingProxyType({block: base for block, (base, _) in BLOCKS.items()})
"""Byte offset of every block by name."""


def register_name(offset: int) -> str | None:
    """Name of the register at a byte offset ("CDMA.D_BANK"), None if there is none."""
    register = _BY_OFFSET.get(offset)
    return register.name if register else None


class FieldOverflow(ValueError):
    """A value does not fit the field it is meant for."""


def _fits(value: int, width: int) -> bool:
    """Whether a value is representable, unsigned or in two's complement."""
    return -(1 << (width - 1)) <= value < (1 << width)


def encode(register: str, fields: dict[str, int]) -> int:
    """Assemble a register from fields; unnamed bits are 0.

    Negative values are two's complement in the field's width. Raises
    FieldOverflow if a value fits neither signed nor unsigned.
    """
    known = {field.name: field for field in FIELDS[register]}
    word = 0
    for name, value in fields.items():
        field = known[name]
        if not _fits(value, field.width):
            raise FieldOverflow(f"{register}.{name} has {field.width} bits, the value is {value}")
        word |= (value & ((1 << field.width) - 1)) << field.lsb
    return word


def encode_raw(register: str, value: int) -> int:
    """A whole word from one value, sign extended to 32 bits as NVIDIA's firmware writes it.

    Raises FieldOverflow if the value needs more bits than the register's fields
    offer: the hardware would drop the rest.
    """
    width = max(field.lsb + field.width for field in FIELDS[register])
    if not _fits(value, width):
        raise FieldOverflow(f"{register} has {width} bits, the value is {value}")
    return value & 0xFFFFFFFF


def decode(register: str, word: int) -> dict[str, int]:
    """The unsigned value of every field of a register word."""
    return {f.name: (word & f.mask) >> f.lsb for f in FIELDS[register]}
