"""A target in a thread: answers the serial link as docs/link.md says, with faults on demand.

Written from the page, with its own COBS, so that the client is not tested
against itself.
"""

from __future__ import annotations

import os
import select
import struct
import threading
import zlib
from collections.abc import Callable


def cobs_encode(data: bytes) -> bytes:
    out = bytearray(b"\0")
    place, code = 0, 1
    for byte in data:
        if byte:
            out.append(byte)
            code += 1
        if not byte or code == 0xFF:
            out[place] = code
            place, code = len(out), 1
            out.append(0)
    out[place] = code
    return bytes(out)


def cobs_decode(data: bytes) -> bytes:
    out, i = bytearray(), 0
    while i < len(data):
        code = data[i]
        out += data[i + 1 : i + code]
        i += code
        if code < 0xFF and i < len(data):
            out.append(0)
    return bytes(out)


def frame(kind: int, sequence: int, status: int, payload: bytes) -> bytes:
    body = struct.pack("<BBHBBH", 1, kind, sequence, status, 0, len(payload)) + payload
    return b"\0" + cobs_encode(body + struct.pack("<I", zlib.crc32(body))) + b"\0"


def string(text: str) -> bytes:
    return bytes((len(text),)) + text.encode()


class FakeTarget(threading.Thread):
    """Two tensors of 3000 bytes (input 0, output 0); RUN writes input + 1 to output.

    Attributes:
        mangle: called with (response index, wire bytes), returns what is sent.
        requests: (type, sequence) of all good frames.
        executed: (type) of all that were executed and not only answered again.
        text: what arrived outside of frames.
    """

    def __init__(self, fd: int, mangle: Callable[[int, bytes], bytes] | None = None) -> None:
        super().__init__(daemon=True)
        self.fd = fd
        self.mangle = mangle or (lambda index, wire: wire)
        self.tensors = {0: bytearray(3000), 1: bytearray(3000)}
        self.requests: list[tuple[int, int]] = []
        self.executed: list[int] = []
        self.text = b""
        self.run_status = 0
        self._ending = threading.Event()
        self._last: tuple[int, bytes] | None = None
        self._responses = 0

    def stop(self) -> None:
        self._ending.set()
        self.join(5)

    def run(self) -> None:
        piece = b""
        while not self._ending.is_set():
            ready, _, _ = select.select([self.fd], [], [], 0.02)
            if not ready:
                continue
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                return
            if not data:
                return
            *pieces, piece = (piece + data).split(b"\0")
            for complete in pieces:
                if complete:
                    self._piece(complete)

    def _piece(self, piece: bytes) -> None:
        raw = cobs_decode(piece)
        if len(raw) < 12 or zlib.crc32(raw[:-4]) != struct.unpack("<I", raw[-4:])[0]:
            self.text += piece
            return
        _, kind, sequence, _, _, length = struct.unpack_from("<BBHBBH", raw)
        payload = raw[8:-4]
        assert len(payload) == length
        self.requests.append((kind, sequence))
        if sequence == 0:
            self._last = None
        if self._last is not None and self._last[0] == sequence:
            wire = self._last[1]
        else:
            self.executed.append(kind)
            status, answer = self._answer(kind, payload)
            wire = frame(kind | 0x80, sequence, status, answer)
            self._last = (sequence, wire) if sequence else None
        wire = self.mangle(self._responses, wire)
        self._responses += 1
        while wire:
            wire = wire[os.write(self.fd, wire) :]

    def _answer(self, kind: int, p: bytes) -> tuple[int, bytes]:
        if kind == 1:
            head = struct.pack("<BBBBHH", 1, 1, 1, 0b1011, 1024, 0) + bytes(range(16))
            return 0, head + string("board") + string("0.1") + string("V9.0.0")
        if kind == 2:
            if p[0] != 0:
                return 4, b""
            strings = string("net") + string("dla0") + string("nvdla") + string("nv_small")
            return 0, struct.pack("<BBH", 1, 1, 3) + bytes(8) + strings
        if kind == 3:
            shape = (1, 3, 10, 100)
            scale = 0.5 if p[1] == 0 else 0.0
            body = struct.pack("<8I", 3000, *shape, 1, 100, 1000)
            body += struct.pack("<fiBBH", scale, -3, 1, 1, 1)
            return 0, body + string("in" if p[1] == 0 else "out")
        if kind == 4:
            offset = struct.unpack_from("<I", p, 4)[0]
            if offset + len(p) - 8 > 3000:
                return 5, b""
            self.tensors[p[1]][offset : offset + len(p) - 8] = p[8:]
            return 0, b""
        if kind == 5:
            offset, length = struct.unpack_from("<II", p, 4)
            return 0, bytes(self.tensors[p[1]][offset : offset + length])
        if kind == 6:
            if self.run_status:
                return self.run_status, struct.pack("<IQIII", 2, 0, 0, 0, 0)
            self.tensors[1][:] = bytes((b + 1) & 0xFF for b in self.tensors[0])
            return 0, struct.pack("<IQIII", 0xFFFFFFFF, 5_000_000_000, 1_000_000, 4, 17)
        if kind == 7:
            return 0, struct.pack("<8IB3xIII", 1, 1000, 3, 4, 5, 6, 7, 0xFFFFFFFF, 0, 8, 9, 10)
        if kind == 8:
            first = struct.unpack_from("<H", p, 2)[0]
            values = [10, 20, 30][first : first + 2]
            return 0, struct.pack(f"<HH{len(values)}I", 3, len(values), *values)
        if kind == 9:
            return 0, struct.pack("<HH", 1, 0) + struct.pack("<IIB3x", 512, 100, 5) + string("dla")
        if kind == 10:
            self.tensors[p[1]][:] = bytes((p[3],)) * 3000
            return 0, b""
        if kind == 11:
            return 0, struct.pack("<I", zlib.crc32(self.tensors[p[1]]))
        return 2, b""
