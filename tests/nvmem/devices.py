"""The device of host/target.c as a process, and lines to it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from noisy_line import Noise, NoisyLine

from fwgen.machine import slots
from fwgen.machine.link import Link
from fwgen.machine.slots import SlotsInfo
from fwgen.machine.transport import open_transport

HERE = Path(__file__).resolve().parent
RTOS = HERE.parent.parent / "rtos"
SOURCES = (
    *(
        f"nvmem/{name}.c"
        for name in ("nvmem", "store", "package", "slots", "update", "sha256", "requests")
    ),
    *(f"link/{name}.c" for name in ("crc32", "answer", "cobs", "receiver")),
)
CHECK_SOURCES = (
    *(f"nvmem/{name}.c" for name in ("nvmem", "package", "sha256")),
    "link/crc32.c",
)
SIGNED_SOURCES = ("nvmem/ed25519.c", "nvmem/field25519.c", "nvmem/sha512.c")


def build_host(folder: Path, name: str, *defines: str) -> Path:
    """Compile host/NAME.c with the runtime, under the sanitizers."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found: the runtime's host tests need it")
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-DFWGEN_NVMEM=1"]
    flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DFWGEN_HOST_TEST"]
    flags += [f"-I{RTOS / 'include'}", f"-I{HERE.parent / 'rtos/host'}"]
    flags += [f"-D{define}" for define in defines]
    sources = list(SOURCES if name == "target" else CHECK_SOURCES)
    if "FWGEN_SIGNED_UPDATE=1" in defines:
        sources += SIGNED_SOURCES
    files = [str(HERE / "host/board.c"), str(HERE / f"host/{name}.c")]
    files += [str(RTOS / source) for source in sources]
    output = folder / name
    subprocess.run(["gcc", *flags, *files, "-o", str(output)], check=True, timeout=300)
    return output


class HostDevice:
    """A running device; `switch_off` and `switch_on` keep its flash."""

    def __init__(self, program: Path, flash: Path, self_test: str = "pass", key: str = "") -> None:
        self._command = [str(program), str(flash), self_test, *([key] if key else [])]
        self.switch_on()

    def switch_on(self) -> None:
        self.process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def switch_off(self) -> None:
        self.process.kill()
        self._close()

    def fds(self) -> tuple[int, int]:
        """Where its input is written and its output read."""
        assert self.process.stdin is not None and self.process.stdout is not None
        return self.process.stdin.fileno(), self.process.stdout.fileno()

    def end(self) -> None:
        """End it like a user would; a sanitizer's report fails the test."""
        assert self.process.stdin is not None and self.process.stderr is not None
        self.process.stdin.close()
        assert self.process.wait(20) == 0, self.process.stderr.read().decode()
        self._close()

    def _close(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()


@contextmanager
def line_to(device: HostDevice, noise: Noise, *, use_pty: bool = False) -> Iterator[NoisyLine]:
    """A line with noise; the device is ended behind it."""
    try:
        with NoisyLine(*device.fds(), noise, use_pty=use_pty) as line:
            yield line
    finally:
        device.end()


def connect(line: NoisyLine, *, timeout: float = 0.3, attempts: int = 8) -> Link:
    """A link that is as impatient as a test."""
    return Link(open_transport(line.address), timeout=timeout, attempts=attempts)


@contextmanager
def open_link(line: NoisyLine) -> Iterator[Link]:
    """A link that is closed behind its use."""
    link = connect(line)
    try:
        link.info()  # a new session
        yield link
    finally:
        link.transport.close()


def slots_of(line: NoisyLine) -> SlotsInfo:
    """What the device says of its slots."""
    with open_link(line) as link:
        return slots.slots(link)
