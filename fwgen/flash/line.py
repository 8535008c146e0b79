"""A line to a loader: deadlines, unread bytes, and a transcript of all that passes."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Protocol

from fwgen.errors import DeviceError, RunTimeout, UsageError
from fwgen.machine.transport import Transport

SEND_SECONDS = 10.0
"""Longest time that the other side may take to accept what is sent."""


class TransferError(DeviceError):
    """A transfer or command failed on a line that still stands: it may be tried again."""


def left_transfer(name: str) -> TransferError:
    """The device sends text where a receiver sends single bytes: it is at its prompt.

    Noise can make a receiver give up. What is sent then is typed at its prompt, so a
    sender must notice at once.
    """
    return TransferError("the device has left the transfer", where=name)


class Recorder(Protocol):
    """Told of every byte that passes."""

    def record(self, sign: str, data: bytes) -> None:
        """`sign` is ">" for bytes to the device, "<" for bytes from it, "#" for remarks."""


class Transcript:
    """The file of --log: a line for each piece, with seconds, direction and escaped bytes.

    Raises:
        UsageError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._start = time.monotonic()
        try:
            self._file = path.open("w", encoding="ascii")
        except OSError as error:
            raise UsageError(f"cannot write the log: {error.strerror}", where=str(path)) from None

    def __enter__(self) -> Transcript:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def record(self, sign: str, data: bytes) -> None:
        text = "".join(_ESCAPES[byte] for byte in data)
        self._file.write(f"{time.monotonic() - self._start:12.6f} {sign} {text}\n")
        self._file.flush()


def _escape(byte: int) -> str:
    named = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x5C: "\\\\"}
    if byte in named:
        return named[byte]
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"


_ESCAPES = tuple(_escape(byte) for byte in range(256))


class Line:
    """A transport with one deadline for everything.

    Args:
        transport: opened; closed by `close`.
        deadline: `time.monotonic()` after which reading and sending raise RunTimeout.
        recorder: told of every byte.

    All methods raise LineClosed when the other side is gone.
    """

    def __init__(
        self, transport: Transport, deadline: float, recorder: Recorder | None = None
    ) -> None:
        self._transport = transport
        self._deadline = deadline
        self._recorder = recorder
        self._unread = b""

    @property
    def name(self) -> str:
        """How messages call it."""
        return self._transport.name

    def grace(self, seconds: float) -> None:
        """Allow so many seconds more, to leave the device in order after a time-out."""
        self._deadline = max(self._deadline, time.monotonic() + seconds)

    def close(self) -> None:
        """Release the line."""
        self._transport.close()

    def send(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            DeviceError: the other side takes nothing.
            RunTimeout: the deadline has passed.
        """
        end = self._end(SEND_SECONDS)
        if self._recorder is not None:
            self._recorder.record(">", data)
        if not self._transport.send(data, end):
            self._check()
            raise DeviceError(
                f"the line took no data for {SEND_SECONDS:g} s",
                where=self.name,
                hints=("Nobody reads on the other side, or flow control holds the data up.",),
            )

    def read(self, seconds: float) -> bytes:
        """What has arrived, or arrives first within `seconds`; empty if nothing does."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        data = self._transport.receive(self._end(seconds))
        if not data:
            self._check()
        elif self._recorder is not None:
            self._recorder.record("<", data)
        return data

    def byte(self, seconds: float) -> int | None:
        """The next byte, None if there is none in time."""
        data = self.read(seconds)
        if not data:
            return None
        self._unread = data[1:]
        return data[0]

    def take(self, count: int, seconds: float) -> bytes:
        """`count` bytes, or fewer if no more come within `seconds` of each other."""
        out = b""
        while len(out) < count:
            data = self.read(seconds)
            if not data:
                break
            out += data
        self._unread = out[count:] + self._unread
        return out[:count]

    def unread(self, data: bytes) -> None:
        """Put bytes back, to be read next."""
        self._unread = data + self._unread

    def until_quiet(self, seconds: float, limit: float = 5.0) -> bytes:
        """All that arrives until nothing does for `seconds`, at most for `limit` seconds."""
        out = b""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            data = self.read(seconds)
            if not data:
                break
            out += data
        return out

    def discard(self) -> int:
        """Forget what has arrived; how many bytes that was."""
        count = 0
        while data := self.read(0.0):
            count += len(data)
        return count

    def _end(self, seconds: float) -> float:
        self._check()
        return min(time.monotonic() + seconds, self._deadline)

    def _check(self) -> None:
        if time.monotonic() >= self._deadline:
            raise RunTimeout(
                "the time limit ran out", where=self.name, hints=("--timeout sets the limit.",)
            )
