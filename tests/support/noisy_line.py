"""A line between a client and a device that loses, repeats, damages and delays bytes.

The client connects to a socket (`socket://`) or opens a pty; the device is a pair of file
descriptors, one to write its input to and one to read its output from. Everything goes
through a thread that does to the bytes what `Noise` says, in both directions.
"""

from __future__ import annotations

import contextlib
import os
import pty
import random
import select
import socket
import termios
import threading
import time
import tty
from dataclasses import dataclass


@dataclass
class Noise:
    """What happens to the bytes; rates are per byte, of 1.

    Attributes:
        drop, repeat, damage: chances.
        delay: longest time in seconds that a piece is held back.
        cut_after: bytes from the client after which its line is closed, once each.
        late: seconds that each answer of the device waits.
    """

    drop: float = 0.0
    repeat: float = 0.0
    damage: float = 0.0
    delay: float = 0.0
    cut_after: tuple[int, ...] = ()
    late: float = 0.0
    seed: int = 1


class NoisyLine(threading.Thread):
    """The thread between; a context manager.

    Args:
        to_device, from_device: file descriptors of the device.
        use_pty: offer a pty and not a socket; a pty cannot be cut.

    Attributes:
        address: what `open_transport` opens.
        cuts: how often the client's line was closed.
        passed: bytes from the client.
    """

    def __init__(
        self, to_device: int, from_device: int, noise: Noise, *, use_pty: bool = False
    ) -> None:
        super().__init__(daemon=True)
        self.noise = noise
        self.cuts = 0
        self.passed = 0
        self._to_device = to_device
        self._from_device = from_device
        self._random = random.Random(noise.seed)
        self._ended = threading.Event()
        self._client: int | None = None
        self._connection: socket.socket | None = None
        self._server: socket.socket | None = None
        self._slave: int | None = None
        if use_pty:
            self._client, self._slave = pty.openpty()
            tty.setraw(self._slave, termios.TCSANOW)
            self.address = os.ttyname(self._slave)
        else:
            self._server = socket.create_server(("127.0.0.1", 0))
            self.address = f"socket://127.0.0.1:{self._server.getsockname()[1]}"

    def __enter__(self) -> NoisyLine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join(10)
        if self._server is not None:
            self._server.close()
        self._hang_up()
        for fd in (self._slave, self._client):
            if fd is not None:
                with contextlib.suppress(OSError):
                    os.close(fd)

    def device(self, to_device: int, from_device: int) -> None:
        """Another device takes the place of the first: it was switched off and on."""
        self._to_device, self._from_device = to_device, from_device

    def run(self) -> None:
        while not self._ended.is_set():
            watched: list[int | socket.socket] = [self._from_device]
            if self._client is not None:
                watched.append(self._client)
            if self._server is not None:
                watched.append(self._server)
            try:
                ready, _, _ = select.select(watched, [], [], 0.05)
            except (OSError, ValueError):
                time.sleep(0.05)  # the device was changed meanwhile
                continue
            if self._server in ready:
                self._accept()
                continue
            if self._client is not None and self._client in ready:
                self._from_client()
            if self._from_device in ready:
                self._from_the_device()

    def _accept(self) -> None:
        assert self._server is not None
        self._hang_up()
        self._connection = self._server.accept()[0]
        self._client = self._connection.fileno()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._client = None

    def _from_client(self) -> None:
        assert self._client is not None
        try:
            data = os.read(self._client, 4096)
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            return
        before = self.passed
        self.passed += len(data)
        with contextlib.suppress(OSError):
            os.write(self._to_device, self._spoil(data))
        if any(before < limit <= self.passed for limit in self.noise.cut_after):
            self.cuts += 1
            self._hang_up()

    def _from_the_device(self) -> None:
        try:
            data = os.read(self._from_device, 4096)
        except OSError:
            data = b""
        if not data:
            time.sleep(0.02)  # switched off
            return
        if self.noise.late:
            time.sleep(self.noise.late)
        if self._client is not None:
            with contextlib.suppress(OSError):
                os.write(self._client, self._spoil(data))

    def _spoil(self, data: bytes) -> bytes:
        noise, rng = self.noise, self._random
        if noise.delay:
            time.sleep(rng.random() * noise.delay)
        if not (noise.drop or noise.repeat or noise.damage):
            return data
        out = bytearray()
        for byte in data:
            chance = rng.random()
            if chance < noise.drop:
                continue
            if chance < noise.drop + noise.damage:
                byte ^= 1 << rng.randrange(8)
            out.append(byte)
            if chance > 1.0 - noise.repeat:
                out.append(byte)
        return bytes(out)
