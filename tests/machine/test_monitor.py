"""The console: frames hidden, keys forwarded, Ctrl-] leaves."""

from __future__ import annotations

import os
import pty
import socket
import termios
import threading

import pytest

from fwgen.machine.frames import Frame
from fwgen.machine.monitor import monitor
from fwgen.machine.transport import LineClosed, SocketTransport


def test_text_is_shown_and_frames_are_not() -> None:
    ours, theirs = socket.socketpair()
    keys, typist = os.pipe()
    seen: list[bytes] = []
    line = SocketTransport(ours, "line")
    theirs.sendall(b"hello\r\n" + Frame(0x81, 3, payload=b"secret").encode() + b"$ ")
    monitor(line, keys=keys, show=seen.append, seconds=0.1)
    assert b"".join(seen) == b"hello\r\n$ "
    os.write(typist, b"ta\0sks\r\x1dnot sent")
    monitor(line, keys=keys, show=seen.append, seconds=5)
    assert theirs.recv(100) == b"tasks\r"
    theirs.close()
    with pytest.raises(LineClosed):
        monitor(line, keys=keys, show=seen.append, seconds=5)
    line.close()
    os.close(keys)
    os.close(typist)


def test_terminal_is_restored() -> None:
    ours, theirs = socket.socketpair()
    line = SocketTransport(ours, "line")
    master, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    threading.Timer(0.2, os.write, (master, b"\x1d")).start()
    monitor(line, keys=terminal, show=lambda text: None, seconds=10)
    assert termios.tcgetattr(terminal) == before
    line.close()
    theirs.close()
    os.close(master)
    os.close(terminal)
