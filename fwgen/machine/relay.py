"""Offers the serial link of an emulated board to another program, through a socket.

`fwgen update`, `nvmem` and `flash` and programs of the user talk to the emulated
board as to a real one behind a serial server. One client at a time; a further one
waits until it has left. Without a client the board's bytes go nowhere, as on a serial
port to which nothing is connected.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from types import TracebackType

from fwgen.errors import UsageError
from fwgen.machine.transport import FileTransport

_UNIX = "unix:"
_EXPECTED = "unix:PATH, HOST:PORT or PORT"
# A client that does not read must not stop the firmware for longer.
_PATIENCE = 2.0


class Relay:
    """A listening socket in front of a line.

    Args:
        line: the board's line.
        address: "unix:PATH", "HOST:PORT" or "PORT" (on this machine); port 0 takes a
            free one.

    Raises:
        UsageError: the address is malformed or cannot be listened on.
    """

    def __init__(self, line: FileTransport, address: str) -> None:
        self.line = line
        self._client: socket.socket | None = None
        self._path: Path | None = None
        try:
            self._listener, self.port = _listen(address)
        except ValueError as error:
            raise UsageError(
                "no address to listen on", where=address, expected=_EXPECTED
            ) from error
        except OSError as error:
            raise UsageError(
                f"cannot listen: {error.strerror or error}",
                where=address,
                expected="an address that is free",
                hints=(f"Give {_EXPECTED}; port 0 takes a free one.",),
            ) from error
        if address.startswith(_UNIX):
            self._path = Path(address.removeprefix(_UNIX))
        self._listener.listen(1)

    def __enter__(self) -> Relay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up and remove the socket."""
        self._hang_up()
        self._listener.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def sources(self) -> list[int]:
        """File descriptors to wait for."""
        waiting = self._client or self._listener
        return [self.line.fileno(), waiting.fileno()]

    def to_client(self, data: bytes) -> None:
        """Pass on what the board sent."""
        if self._client is None:
            return
        try:
            self._client.sendall(data)
        except OSError:
            self._hang_up()

    def serve(self, ready: list[int]) -> None:
        """Take what the client sent, or a new client.

        Raises:
            LineClosed: the board is gone.
        """
        if self._client is None:
            if self._listener.fileno() in ready:
                self._client, _ = self._listener.accept()
                self._client.settimeout(_PATIENCE)
            return
        if self._client.fileno() not in ready:
            return
        try:
            data = os.read(self._client.fileno(), 4096)
        except OSError:
            data = b""
        if data:
            self.line.send(data, time.monotonic() + _PATIENCE)
        else:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _listen(address: str) -> tuple[socket.socket, str]:
    """A listening socket, and what clients give as --port."""
    if not address.startswith(_UNIX):
        host, _, number = address.rpartition(":")
        host = host or "127.0.0.1"
        if not 0 <= int(number) <= 0xFFFF:
            raise ValueError(number)
        listener = socket.create_server((host, int(number)))
        return listener, f"socket://{host}:{listener.getsockname()[1]}"
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(address.removeprefix(_UNIX))
    except BaseException:
        listener.close()
        raise
    return listener, address
