"""A stand-in for U-Boot's command line and its loadx, loady and loadb, from public documents.

Written from the XMODEM/YMODEM and Kermit protocol documents and U-Boot's documentation of
its commands, and from nothing of fwgen. Times are shorter than U-Boot's.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import zlib

SOH, STX, EOT, ACK, NAK, CAN = 1, 2, 4, 6, 21, 24


class SwitchedOff(Exception):
    """The test is over."""


class FakeUBoot(threading.Thread):
    """The device at the end of a socket pair; a context manager.

    Args:
        missing: commands that it was built without.
        boot_seconds: from the begin of its output to the start of the operating system; None:
            it waits at its prompt already.
        flip: damage this many loaded images behind their checksums, by one bit.
        start: what bootm and go do: "run", "return" or "reset".

    Attributes:
        executed: command lines, as they were read.
        memory: pieces by address, in the order of storing.
        flash: of `sf`, 64 KiB.
        started: whether an image runs.
    """

    def __init__(
        self,
        *,
        missing: tuple[str, ...] = (),
        boot_seconds: float | None = None,
        flip: int = 0,
        start: str = "run",
        prompt: str = "=> ",
        silence: float = 0.15,
        flash_is_stuck: bool = False,
    ) -> None:
        super().__init__(daemon=True)
        self.ours, self._theirs = socket.socketpair()
        self.executed: list[str] = []
        self.memory: dict[int, bytes] = {}
        self.flash = bytearray(b"\xff" * 65536)
        self.started = False
        self._missing = missing
        self._boot_seconds = boot_seconds
        self._flip = flip
        self._start_does = start
        self._prompt = prompt
        self._silence = silence
        self._stuck = flash_is_stuck
        self._off = threading.Event()
        self._buffer = b""

    def __enter__(self) -> FakeUBoot:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._off.set()
        self.join(10)
        self.ours.close()
        self._theirs.close()

    # ---- the wire ----

    def get(self, seconds: float) -> int | None:
        end = time.monotonic() + seconds
        while not self._buffer:
            if self._off.is_set():
                raise SwitchedOff
            left = end - time.monotonic()
            if left <= 0:
                return None
            if select.select([self._theirs], [], [], min(left, 0.05))[0]:
                self._buffer = os.read(self._theirs.fileno(), 4096)
                if not self._buffer:
                    raise SwitchedOff
        byte, self._buffer = self._buffer[0], self._buffer[1:]
        return byte

    def put(self, data: bytes | str) -> None:
        self._theirs.sendall(data.encode() if isinstance(data, str) else data)

    def flush(self) -> None:
        while self.get(self._silence) is not None:
            pass

    # ---- the command line ----

    def run(self) -> None:
        try:
            if self._boot_seconds is not None:
                self.put("\r\n\r\nU-Boot 2023.01-fake\r\n\r\nHit any key to stop autoboot:  1 ")
                if self.get(self._boot_seconds) is None:
                    self.put("\r\nStarting kernel ...\r\n\r\n")
                    while True:
                        self.get(1.0)
            self.put("\r\n" + self._prompt)
            while not self.started:
                self.put_line(self.read_line())
            while True:
                self.get(1.0)
        except SwitchedOff:
            pass

    def read_line(self) -> str | None:
        line = ""
        while True:
            byte = self.get(1.0)
            if byte is None:
                continue
            if byte == 3:
                self.put("<INTERRUPT>\r\n")
                return None
            if byte in (10, 13):
                self.put("\r\n")
                return line
            if byte in (8, 127) and line:
                line = line[:-1]
                self.put("\b \b")
            elif byte == CAN:
                self.put("\b \b" * len(line))
                line = ""
            elif 0x20 <= byte < 0x7F:
                line += chr(byte)
                self.put(bytes([byte]))

    def put_line(self, line: str | None) -> None:
        if line is not None and line.strip():
            self.executed.append(line)
            words = line.split()
            handler = getattr(self, "do_" + words[0].replace(".", "_"), None)
            if handler is None or words[0] in self._missing:
                self.put(f"Unknown command '{words[0]}' - try 'help'\r\n")
            else:
                handler(*words[1:])
        if not self.started:
            self.put(self._prompt)

    def do_version(self) -> None:
        self.put("U-Boot 2023.01-fake (Jan 01 2023 - 00:00:00 +0000)\r\n\r\ngcc 12\r\n")

    def read(self, address: int, count: int) -> bytes:
        """What memory holds; what was stored last wins, and what never was reads 0xee."""
        out = bytearray(b"\xee" * count)
        for start, data in self.memory.items():
            first, last = max(start, address), min(start + len(data), address + count)
            if first < last:
                out[first - address : last - address] = data[first - start : last - start]
        return bytes(out)

    def write(self, address: int, data: bytes) -> None:
        """Store; the pieces stay in the order of storing."""
        self.memory.pop(address, None)
        self.memory[address] = data

    def do_crc32(self, address: str, count: str) -> None:
        first, size = int(address, 16), int(count, 16)
        crc = zlib.crc32(self.read(first, size))
        self.put(f"crc32 for {first:08x} ... {first + size - 1:08x} ==> {crc:08x}\r\n")

    def do_mw_b(self, address: str, value: str, count: str) -> None:
        self.write(int(address, 16), bytes([int(value, 16)]) * int(count, 16))

    def do_sf(self, what: str, *words: str) -> None:
        if what == "probe":
            self.put("SF: Detected fake with page size 256 Bytes, total 64 KiB\r\n")
            return
        address, offset, size = (int(word, 16) for word in words)
        if what == "update":
            if not self._stuck:
                self.flash[offset : offset + size] = self.read(address, size)
            self.put(f"{size} bytes written, 0 bytes skipped\r\n")
        else:
            self.write(address, bytes(self.flash[offset : offset + size]))
            self.put(f"SF: {size} bytes @ {offset:#x} Read: OK\r\n")

    def do_bootm(self, *words: str) -> None:
        self.put("## Booting kernel from Legacy Image ...\r\n")
        if self._start_does == "return":
            self.put("Wrong Image Format for bootm command\r\nERROR: can't get kernel image!\r\n")
            return
        self.put("\r\nStarting kernel ...\r\n\r\n")
        if self._start_does == "reset":
            self.put(
                "data abort\r\npc : [<02008000>]\r\nResetting CPU ...\r\n\r\nresetting ...\r\n"
            )
        self.started = True

    def do_go(self, address: str) -> None:
        self.put(f"## Starting application at 0x{int(address, 16):08X} ...\r\n")
        self.started = True

    def keep(self, address: str, data: bytes) -> None:
        if self._flip and data:
            self._flip -= 1
            data = bytes([data[0] ^ 0x10]) + data[1:]
        self.write(int(address, 16), data)
        self.put(f"## Total Size      = 0x{len(data):08x} = {len(data)} Bytes\r\n")

    # ---- X- and YMODEM ----

    def do_loadx(self, address: str) -> None:
        self.put(f"## Ready for binary (xmodem) download to 0x{int(address, 16):08X} ...\r\n")
        data = self.blocks(1)
        if data is not None:
            self.keep(address, data)

    def do_loady(self, address: str) -> None:
        self.put(f"## Ready for binary (ymodem) download to 0x{int(address, 16):08X} ...\r\n")
        header = self.blocks(0, single=True)
        if header is None:
            return
        size = int(header.split(b"\0")[1].split(b" ")[0])
        data = self.blocks(1)
        if data is None:
            return
        self.blocks(0, single=True)
        self.keep(address, data[:size])

    def blocks(self, expected: int, *, single: bool = False) -> bytes | None:
        """Blocks from a number on until EOT; None after a cancellation."""
        data = b""
        failures = cancels = 0
        asking = True
        self.put(b"C")
        while True:
            byte = self.get(0.6)
            cancels = cancels + 1 if byte == CAN else 0
            if cancels >= 2:
                self.put("xyzModem - Cancelled\r\n")
                return None
            if byte == EOT and not single and not asking:
                self.put(bytes([ACK]))
                return data
            if byte in (SOH, STX):
                number, payload = self.block(128 if byte == SOH else 1024)
                if payload is not None and number == expected & 0xFF:
                    self.put(bytes([ACK]))
                    data += payload
                    if single:
                        return data
                    expected += 1
                    failures, asking = 0, False
                    continue
                if payload is not None and number == (expected - 1) & 0xFF:
                    self.put(bytes([ACK]))  # seen already
                    continue
                self.flush()
            elif byte is not None:
                continue
            failures += 1
            if failures > 20:
                self.put(bytes([CAN, CAN]) + b"xyzModem - too many errors\r\n")
                return None
            self.put(b"C" if asking else bytes([NAK]))

    def block(self, size: int) -> tuple[int, bytes | None]:
        raw = b""
        while len(raw) < size + 4:
            byte = self.get(self._silence)
            if byte is None:
                return -1, None
            raw += bytes([byte])
        body, crc = raw[2:-2], raw[-2:]
        register = 0
        for value in body:
            register ^= value << 8
            for _ in range(8):
                register = (register << 1) ^ (0x1021 if register & 0x8000 else 0)
            register &= 0xFFFF
        right = raw[0] ^ raw[1] == 0xFF and register == int.from_bytes(crc, "big")
        return raw[0], body if right else None

    # ---- Kermit ----

    def do_loadb(self, address: str) -> None:
        self.put(f"## Ready for binary (kermit) download to 0x{int(address, 16):08X} ...\r\n")
        data = bytearray()
        self._last_sequence = -1
        while True:
            found = self.kermit_packet()
            if found is None:
                return
            sequence, kind, body = found
            if kind == "?":
                self.kermit_send(sequence, "N", b"")
                continue
            if kind == "D" and sequence == (self._last_sequence + 1) % 64:
                position = 0
                while position < len(body):
                    value = body[position]
                    if value == ord("#") and position + 1 < len(body):
                        position += 1  # a packet damaged past its weak check may end here
                        value = body[position]
                        if (value & 0x7F) in range(0x3F, 0x60):
                            value ^= 0x40
                    data.append(value)
                    position += 1
            self._last_sequence = sequence
            self.kermit_send(sequence, "Y", b"~* @-#N1" if kind == "S" else b"")
            if kind == "B":
                self.keep(address, bytes(data))
                return

    _last_sequence = -1

    def kermit_packet(self) -> tuple[int, str, bytes] | None:
        while True:
            byte = self.get(5.0)
            if byte == 3:
                return None
            if byte != SOH:
                continue
            length = self.get(self._silence)
            if length is None or not 35 <= length <= 126:
                self.flush()
                return (self._last_sequence + 1) % 64, "?", b""
            raw = bytes([length])
            while len(raw) < length - 32 + 1:
                byte = self.get(self._silence)
                if byte is None:
                    break
                raw += bytes([byte])
            total = sum(raw[:-1])
            check = ((total + (total & 0xC0) // 64) & 0x3F) + 32
            if len(raw) != length - 32 + 1 or raw[-1] != check:
                self.flush()
                return (self._last_sequence + 1) % 64, "?", b""
            return raw[1] - 32, chr(raw[2]), raw[3:-1]

    def kermit_send(self, sequence: int, kind: str, body: bytes) -> None:
        raw = bytes([len(body) + 35, sequence % 64 + 32]) + kind.encode() + body
        total = sum(raw)
        self.put(b"\x01" + raw + bytes([((total + (total & 0xC0) // 64) & 0x3F) + 32]) + b"\r")
