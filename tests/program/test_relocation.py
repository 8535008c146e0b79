"""Addresses inside constant data, by hand."""

from __future__ import annotations

import pytest

from fwgen.errors import FitError
from fwgen.plan.layout import Layout, Placement
from fwgen.program.commands import AddressOf
from fwgen.program.program import Buffer, Program, Relocation, Role, Space
from fwgen.program.relocation import contents
from fwgen.program.resolve import check_addresses

LAYOUT = Layout(
    "board",
    (Placement(0, "ram", 0x20000100, 0x100), Placement(1, "ram", 0x12345640, 0x40)),
    (),
)


def _buffer(data: bytes, *relocations: Relocation) -> Buffer:
    return Buffer(
        0, "table", len(data), 64, Role.CONSTANT, data, -1, 1, False, Space.DRAM, "", relocations
    )


def test_a_whole_word_becomes_the_address() -> None:
    buffer = _buffer(b"\xaa" * 12, Relocation(4, AddressOf(1, 0x10)))
    assert contents(buffer, LAYOUT) == b"\xaa" * 4 + bytes.fromhex("50563412") + b"\xaa" * 4


def test_a_field_keeps_the_bits_above_it() -> None:
    """0x12345640 / 64 = 0x48d159; the upper 6 bits of 0xfc000003 stay."""
    buffer = _buffer(bytes.fromhex("030000fc"), Relocation(0, AddressOf(1), shift=6, bits=26))
    assert contents(buffer, LAYOUT) == (0xFC48D159).to_bytes(4, "little")


def test_what_does_not_fit_is_a_mistake_of_the_lowering() -> None:
    with pytest.raises(ValueError, match="no word"):
        contents(_buffer(bytes(6), Relocation(4, AddressOf(1))), LAYOUT)
    with pytest.raises(ValueError, match="more than 26 bits"):
        contents(_buffer(bytes(4), Relocation(0, AddressOf(1), bits=26)), LAYOUT)


def test_no_buffer_lies_where_the_accelerator_sees_its_own_memory() -> None:
    def program(low: int, high: int) -> Program:
        first = _buffer(bytes(0x100))
        second = Buffer(1, "act", 0x40, 64, Role.INTERNAL, None, 0, 0, False, Space.DRAM, "")
        return Program(
            "vip", "c", "m", "0" * 64, 32, (first, second), (), (), (), (), shadows=((low, high),)
        )

    check_addresses(program(0x12345680, 0x12346000), LAYOUT)
    check_addresses(program(0x20000200, 0x20001000), LAYOUT)
    for low, high in ((0x20000000, 0x20000101), (0x1234567F, 0x12346000)):
        with pytest.raises(FitError, match="its own memory") as caught:
            check_addresses(program(low, high), LAYOUT)
        assert f"0x{low:x}" in str(caught.value.expected)
