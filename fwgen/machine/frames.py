"""Frames of the serial link and their separation from console text (docs/link.md)."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

from fwgen.machine import cobs

VERSION = 1
MAX_PAYLOAD = 1024
_HEADER = struct.Struct("<BBHBBH")
_CRC = struct.Struct("<I")
# COBS adds one byte and another for each 254.
_MAX_WIRE = _HEADER.size + MAX_PAYLOAD + _CRC.size
_MAX_WIRE += _MAX_WIRE // 254 + 1
RESPONSE = 0x80


class Request(IntEnum):
    """Types of requests; a response has bit 7 set."""

    INFO = 0x01
    MODEL = 0x02
    TENSOR = 0x03
    WRITE = 0x04
    READ = 0x05
    RUN = 0x06
    STATUS = 0x07
    RESTART = 0x0C
    PROFILE = 0x08
    TASKS = 0x09
    FILL = 0x0A
    CRC = 0x0B
    EXIT = 0x0F
    SLOTS = 0x10
    UPDATE_BEGIN = 0x11
    UPDATE_DATA = 0x12
    UPDATE_FINISH = 0x13
    UPDATE_ABORT = 0x14
    CONFIRM = 0x15
    RESET = 0x16
    PARTITIONS = 0x18
    PARTITION_ERASE = 0x19
    SETTING_GET = 0x1A
    SETTING_SET = 0x1B
    SETTING_DELETE = 0x1C
    SETTING_KEYS = 0x1D


class Status(IntEnum):
    """Status codes of responses."""

    OK = 0
    BAD_VERSION = 1
    BAD_TYPE = 2
    BAD_LENGTH = 3
    BAD_INDEX = 4
    BAD_RANGE = 5
    BUSY = 6
    TIMEOUT = 7
    DEVICE = 8
    NOT_SUPPORTED = 9
    CANARY = 10
    REFUSED = 11
    FLASH = 12


STATUS_WORDS = {
    Status.BAD_VERSION: "the firmware speaks another version of the protocol",
    Status.BAD_TYPE: "the firmware does not know this request",
    Status.BAD_LENGTH: "the firmware found the request's length wrong",
    Status.BAD_INDEX: "the firmware has no such model, tensor or operation",
    Status.BAD_RANGE: "the offset or length is outside the tensor",
    Status.BUSY: "an inference is running",
    Status.TIMEOUT: "the accelerator did not raise its interrupt in time",
    Status.DEVICE: "the accelerator reported or caused an error",
    Status.NOT_SUPPORTED: "this build of the firmware lacks the function",
    Status.CANARY: "a guard word between buffers was overwritten",
    Status.REFUSED: "the package was refused",
    Status.FLASH: "the non-volatile memory failed",
}


def status_words(status: int) -> str:
    """A status code as a sentence without a period."""
    try:
        return STATUS_WORDS[Status(status)]
    except (ValueError, KeyError):
        return f"unknown status {status}"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, decoded.

    Attributes:
        type: request type, or response type with bit 7 set.
        sequence: 0..65535.
        status: 0 in requests and good responses.
        payload: 0..1024 bytes.
        version: protocol version.
    """

    type: int
    sequence: int
    status: int = 0
    payload: bytes = b""
    version: int = VERSION

    def encode(self) -> bytes:
        """The bytes on the wire, delimiters included."""
        header = _HEADER.pack(
            self.version, self.type, self.sequence, self.status, 0, len(self.payload)
        )
        body = header + self.payload
        return b"\0" + cobs.encode(body + _CRC.pack(zlib.crc32(body))) + b"\0"


def decode_frame(piece: bytes) -> Frame | None:
    """The frame in the bytes between two zeros, or None when they are not a frame."""
    raw = cobs.decode(piece)
    if raw is None or len(raw) < _HEADER.size + _CRC.size:
        return None
    body, crc = raw[: -_CRC.size], raw[-_CRC.size :]
    if zlib.crc32(body) != _CRC.unpack(crc)[0]:
        return None
    version, kind, sequence, status, _, length = _HEADER.unpack_from(body)
    payload = body[_HEADER.size :]
    if length != len(payload):
        return None
    return Frame(kind, sequence, status, payload, version)


class Receiver:
    """Splits a byte stream into frames and text.

    Text is handed out at once and not only at the next zero byte: a frame starts
    with a COBS length of 2 to 6 (its sixth byte is zero) after a zero byte, and
    text never starts with such a control character.

    Attributes:
        bad_frames: pieces that began like a frame and were none.
    """

    def __init__(self) -> None:
        self.bad_frames = 0
        self._piece = bytearray()
        self._in_text = True  # whatever comes before the first zero

    def feed(self, data: bytes) -> list[Frame | bytes]:
        """What `data` completes, in order: frames, and runs of text."""
        out: list[Frame | bytes] = []
        chunks = data.split(b"\0")
        for index, chunk in enumerate(chunks):
            self._take(chunk, out)
            if index + 1 < len(chunks):
                self._delimiter(out)
        return out

    def _take(self, chunk: bytes, out: list[Frame | bytes]) -> None:
        if not chunk:
            return
        if not self._in_text and not self._piece and not 2 <= chunk[0] <= 6:
            self._in_text = True
        if self._in_text:
            out.append(chunk)
            return
        self._piece += chunk
        if len(self._piece) > _MAX_WIRE:
            self._give_up(out)

    def _delimiter(self, out: list[Frame | bytes]) -> None:
        if self._piece:
            frame = decode_frame(bytes(self._piece))
            if frame is None:
                self._give_up(out)
            else:
                out.append(frame)
                self._piece.clear()
        self._in_text = False

    def _give_up(self, out: list[Frame | bytes]) -> None:
        """The piece is no frame; what is readable in it may be text after noise."""
        self.bad_frames += 1
        text = bytes(b for b in self._piece if 0x20 <= b < 0x7F or b in b"\r\n\t")
        if len(text) * 10 >= len(self._piece) * 9:
            out.append(text)
        self._piece.clear()
        self._in_text = True
