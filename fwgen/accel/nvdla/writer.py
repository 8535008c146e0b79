"""Collects the register writes of one operation, in order, with range checks.

Values follow NVIDIA's firmware: a register is either assembled from fields or
written as one sign-extended word. Addresses stay symbolic.
"""

from __future__ import annotations

from collections.abc import Callable

from fwgen.accel.nvdla.registers import OFFSETS, FieldOverflow, encode, encode_raw
from fwgen.model.nvdla.descriptors import CubeType
from fwgen.program.commands import AddressOf, Value, Write, WritePort

Place = tuple[int, int]
"""Buffer id and byte offset in it."""

Resolve = Callable[[str], Place | None]
"""Where the cube of a role ("src", "dst", "weights", "x1", ...) lies; None for nowhere."""


def less_one(value: int) -> int:
    """value - 1 for registers that count from zero; FieldOverflow if there is nothing to count."""
    if value < 1:
        raise FieldOverflow("a size, count or stride is 0")
    return value - 1


def less_one_or_zero(value: int) -> int:
    """value - 1, but 0 for 0 (partial widths that are not in use)."""
    return value - 1 if value else 0


def ram(cube_type: int) -> int:
    """RAM_TYPE bit: 1 for the main memory port, 0 for CVSRAM; the hardware ignores it else."""
    return 0 if cube_type == CubeType.CV else 1


def signed(value: int, bits: int) -> int:
    """The low `bits` of a value read as two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class RowWriter:
    """Register writes of one operation.

    Every method may raise FieldOverflow.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self.commands: list[Write | WritePort] = []

    def _put(self, register: str, value: Value) -> None:
        self.commands.append(Write(OFFSETS[register], value))

    def fields(self, register: str, **fields: int) -> None:
        """Write a register assembled from fields; unnamed bits are 0."""
        self._put(register, encode(register, {k: int(v) for k, v in fields.items()}))

    def raw(self, register: str, value: int) -> None:
        """Write one sign-extended value."""
        self._put(register, encode_raw(register, int(value)))

    def port(self, register: str, values: tuple[int, ...]) -> None:
        """Write values one after another to the same register."""
        words = tuple(encode_raw(register, value) for value in values)
        self.commands.append(WritePort(OFFSETS[register], words))

    def low(self, register: str, role: str, add: int = 0) -> None:
        """Write bits 31:0 of a cube's address plus `add` bytes, 0 if it lies nowhere."""
        self._address(register, role, add, high=False)

    def high(self, register: str, role: str, add: int = 0) -> None:
        """Write bits 63:32 of a cube's address plus `add` bytes, 0 if it lies nowhere."""
        self._address(register, role, add, high=True)

    def _address(self, register: str, role: str, add: int, *, high: bool) -> None:
        place = self._resolve(role)
        if place is None:
            self._put(register, 0)
        else:
            self._put(register, AddressOf(place[0], place[1] + add, high))
