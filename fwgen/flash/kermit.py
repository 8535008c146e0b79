"""A small Kermit sender: short packets, one at a time, checksum type 1.

F. da Cruz, "Kermit Protocol Manual", 6th edition (1986). A packet is SOH, length,
sequence number, type, data, check, CR; numbers are sent as characters from 32 up.
Answers carry the sequence number, so nothing can slip. The check has only 6 bits: the
device's CRC of the whole image must be compared afterwards.
"""

from __future__ import annotations

import time

from fwgen.flash.line import Line, TransferError, left_transfer
from fwgen.flash.xmodem import USUAL, Patience, SendProgress

_MARK = 0x01
_CR = 0x0D
_QUOTE = ord("#")
_LONGEST = 94
_TEXT = 30


def checksum(characters: bytes) -> int:
    """Type 1 check of the characters from length to data, as the character sent."""
    total = sum(characters)
    return ((total + ((total >> 6) & 3)) & 0x3F) + 32


def packet(sequence: int, kind: str, data: bytes, end: int = _CR) -> bytes:
    """A packet with at most 91 bytes of data."""
    body = bytes([len(data) + 3 + 32, (sequence & 63) + 32]) + kind.encode("ascii") + data
    return bytes([_MARK]) + body + bytes([checksum(body), end])


def quoted(byte: int) -> bytes:
    """A data byte as sent over an 8-bit line: control characters get a '#' before them."""
    low = byte & 0x7F
    if low < 0x20 or low == 0x7F:
        return bytes([_QUOTE, byte ^ 0x40])
    return bytes([_QUOTE, byte]) if low == _QUOTE else bytes([byte])


def send_kermit(
    line: Line, name: str, data: bytes, progress: SendProgress, patience: Patience = USUAL
) -> None:
    """Send `data` as one file.

    Raises:
        TransferError: the receiver sends an error, or accepts a packet too seldom.
        LineClosed, RunTimeout: as Line.
    """
    sender = _Sender(line, patience)
    # Longest packet, time-out, no padding, end of line, quote, no 8-bit quote, check type.
    offer = bytes([_LONGEST + 32, 8 + 32, 32, 64, _CR + 32, _QUOTE]) + b"N1"
    room = sender.agree(sender.exchange("S", offer))
    sender.exchange("F", name.encode("ascii", "replace")[:40])
    progress(0, len(data))
    chunk = bytearray()
    for position, byte in enumerate(data):
        characters = quoted(byte)
        if len(chunk) + len(characters) > room:
            sender.exchange("D", bytes(chunk))
            progress(position, len(data))
            chunk.clear()
        chunk += characters
    if chunk:
        sender.exchange("D", bytes(chunk))
    progress(len(data), len(data))
    sender.exchange("Z", b"")
    sender.exchange("B", b"")


class _Sender:
    def __init__(self, line: Line, patience: Patience) -> None:
        self._line = line
        self._patience = patience
        self._sequence = 0
        self._end = _CR

    def agree(self, answer: bytes) -> int:
        """Bytes of data a packet may have, from the receiver's answer to S."""
        if len(answer) > 4:
            self._end = max(0, answer[4] - 32) or _CR
        longest = answer[0] - 32 if answer else 80
        return max(10, min(_LONGEST, longest) - 3)

    def exchange(self, kind: str, data: bytes) -> bytes:
        """Send a packet until it is acknowledged; the data of the acknowledgement."""
        frame = packet(self._sequence, kind, data, self._end)
        seconds = self._patience.start_seconds if kind == "S" else self._patience.answer_seconds
        end = time.monotonic() + seconds * (self._patience.repeats + 1)
        for _ in range(self._patience.repeats + 1):
            if time.monotonic() > end:
                break
            self._line.send(frame)
            answer = self._answer(min(seconds, self._patience.answer_seconds))
            if answer is not None:
                self._sequence = (self._sequence + 1) & 63
                return answer
        raise TransferError(
            f"the device did not accept a '{kind}' packet in {self._patience.repeats + 1} attempts",
            where=self._line.name,
        )

    def _answer(self, seconds: float) -> bytes | None:
        """Data of the ACK for the packet on its way; None: send it again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self._packet(end)
            if found is None:
                continue
            sequence, kind, data = found
            if kind == ord("E"):
                text = data.decode("ascii", "replace")
                raise TransferError(f"the device gave up: {text}", where=self._line.name)
            if kind == ord("Y") and sequence == self._sequence:
                return data
            if kind == ord("N"):
                # A NAK of the next packet says that this one arrived.
                return b"" if sequence == (self._sequence + 1) & 63 else None
        return None

    def _packet(self, end: float) -> tuple[int, int, bytes] | None:
        """One whole packet (sequence, type, data); None if it is damaged or there is none."""
        others = 0
        while (byte := self._line.byte(max(0.0, end - time.monotonic()))) != _MARK:
            if byte is None:
                return None
            others += 1
            # U-Boot's answers are shorter than this, even if their first byte is lost.
            if others > _TEXT and self._sequence > 0:
                raise left_transfer(self._line.name)
        length = self._line.byte(1.0)
        if length is None or not 35 <= length <= 126:
            return None
        body = self._line.take(length - 32, 1.0)
        if len(body) != length - 32 or checksum(bytes([length]) + body[:-1]) != body[-1]:
            return None
        return body[0] - 32, body[1], body[2:-1]
