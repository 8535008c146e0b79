"""Byte streams to firmware: sockets (QEMU, serial servers) and serial ports.

One interface with deadlines on `time.monotonic()`; nothing here blocks without
one. A closed or failed line raises `LineClosed`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import termios
import time
from collections.abc import Callable
from typing import Literal, Protocol
from urllib.parse import urlsplit

from fwgen.errors import DeviceError, UsageError

Parity = Literal["N", "E"]


class LineClosed(DeviceError):
    """The other side is gone: QEMU ended, the adapter was unplugged."""


class Transport(Protocol):
    """A two-way byte stream."""

    @property
    def name(self) -> str:
        """How messages call it."""

    def send(self, data: bytes, deadline: float) -> bool:
        """Send all of `data`; False when the deadline passed first."""

    def receive(self, deadline: float) -> bytes:
        """At least one byte, or none when the deadline passed first."""

    def close(self) -> None:
        """Release the line; further calls fail."""


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


class FileTransport:
    """A transport over a non-blocking file descriptor: socket, terminal or pty."""

    def __init__(self, fd: int, name: str, owner: socket.socket | None = None) -> None:
        self._fd = fd
        self._owner = owner
        self._name = name
        self._closed = False
        os.set_blocking(fd, False)

    @property
    def name(self) -> str:
        return self._name

    def fileno(self) -> int:
        """For select()."""
        return self._fd

    def send(self, data: bytes, deadline: float) -> bool:
        view = memoryview(data)
        while view:
            self._check_open()
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                _, ready, _ = select.select([], [self._fd], [], _left(deadline))
                if not ready and time.monotonic() >= deadline:
                    return False
            except OSError as error:
                raise self._gone(error) from None
        return True

    def receive(self, deadline: float) -> bytes:
        while True:
            self._check_open()
            try:
                data = os.read(self._fd, 65536)
            except BlockingIOError:
                ready, _, _ = select.select([self._fd], [], [], _left(deadline))
                if not ready and time.monotonic() >= deadline:
                    return b""
                continue
            except OSError as error:
                raise self._gone(error) from None
            if not data:
                raise self._gone(None)
            return data

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._owner is not None:
            self._owner.close()
        else:
            with contextlib.suppress(OSError):
                os.close(self._fd)

    def _check_open(self) -> None:
        if self._closed:
            raise self._gone(None)

    def _gone(self, error: OSError | None) -> LineClosed:
        reason = f": {os.strerror(error.errno)}" if error and error.errno else ""
        return LineClosed(f"the line was closed by the other side{reason}", where=self._name)


class SocketTransport(FileTransport):
    """A connected stream socket."""

    def __init__(self, connected: socket.socket, name: str) -> None:
        super().__init__(connected.fileno(), name, owner=connected)


class WatchedTransport:
    """A line whose receiver also serves a second, receive-only line meanwhile.

    Used where console and link have a port each: whoever waits for an answer
    must keep the console from filling up.

    Args:
        line: what send and receive mean.
        side: the other line.
        on_side: gets what arrives there; may raise to end the wait.
    """

    def __init__(
        self, line: FileTransport, side: FileTransport, on_side: Callable[[bytes], None]
    ) -> None:
        self._line = line
        self._side = side
        self._on_side = on_side

    @property
    def name(self) -> str:
        return self._line.name

    def send(self, data: bytes, deadline: float) -> bool:
        return self._line.send(data, deadline)

    def receive(self, deadline: float) -> bytes:
        while True:
            fds = [self._line.fileno(), self._side.fileno()]
            ready, _, _ = select.select(fds, [], [], _left(deadline))
            if self._side.fileno() in ready:
                self._on_side(self._side.receive(time.monotonic()))
            if self._line.fileno() in ready:
                return self._line.receive(time.monotonic())
            if time.monotonic() >= deadline:
                return b""

    def close(self) -> None:
        self._line.close()
        self._side.close()


class SerialTransport(FileTransport):
    """A serial port, 8N1 or with even parity 8E1, without flow control.

    Raises:
        UsageError: pyserial is missing.
        DeviceError: the port cannot be opened.
    """

    def __init__(self, device: str, baud: int, parity: Parity = "N") -> None:
        try:
            import serial
        except ImportError:
            raise UsageError(
                "serial ports need pyserial", hints=("Install it: pip install pyserial.",)
            ) from None
        try:
            self._port = serial.Serial(device, baud, parity=parity, timeout=0, exclusive=True)
        except (OSError, ValueError) as error:
            raise _not_opened(device, error) from None
        fd = self._port.fileno()
        # With pyserial's VMIN of 0 an idle port reads like a closed one.
        attributes = termios.tcgetattr(fd)
        attributes[6][termios.VMIN] = 1
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
        super().__init__(fd, device)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._port.close()


def _not_opened(device: str, error: Exception) -> DeviceError:
    """Why a serial port cannot be opened, without the library's wrapping."""
    code = error.errno if isinstance(error, OSError) else None
    text = str(error)
    if code in (errno.EAGAIN, errno.EBUSY) or "exclusively lock" in text:
        return DeviceError(
            "another program uses the serial port",
            where=device,
            expected="a port that nobody else has open",
            hints=("Close the other program: a monitor, an update.",),
        )
    if not isinstance(error, OSError) or "Could not configure port" in text:
        return DeviceError(
            "this is no serial port",
            where=device,
            expected="a serial port or pty, socket://HOST:PORT or unix:PATH",
        )
    return DeviceError(
        f"cannot open the serial port: {os.strerror(code) if code else error}",
        where=device,
        hints=(
            "Check the name and that the board is plugged in.",
            "On Debian the user must be in the group dialout.",
        ),
    )


def open_transport(
    address: str, *, baud: int = 115200, parity: Parity = "N", timeout: float = 5.0
) -> Transport:
    """Open a line by its address.

    Args:
        address: "socket://HOST:PORT", "unix:PATH", or the path of a serial port or pty.
        baud, parity: for serial ports.
        timeout: seconds for a connection to be made.

    Raises:
        UsageError: the address makes no sense.
        DeviceError: the line cannot be opened.
    """
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").removeprefix("//")
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.settimeout(timeout)
        try:
            line.connect(path)
        except OSError as error:
            line.close()
            raise DeviceError(f"cannot connect: {error}", where=address) from None
        return SocketTransport(line, address)
    if address.startswith(("socket://", "tcp://")):
        parts = urlsplit(address)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or not port:
            raise UsageError(
                "not an address of a serial line", where=address, expected="socket://HOST:PORT"
            )
        try:
            line = socket.create_connection((host, port), timeout)
        except OSError as error:
            raise DeviceError(f"cannot connect: {error}", where=address) from None
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return SocketTransport(line, address)
    if not address:
        raise UsageError(
            "the port has no name", where="--port", expected="a serial port or socket://HOST:PORT"
        )
    return SerialTransport(address, baud, parity)
