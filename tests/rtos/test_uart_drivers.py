"""UART drivers against a bank of registers: what is written, in which order, what is waited for.

Expected values are calculated by hand from the data sheets that the drivers name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
DRIVERS = HERE.parent.parent / "rtos" / "drivers"
CLOCK = 24_000_000

HostBuild = Callable[..., Path]


@dataclass(frozen=True)
class Case:
    """One driver's registers.

    Attributes:
        number: in uart_harness.c.
        rates: (clock, baud) -> registers that make it.
        before: pairs of offsets: the first is written before the last write of the second.
        room: status register, its value with room to send and without.
        data: registers that hold a received byte 0x5a, and an empty receiver.
        overrun: the same with a byte and a lost one.
        send: register that takes a byte.
        listening: registers that must have been written so at the end of listen().
    """

    number: int
    rates: dict[tuple[int, int], dict[int, int]]
    before: tuple[tuple[int, int], ...]
    room: tuple[int, int, int]
    data: tuple[dict[int, int], dict[int, int]]
    overrun: dict[int, int]
    send: int
    listening: dict[int, int]


CASES = {
    # 24 MHz / (16 * 1.5 MHz) = 1; / (16 * 115200) = 13.02. Divisor latch while LCR bit 7 is set.
    "dw_apb": Case(
        0,
        {
            (CLOCK, 1_500_000): {0x00: 1, 0x04: 0, 0x0C: 0x03, 0x08: 0x07},
            (CLOCK, 115_200): {0x00: 13, 0x04: 0},
            (CLOCK, 4_800): {0x00: 0x39, 0x04: 0x01},  # 312.5, rounded to 313
        },
        ((0x00, 0x0C), (0x04, 0x0C)),
        (0x14, 0x60, 0x00),
        ({0x14: 0x61, 0x00: 0x5A}, {0x14: 0x60}),
        {0x14: 0x63, 0x00: 0x5A},
        0x00,
        {0x04: 1},
    ),
    # 13.0208: 13 and 1.33 of 64; 1.0: 1 and 0. LCR_H after the divisor; 8 bits, FIFOs.
    "pl011": Case(
        1,
        {
            (CLOCK, 115_200): {0x24: 13, 0x28: 1, 0x2C: 0x70, 0x30: 0x101},
            (CLOCK, 1_500_000): {0x24: 1, 0x28: 0},
            (CLOCK, 460_800): {0x24: 3, 0x28: 16},  # 3.2552: 16.33 of 64
        },
        ((0x24, 0x2C), (0x28, 0x2C), (0x2C, 0x30)),
        (0x18, 0x10, 0x20),
        ({0x18: 0x00, 0x00: 0x5A}, {0x18: 0x10}),
        {0x18: 0x00, 0x00: 0x85A},
        0x00,
        {0x38: 0x50, 0x30: 0x301},
    ),
    # reference / (UBMR + 1) with UBIR 15: 24 MHz / 208 = 115385; / 16 = 1.5 MHz.
    "imx": Case(
        2,
        {
            (CLOCK, 115_200): {0xA4: 15, 0xA8: 207, 0x90: 0x0A81, 0x80: 1, 0x84: 0x4025},
            (CLOCK, 1_500_000): {0xA4: 15, 0xA8: 15},
        },
        ((0xA4, 0xA8), (0x90, 0xA4), (0xA8, 0x80)),
        (0x94, 1 << 13, 0),
        ({0x00: 0x805A}, {0x00: 0x005A}),
        {0x00: 0xA05A},
        0x40,
        {0x84: 0x4027, 0x80: 0x201},
    ),
    # 8 MHz / 115200 = 69.4, minus 1; another clock: 166.7 MHz / 4 / 115200 = 361.7, minus 1.
    "meson": Case(
        3,
        {
            (CLOCK, 115_200): {0x14: 0x01800000 | 68, 0x08: 0x9000},
            (166_666_667, 115_200): {0x14: 0x00800000 | 361},
        },
        (),
        (0x0C, 0, 1 << 21),
        ({0x0C: 1, 0x04: 0x5A}, {0x0C: 1 << 20}),
        {0x0C: 1 | 1 << 24, 0x04: 0x5A},
        0x00,
        {0x08: 0x0800B000},
    ),
}


@pytest.fixture(scope="module")
def library(host_build: HostBuild) -> ctypes.CDLL:
    sources = [HERE / "host/uart_harness.c", *(DRIVERS / f"uart_{name}.c" for name in CASES)]
    return ctypes.CDLL(str(host_build("uart.so", sources, "-shared", "-fPIC")))


class Port:
    """A driver on its registers."""

    def __init__(self, library: ctypes.CDLL, case: Case, clock: int, baud: int) -> None:
        self._library = library
        self._registers = (ctypes.c_uint32 * 64).in_dll(library, "uart_registers")
        library.uart_choose(case.number, clock, baud)

    def set(self, registers: dict[int, int]) -> None:
        for offset, value in registers.items():
            self._registers[offset // 4] = value

    @property
    def writes(self) -> list[tuple[int, int]]:
        count = ctypes.c_uint32.in_dll(self._library, "uart_log_count").value
        log = ((ctypes.c_uint32 * 2) * 256).in_dll(self._library, "uart_log")
        return [(log[i][0], log[i][1]) for i in range(count)]

    @property
    def reads(self) -> int:
        return int(ctypes.c_uint32.in_dll(self._library, "uart_reads").value)


def started(library: ctypes.CDLL, name: str, rate: tuple[int, int] = (CLOCK, 115_200)) -> Port:
    port = Port(library, CASES[name], *rate)
    # A transmitter that is idle, and an i.MX whose reset is over.
    port.set({"dw_apb": {0x14: 0x60}, "imx": {0x84: 1}}.get(name, {}))
    library.uart_start()
    return port


@pytest.mark.parametrize(
    ("name", "rate"), [(name, rate) for name, case in CASES.items() for rate in case.rates]
)
def test_start(library: ctypes.CDLL, name: str, rate: tuple[int, int]) -> None:
    case = CASES[name]
    writes = started(library, name, rate).writes
    if name == "dw_apb":
        # 0x00 and 0x04 are the divisor only between these two writes.
        begin, end = writes.index((0x0C, 0x83)), writes.index((0x0C, 0x03))
        assert begin < end
        assert {offset for offset, _ in writes[begin + 1 : end]} == {0x00, 0x04}
    last = dict(writes)
    assert {offset: last[offset] for offset in case.rates[rate]} == case.rates[rate]
    order = [offset for offset, _ in writes]
    for first, second in case.before:
        assert order.index(first) < len(order) - 1 - order[::-1].index(second)


@pytest.mark.parametrize("name", CASES)
def test_receive(library: ctypes.CDLL, name: str) -> None:
    case = CASES[name]
    port = started(library, name)
    overrun = ctypes.c_bool(False)
    byte, empty = case.data
    port.set(byte)
    assert (library.uart_get(ctypes.byref(overrun)), overrun.value) == (0x5A, False)
    port.set(empty)
    assert (library.uart_get(ctypes.byref(overrun)), overrun.value) == (-1, False)
    port.set(case.overrun)
    assert (library.uart_get(ctypes.byref(overrun)), overrun.value) == (0x5A, True)


@pytest.mark.parametrize("name", CASES)
def test_send_waits_for_room_but_not_for_ever(library: ctypes.CDLL, name: str) -> None:
    case = CASES[name]
    status, room, full = case.room
    port = started(library, name)
    port.set({status: room})
    before = port.reads
    library.uart_put(0x41)
    assert port.writes[-1] == (case.send, 0x41)
    assert port.reads == before + 1
    port.set({status: full})
    library.uart_put(0x42)
    assert port.reads > before + 100_000


@pytest.mark.parametrize("name", CASES)
def test_listen(library: ctypes.CDLL, name: str) -> None:
    case = CASES[name]
    port = started(library, name)
    receiving = {"pl011": (0x30, 1 << 9), "imx": (0x84, 1 << 1), "meson": (0x08, 1 << 13)}
    if name in receiving:
        offset, bit = receiving[name]
        assert not any(value & bit for at, value in port.writes if at == offset)
    library.uart_listen()
    last = dict(port.writes)
    assert {offset: last[offset] for offset in case.listening} == case.listening


def test_busy_interrupt_of_dw_apb_is_cleared(library: ctypes.CDLL) -> None:
    """IIR 7 goes away only by a read of USR."""
    port = started(library, "dw_apb")
    port.set({0x08: 0xC7})
    before = port.reads
    library.uart_acknowledge()
    assert port.reads == before + 2
    port.set({0x08: 0xC4})
    before = port.reads
    library.uart_acknowledge()
    assert port.reads == before + 1
