"""The protocol of the STM32 ROM loader over a UART, 8E1.

STMicroelectronics AN3155, "USART protocol used in the STM32 bootloader". A command is a
byte and its complement; each stage is answered by ACK (0x79) or NACK (0x1f). Addresses
are 4 bytes, high byte first, and the XOR of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from fwgen.flash.line import Line, TransferError

ACK, NACK, SYNC = 0x79, 0x1F, 0x7F
GET, GET_ID, READ, GO, WRITE, ERASE, EXTENDED_ERASE = 0x00, 0x02, 0x11, 0x21, 0x31, 0x43, 0x44
LONGEST = 256
"""Bytes of one read or write."""

_NAMES = {
    GET: "GET",
    GET_ID: "GET ID",
    READ: "READ MEMORY",
    GO: "GO",
    WRITE: "WRITE MEMORY",
    ERASE: "ERASE",
    EXTENDED_ERASE: "EXTENDED ERASE",
}
_LONGEST_COMMAND = LONGEST + 8


class Refused(TransferError):
    """NACK: wrong address, damaged bytes, or a protected device."""


def xor(data: bytes) -> int:
    """The checksum of AN3155."""
    return reduce(lambda a, b: a ^ b, data, 0)


class Stm32Loader:
    """A ROM loader at the other end of a line.

    Args:
        answer_seconds: for an ACK.
        erase_seconds: for the ACK of an erase.
    """

    def __init__(
        self, line: Line, *, answer_seconds: float = 2.0, erase_seconds: float = 60.0
    ) -> None:
        self._line = line
        self._answer_seconds = answer_seconds
        self._erase_seconds = erase_seconds

    def sync(self, attempts: int) -> bool:
        """Make the loader measure the speed, or find it waiting for a command.

        The first 0x7f after a reset is acknowledged. Later ones are half a command, two of
        them a wrong one. If the loader waits for the rest of a block, they fill it up.
        """
        for _ in range(attempts):
            self._line.discard()
            self._line.send(bytes([SYNC]))
            if self._answer(0.3) is not None:
                return True
        return False

    def resync(self) -> bool:
        """After a lost byte: until the loader says NACK, it may wait for up to a block."""
        self._line.until_quiet(0.1, 2.0)
        for _ in range(_LONGEST_COMMAND):
            self._line.send(bytes([SYNC]))
            if self._answer(0.05) is not None:
                self._line.until_quiet(0.1, 1.0)
                return True
        return False

    def commands(self) -> tuple[int, frozenset[int]]:
        """Version of the protocol (0x31: 3.1) and the commands that it has."""
        self._command(GET)
        count = self._bytes(1, "GET")[0] + 1
        data = self._bytes(count, "GET")
        self._expect("GET")
        return data[0], frozenset(data[1:])

    def product_id(self) -> int:
        """What AN2606 lists the devices by."""
        self._command(GET_ID)
        count = self._bytes(1, "GET ID")[0] + 1
        data = self._bytes(count, "GET ID")
        self._expect("GET ID")
        return int.from_bytes(data, "big")

    def erase_all(self, commands: frozenset[int]) -> None:
        """The whole flash."""
        if EXTENDED_ERASE in commands:
            self._command(EXTENDED_ERASE)
            self._line.send(b"\xff\xff\x00")
        else:
            self._command(ERASE)
            self._line.send(b"\xff\x00")
        self._expect("erasing the flash", self._erase_seconds)

    def erase_pages(self, pages: Sequence[int], commands: frozenset[int]) -> None:
        """Pages by number."""
        extended = EXTENDED_ERASE in commands
        width, most = (2, 0x1000) if extended else (1, 255)
        for start in range(0, len(pages), most):
            some = pages[start : start + most]
            body = (len(some) - 1).to_bytes(width, "big")
            body += b"".join(page.to_bytes(width, "big") for page in some)
            self._command(EXTENDED_ERASE if extended else ERASE)
            self._line.send(body + bytes([xor(body)]))
            self._expect(f"erasing {len(some)} pages", self._erase_seconds)

    def write(self, address: int, data: bytes) -> None:
        """Up to 256 bytes, a multiple of 4."""
        self._command(WRITE)
        self._address(address, "WRITE MEMORY")
        body = bytes([len(data) - 1]) + data
        self._line.send(body + bytes([xor(body)]))
        self._expect(f"writing {len(data)} bytes to {address:#x}")

    def read(self, address: int, count: int) -> bytes:
        """Up to 256 bytes."""
        self._command(READ)
        self._address(address, "READ MEMORY")
        self._line.send(bytes([count - 1, (count - 1) ^ 0xFF]))
        self._expect("READ MEMORY")
        return self._bytes(count, "READ MEMORY")

    def go(self, address: int) -> None:
        """Take the stack pointer at `address`, jump to the word behind it."""
        self._command(GO)
        self._address(address, "GO")

    # ---- pieces ----

    def _command(self, code: int) -> None:
        self._line.discard()
        self._line.send(bytes([code, code ^ 0xFF]))
        self._expect(_NAMES[code])

    def _address(self, address: int, what: str) -> None:
        data = address.to_bytes(4, "big")
        self._line.send(data + bytes([xor(data)]))
        self._expect(f"{what}, address {address:#x}")

    def _answer(self, seconds: float) -> int | None:
        byte = self._line.byte(seconds)
        return byte if byte in (ACK, NACK) else None

    def _expect(self, what: str, seconds: float | None = None) -> None:
        byte = self._line.byte(self._answer_seconds if seconds is None else seconds)
        if byte == ACK:
            return
        if byte == NACK:
            raise Refused(f"the loader refused {what}", where=self._line.name)
        seen = "nothing" if byte is None else f"{byte:#04x}"
        raise TransferError(f"no answer to {what}: {seen} instead of ACK", where=self._line.name)

    def _bytes(self, count: int, what: str) -> bytes:
        data = self._line.take(count, self._answer_seconds)
        if len(data) != count:
            raise TransferError(f"{what} gave {len(data)} of {count} bytes", where=self._line.name)
        return data
