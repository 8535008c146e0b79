"""The link of an emulated board for other programs: one client at a time, never a stall."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fwgen.errors import UsageError
from fwgen.machine.monitor import monitor
from fwgen.machine.relay import Relay
from fwgen.machine.transport import FileTransport, LineClosed, SocketTransport, open_transport


class Bench:
    """A monitor in a thread; `board` is the board's end of the line."""

    def __init__(self, address: str, *, shared: bool) -> None:
        console, self.console = socket.socketpair()
        line = other = SocketTransport(console, "console")
        self.board = self.console
        if not shared:
            link, self.board = socket.socketpair()
            other = SocketTransport(link, "link")
        self.board.settimeout(10)
        self.relay = Relay(other, address)
        self.shown: list[bytes] = []
        keys, self.typist = os.pipe()
        # No terminal and nothing more to come: as in the background of a shell.
        os.close(self.typist)

        def show() -> None:
            try:
                monitor(line, keys=keys, show=self.shown.append, seconds=60, relay=self.relay)
            except LineClosed:
                pass
            finally:
                self.relay.close()
                os.close(keys)
                line.close()
                other.close()

        self.thread = threading.Thread(target=show)
        self.thread.start()

    def stop(self) -> None:
        self.console.close()
        self.board.close()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture(params=[True, False], ids=["shared", "apart"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(f"unix:{tmp_path / 'link'}", shared=request.param)
    yield made
    made.stop()


def _soon() -> float:
    return time.monotonic() + 10


def _receive(line: FileTransport, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += line.receive(_soon())
    return data


def test_bytes_go_both_ways(bench: Bench) -> None:
    client = open_transport(bench.relay.port)
    client.send(b"\x00ping\x00", _soon())
    assert bench.board.recv(100) == b"\x00ping\x00"
    bench.board.sendall(b"\x00pong\x00")
    assert isinstance(client, FileTransport)
    assert _receive(client, 6) == b"\x00pong\x00"
    client.close()


def test_one_after_the_other(bench: Bench) -> None:
    first = open_transport(bench.relay.port)
    first.send(b"1", _soon())
    assert bench.board.recv(1) == b"1"
    second = open_transport(bench.relay.port)
    second.send(b"2", _soon())
    first.send(b"3", _soon())
    assert bench.board.recv(1) == b"3"
    first.close()
    assert bench.board.recv(1) == b"2"
    second.close()


def test_nobody_listens_and_the_board_goes_on(bench: Bench) -> None:
    for _ in range(64):
        bench.board.sendall(bytes(8192))


def test_the_console_is_shown_beside(bench: Bench) -> None:
    client = open_transport(bench.relay.port)
    bench.console.sendall(b"ready\r\n")
    client.send(b"x", _soon())
    assert bench.board.recv(1) == b"x"
    for _ in range(100):
        if b"".join(bench.shown) == b"ready\r\n":
            break
        threading.Event().wait(0.05)
    assert b"".join(bench.shown) == b"ready\r\n"
    client.close()


def test_a_free_port_and_one_that_is_taken() -> None:
    ours, theirs = socket.socketpair()
    line = SocketTransport(ours, "line")
    with Relay(line, "0") as relay:
        number = relay.port.rpartition(":")[2]
        assert relay.port == f"socket://127.0.0.1:{number}" and number != "0"
        with pytest.raises(UsageError, match="cannot listen"):
            Relay(line, number)
    line.close()
    theirs.close()


@pytest.mark.parametrize(
    "address", ["", "nowhere", "localhost:", "1:2:x", "unix:/no/such/x", "99999"]
)
def test_wrong_addresses(address: str) -> None:
    ours, theirs = socket.socketpair()
    line = SocketTransport(ours, "line")
    with pytest.raises(UsageError, match="listen"):
        Relay(line, address)
    line.close()
    theirs.close()
