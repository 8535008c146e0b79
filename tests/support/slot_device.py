"""Firmware with slots in QEMU, with its link on a port of this machine."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noisy_line import Noise, NoisyLine

from fwgen.errors import DeviceError
from fwgen.machine.config import MachineConfig
from fwgen.machine.link import Link
from fwgen.machine.session import QemuSession
from fwgen.machine.transport import open_transport


@dataclass
class Device:
    """Firmware in QEMU behind a line of its own."""

    session: QemuSession
    line: NoisyLine
    monitor: Path

    @property
    def port(self) -> str:
        return self.line.address

    def switch_off(self) -> None:
        self.line.__exit__()
        self.session.close()

    def link(self) -> Link:
        link = Link(open_transport(self.port), timeout=5.0)
        link.info()
        return link

    def system_reset(self) -> None:
        """QMP: what the board's reset button does."""
        with socket.socket(socket.AF_UNIX) as qmp:
            qmp.settimeout(20)
            qmp.connect(str(self.monitor))
            replies = qmp.makefile("r")
            for command in ("qmp_capabilities", "system_reset"):
                qmp.sendall(json.dumps({"execute": command}).encode())
                while "return" not in json.loads(replies.readline()):
                    pass


def read_console(session: QemuSession) -> None:
    """A console that nobody reads stops the firmware when the line is full."""
    with contextlib.suppress(DeviceError):
        while True:
            print(session.console_line().receive(time.monotonic() + 1.0).decode(), end="")


def start_device(
    elf: Path, machine: MachineConfig, monitor: Path, more: Sequence[str] = ()
) -> Device:
    """Boot an image; `monitor` becomes the socket of QEMU's monitor, `more` its arguments."""
    more = ["-qmp", f"unix:{monitor},server=on,wait=off", *more]
    machine = replace(machine, extra_args=(*machine.extra_args, *more))
    session = QemuSession(elf, machine, limit=300)
    session.start()
    session.wait_ready()
    fd = session._lines[session._link_index()].fileno()
    proxy = NoisyLine(fd, fd, Noise())
    proxy.start()
    if session.console_line().fileno() != fd:
        threading.Thread(target=read_console, args=(session,), daemon=True).start()
    return Device(session, proxy, monitor)
