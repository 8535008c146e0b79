"""The console of a target in a terminal; frames of the link are hidden.

Ctrl-] leaves. What is typed goes to the shell of the firmware.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator

from fwgen.machine.frames import Receiver
from fwgen.machine.relay import Relay
from fwgen.machine.transport import FileTransport

LEAVE = 0x1D  # Ctrl-]


@contextlib.contextmanager
def raw_terminal(fd: int) -> Iterator[None]:
    """Keys arrive one by one and unechoed; undone in every case. No-op off a terminal."""
    if not os.isatty(fd):
        yield
        return
    before = termios.tcgetattr(fd)
    try:
        tty.setraw(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def monitor(
    line: FileTransport,
    *,
    keys: int | None = None,
    show: Callable[[bytes], None] | None = None,
    seconds: float | None = None,
    relay: Relay | None = None,
) -> None:
    """Show the console until Ctrl-], the end of `keys` or the time limit.

    Args:
        line: the serial line.
        keys: file descriptor to read keys from; default is standard input.
        show: gets text; default writes to standard output.
        seconds: wall-clock limit.
        relay: offers a line of the board, this one or another, to another program; with
            it the end of `keys` is not the end.

    Raises:
        LineClosed: the other side is gone.
    """
    keys = sys.stdin.fileno() if keys is None else keys
    show = show or _write_out
    receiver = Receiver()
    end = None if seconds is None else time.monotonic() + seconds
    sources = {line.fileno(), keys}
    with raw_terminal(keys):
        while end is None or time.monotonic() < end:
            wait = None if end is None else max(0.0, end - time.monotonic())
            ready, _, _ = select.select(
                [*sources.union(relay.sources() if relay is not None else ())], [], [], wait
            )
            if line.fileno() in ready:
                data = line.receive(time.monotonic())
                for item in receiver.feed(data):
                    if isinstance(item, bytes):
                        show(item)
                if relay is not None and relay.line is line:
                    relay.to_client(data)
            if relay is not None:
                if relay.line is not line and relay.line.fileno() in ready:
                    relay.to_client(relay.line.receive(time.monotonic()))
                relay.serve(ready)
            if keys in ready and not _forward(keys, line):
                if relay is None or os.isatty(keys):
                    return
                sources.discard(keys)


def _forward(keys: int, line: FileTransport) -> bool:
    """Send what was typed; False when that is the end."""
    typed = os.read(keys, 1024)
    if not typed:
        return False
    text, leave, _ = typed.partition(bytes((LEAVE,)))
    # Zero bytes would begin a frame.
    line.send(text.replace(b"\0", b""), time.monotonic() + 2.0)
    return not leave


def _write_out(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
