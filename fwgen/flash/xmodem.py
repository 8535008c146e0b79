"""Senders of XMODEM-1K and YMODEM.

C. Forsberg, "XMODEM/YMODEM Protocol Reference" (1988). A block is SOH (128 bytes) or
STX (1024), number, its complement, data, CRC-16 (polynomial 0x1021, high byte first) or
an 8-bit sum where the receiver begins with NAK instead of 'C'.

ACKs carry no number, so a doubled or late one may be taken for the next block's. What
has arrived is therefore dropped before each block is sent, and after a repeated block
the line must fall silent. What still goes wrong is found by the device's CRC of the
whole image.
"""

from __future__ import annotations

import binascii
import time
from collections.abc import Callable
from dataclasses import dataclass

from fwgen.flash.line import Line, TransferError, left_transfer

SOH, STX, EOT, ACK, NAK, CAN, CRC = 0x01, 0x02, 0x04, 0x06, 0x15, 0x18, ord("C")
CANCEL = bytes([CAN]) * 8 + b"\b" * 8
PADDING = b"\x1a"
_TEXT = 12
"""So many bytes that are no answer are text."""

SendProgress = Callable[[int, int], None]
"""(bytes that the device has acknowledged, bytes in all)."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a sender waits and how often it repeats.

    Attributes:
        start_seconds: for the receiver's first 'C' or NAK.
        answer_seconds: for the answer to a block. U-Boot waits 2 s for a missing byte, then
            for 2 s of silence, before it says NAK.
        repeats: of one block.
    """

    start_seconds: float = 20.0
    answer_seconds: float = 6.0
    repeats: int = 10


USUAL = Patience()


def send_xmodem(
    line: Line, data: bytes, progress: SendProgress, patience: Patience = USUAL
) -> None:
    """Send `data` in blocks of 1024 bytes; the last is padded.

    Raises:
        TransferError: the receiver does not begin, gives up or accepts a block too seldom.
        LineClosed, RunTimeout: as Line.
    """
    sender = _Sender(line, patience)
    sender.await_start()
    sender.send_data(data, progress)
    sender.end()


def send_ymodem(
    line: Line, name: str, data: bytes, progress: SendProgress, patience: Patience = USUAL
) -> None:
    """Send `data` as a file with name and size, then the empty header that ends the batch.

    Raises:
        TransferError: as send_xmodem.
        LineClosed, RunTimeout: as Line.
    """
    sender = _Sender(line, patience)
    sender.await_start()
    sender.send_block(0, name.encode("ascii", "replace") + b"\0" + str(len(data)).encode() + b" ")
    sender.await_start()
    sender.send_data(data, progress)
    sender.end()
    sender.end_batch()


class _Sender:
    def __init__(self, line: Line, patience: Patience) -> None:
        self._line = line
        self._patience = patience
        self._with_crc = True

    def await_start(self) -> None:
        """Wait for a 'C' or NAK that is followed by silence: text that ends so is rare."""
        end = time.monotonic() + self._patience.start_seconds
        last = b""
        while time.monotonic() < end:
            data = self._line.read(0.2)
            if data:
                last = data
                if data.endswith(bytes([CAN, CAN])):
                    raise self._cancelled()
            elif last[-1:] in (b"C", bytes([NAK])):
                self._with_crc = last[-1:] == b"C"
                return
        raise TransferError("the device does not ask for data", where=self._line.name)

    def send_data(self, data: bytes, progress: SendProgress) -> None:
        position, number = 0, 1
        progress(0, len(data))
        while position < len(data):
            size = 1024 if len(data) - position > 128 else 128
            self.send_block(number & 0xFF, data[position : position + size], size)
            position += size
            number += 1
            progress(min(position, len(data)), len(data))

    def send_block(self, number: int, payload: bytes, size: int = 128) -> None:
        fill = b"\0" if number == 0 and size == 128 else PADDING
        body = payload.ljust(size, fill)
        frame = bytes([SOH if size == 128 else STX, number, 255 - number]) + body
        if self._with_crc:
            frame += binascii.crc_hqx(body, 0).to_bytes(2, "big")
        else:
            frame += bytes([sum(body) & 0xFF])
        for attempt in range(self._patience.repeats + 1):
            if self._line.discard() > _TEXT:
                raise left_transfer(self._line.name)
            self._line.send(frame)
            if self._answer(number < 2) == ACK:
                if attempt:
                    self._line.until_quiet(0.2, 1.0)
                return
        raise TransferError(
            f"the device did not accept block {number} in {self._patience.repeats + 1} attempts",
            where=self._line.name,
            hints=("Check cable and ground; try a slower speed.",),
        )

    def end(self) -> None:
        """EOT until it is acknowledged; some receivers say NAK to the first."""
        for _ in range(self._patience.repeats + 1):
            self._line.discard()
            self._line.send(bytes([EOT]))
            if self._answer(True) in (ACK, CRC):
                return
        raise TransferError("the device does not acknowledge the end", where=self._line.name)

    def end_batch(self) -> None:
        """The empty header.

        What becomes of it is not checked: the file is complete, and some receivers leave
        before they answer.
        """
        self._line.until_quiet(0.2, 1.0)
        body = bytes(128)
        frame = bytes([SOH, 0, 255]) + body + binascii.crc_hqx(body, 0).to_bytes(2, "big")
        for _ in range(2):
            self._line.send(frame)
            if self._answer(True) == ACK:
                return

    def _answer(self, may_ask: bool) -> int | None:
        """ACK, NAK or, where it may ask for data, 'C'; None if nothing of it comes in time."""
        end = time.monotonic() + self._patience.answer_seconds
        cancels = others = 0
        while (left := end - time.monotonic()) > 0:
            byte = self._line.byte(left)
            if byte in (ACK, NAK) or (byte == CRC and may_ask):
                return byte
            cancels = cancels + 1 if byte == CAN else 0
            if cancels == 2:
                raise self._cancelled()
            others += byte is not None
            if others > _TEXT:
                raise left_transfer(self._line.name)
        return None

    def _cancelled(self) -> TransferError:
        return TransferError("the device cancelled the transfer", where=self._line.name)
