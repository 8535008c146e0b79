"""A stand-in for the ROM loader of an STM32, from AN3155 and nothing of fwgen."""

from __future__ import annotations

import os
import select
import socket
import threading

BASE = 0x0800_0000
SIZE = 16 * 1024
PAGE = 1024
ACK, NACK = b"\x79", b"\x1f"


class SwitchedOff(Exception):
    """The test is over."""


class FakeStm32(threading.Thread):
    """The device at the end of a socket pair; a context manager.

    It waits for bytes without a limit, as the ROM does. Programming clears bits only.

    Args:
        protected: readout protection is on.
        weak_cell: a byte of flash that keeps a bit set the first time it is written.

    Attributes:
        flash: its contents.
        went: address of GO.
        erased: numbers of pages, or "all", in order.
    """

    def __init__(
        self, *, protected: bool = False, legacy: bool = False, weak_cell: int | None = None
    ) -> None:
        super().__init__(daemon=True)
        self.ours, self._theirs = socket.socketpair()
        self.flash = bytearray(os.urandom(SIZE))
        self.went: int | None = None
        self.erased: list[int | str] = []
        self._protected = protected
        self._weak_cell = weak_cell
        self._codes = bytes([0x00, 0x01, 0x02, 0x11, 0x21, 0x31, 0x43 if legacy else 0x44])
        self._off = threading.Event()
        self._buffer = b""

    def __enter__(self) -> FakeStm32:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._off.set()
        self.join(10)
        self.ours.close()
        self._theirs.close()

    def take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if self._off.is_set():
                raise SwitchedOff
            if select.select([self._theirs], [], [], 0.05)[0]:
                data = os.read(self._theirs.fileno(), 4096)
                if not data:
                    raise SwitchedOff
                self._buffer += data
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return data

    def run(self) -> None:
        try:
            while self.take(1) != b"\x7f":
                pass
            self._theirs.sendall(ACK)
            while self.went is None:
                code, complement = self.take(2)
                known = code in self._codes and code ^ complement == 0xFF
                if not known or (self._protected and code not in (0x00, 0x01, 0x02)):
                    self._theirs.sendall(NACK)
                    continue
                self._theirs.sendall(ACK)
                right = getattr(self, f"command_{code:02x}")()
                if right is not None:
                    self._theirs.sendall(ACK if right else NACK)
        except SwitchedOff:
            pass

    @staticmethod
    def sum_is_right(data: bytes) -> bool:
        total = 0
        for byte in data:
            total ^= byte
        return total == 0

    def command_00(self) -> bool:
        self._theirs.sendall(bytes([len(self._codes), 0x31]) + self._codes)
        return True

    def command_02(self) -> bool:
        self._theirs.sendall(b"\x01\x04\x13")
        return True

    def address(self) -> int | None:
        data = self.take(5)
        value = int.from_bytes(data[:4], "big")
        inside = BASE <= value < BASE + SIZE
        return value - BASE if self.sum_is_right(data) and inside else None

    def command_11(self) -> bool | None:
        offset = self.address()
        if offset is None:
            return False
        self._theirs.sendall(ACK)
        count, complement = self.take(2)
        if count ^ complement != 0xFF:
            return False
        self._theirs.sendall(ACK + bytes(self.flash[offset : offset + count + 1]))
        return None  # no ACK behind the data

    def command_21(self) -> bool:
        offset = self.address()
        if offset is not None:
            self.went = offset + BASE
        return offset is not None

    def command_31(self) -> bool:
        offset = self.address()
        if offset is None:
            return False
        self._theirs.sendall(ACK)
        count = self.take(1)
        data = self.take(count[0] + 2)
        if not self.sum_is_right(count + data):
            return False
        for index, byte in enumerate(data[:-1]):
            if offset + index == self._weak_cell:
                byte |= 0x01
                self._weak_cell = None
            self.flash[offset + index] &= byte
        return True

    def erase(self, page: int) -> None:
        self.erased.append(page)
        self.flash[page * PAGE : (page + 1) * PAGE] = b"\xff" * PAGE

    def erase_all(self) -> None:
        self.erased.append("all")
        self.flash[:] = b"\xff" * SIZE

    def command_44(self) -> bool:
        head = self.take(2)
        number = int.from_bytes(head, "big")
        if number == 0xFFFF:
            if self.take(1) != b"\x00":
                return False
            self.erase_all()
            return True
        data = self.take(2 * (number + 1) + 1)
        if not self.sum_is_right(head + data):
            return False
        for index in range(number + 1):
            self.erase(int.from_bytes(data[2 * index : 2 * index + 2], "big"))
        return True

    def command_43(self) -> bool:
        head = self.take(1)
        if head == b"\xff":
            if self.take(1) != b"\x00":
                return False
            self.erase_all()
            return True
        data = self.take(head[0] + 2)
        if not self.sum_is_right(head + data):
            return False
        for page in data[:-1]:
            self.erase(page)
        return True
