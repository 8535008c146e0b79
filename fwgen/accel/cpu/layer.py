"""One hardware layer as its registers describe it (NVDLA register manual).

The NVDLA lowering turns descriptors into register fields and is checked against the
firmware of the hardware, field by field. The CPU family starts from the same fields, so
that it computes what the hardware would compute, and gives them to kernels that know no
register.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fwgen.accel.nvdla.registers import OFFSETS, REGISTERS
from fwgen.accel.nvdla.writer import signed
from fwgen.program.commands import AddressOf, Value, Write, WritePort

_FIELDS = {
    f"{name}.{field.name}": (register.offset, field.lsb, field.width)
    for name, register in REGISTERS.items()
    for field in register.fields
}
_RESETS = {register.offset: register.reset for register in REGISTERS.values()}

Tables = tuple[tuple[int, ...], tuple[int, ...]]
"""The entries of a unit's two look-up tables, signed."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Registers by offset, as they stand when their units start; and the tables by block."""

    values: Mapping[int, Value]
    tables: Mapping[str, Tables]

    def value(self, register: str) -> Value:
        """A whole register ("CDMA.D_DAIN_ADDR_LOW_0"): a number or an address."""
        offset = OFFSETS[register]
        return self.values.get(offset, _RESETS[offset])

    def word(self, register: str) -> int:
        """A whole register that holds a number."""
        value = self.value(register)
        assert not isinstance(value, AddressOf), register
        return value

    def field(self, name: str) -> int:
        """An unsigned field ("SDP.D_CVT_SHIFT.CVT_SHIFT")."""
        offset, lsb, width = _FIELDS[name]
        value = self.values.get(offset, _RESETS[offset])
        assert not isinstance(value, AddressOf), name
        return value >> lsb & ((1 << width) - 1)

    def signed(self, name: str, bits: int | None = None) -> int:
        """A signed field, or its low `bits` bits."""
        return signed(self.field(name), bits or _FIELDS[name][2])

    def size(self, name: str) -> int:
        """A field that counts from zero, as a number of things."""
        return self.field(name) + 1


_PORTS = {OFFSETS[f"{block}.S_LUT_ACCESS_DATA"]: block for block in ("SDP", "CDP")}
_ACCESS = {OFFSETS[f"{block}.S_LUT_ACCESS_CFG"]: block for block in ("SDP", "CDP")}
_TABLE_BIT = 16


def layer_of(rows: Iterable[Write | WritePort]) -> Layer:
    """The layer that register writes describe."""
    values: dict[int, Value] = {}
    entries: dict[str, dict[int, tuple[int, ...]]] = {}
    selected: dict[str, int] = {}
    for row in rows:
        if isinstance(row, WritePort):
            block = _PORTS[row.register]
            table = tuple(signed(value, 16) for value in row.values)
            entries.setdefault(block, {})[selected[block]] = table
            continue
        if row.register in _ACCESS:
            assert isinstance(row.value, int)
            selected[_ACCESS[row.register]] = row.value >> _TABLE_BIT & 1
        values[row.register] = row.value
    return Layer(values, {block: (found[0], found[1]) for block, found in entries.items()})
