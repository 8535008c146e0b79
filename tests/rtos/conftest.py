"""Builds parts of the runtime for the host, and the hand-written project for QEMU."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import struct
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fwgen.build.freertos import find_kernel
from fwgen.errors import FwgenError

HERE = Path(__file__).resolve().parent
RTOS = HERE.parent.parent / "rtos"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]

HostBuild = Callable[..., Path]


@pytest.fixture(scope="session")
def host_build(tmp_path_factory: pytest.TempPathFactory) -> HostBuild:
    """Compiles C files with the host's compiler: (name, sources, *flags) -> file."""
    directory = tmp_path_factory.mktemp("rtos_host")

    def build(name: str, sources: list[Path], *flags: str) -> Path:
        if shutil.which("gcc") is None:
            pytest.skip("gcc not found: the runtime's host tests need it")
        output = directory / name
        command = ["gcc", "-O1", "-g", *STRICT, "-DFWGEN_HOST_TEST", f"-I{HERE / 'host'}"]
        command += [f"-I{RTOS / 'include'}", *flags, *map(str, sources), "-o", str(output)]
        subprocess.run(command, check=True, timeout=120)
        return output

    return build


@pytest.fixture(scope="session")
def executor_library(host_build: HostBuild) -> ctypes.CDLL:
    """Executor and NVDLA driver behind harness.c."""
    path = host_build(
        "executor.so",
        [HERE / "host/harness.c", RTOS / "exec/executor.c", RTOS / "drivers/nvdla.c"],
        "-shared",
        "-fPIC",
    )
    return ctypes.CDLL(str(path))


@pytest.fixture(scope="session")
def pipelined_library(host_build: HostBuild) -> ctypes.CDLL:
    """The same for a build that pipelines."""
    path = host_build(
        "pipelined.so",
        [HERE / "host/harness.c", RTOS / "exec/executor.c", RTOS / "drivers/nvdla.c"],
        "-shared",
        "-fPIC",
        "-DFWGEN_PIPELINE=2",
    )
    return ctypes.CDLL(str(path))


# ---- the link, written again from docs/link.md ----


def cobs_encode(data: bytes) -> bytes:
    """Plain consistent overhead byte stuffing, block by block."""
    out = bytearray()
    rest = data + b"\0"
    while rest:
        block, _, tail = rest.partition(b"\0")
        while len(block) >= 254:
            out += b"\xff" + block[:254]
            block = block[254:]
            if not block and not tail:
                return bytes(out)
        out += bytes([len(block) + 1]) + block
        rest = tail
    return bytes(out)


def cobs_decode(data: bytes) -> bytes | None:
    """None when the data is not COBS."""
    out = bytearray()
    at = 0
    while at < len(data):
        code = data[at]
        block = data[at + 1 : at + code]
        if code == 0 or len(block) != code - 1:
            return None
        out += block
        at += code
        if code != 255 and at < len(data):
            out.append(0)
    return bytes(out)


def frame_bytes(kind: int, sequence: int, payload: bytes = b"", version: int = 1) -> bytes:
    """A request as it goes over the wire."""
    frame = struct.pack("<BBHBBH", version, kind, sequence, 0, 0, len(payload)) + payload
    frame += struct.pack("<I", zlib.crc32(frame))
    return b"\0" + cobs_encode(frame) + b"\0"


@dataclass
class Response:
    kind: int
    sequence: int
    status: int
    payload: bytes


@dataclass
class Target:
    """A booted firmware; text and frames of its serial line apart."""

    process: subprocess.Popen[bytes]
    text: bytearray = field(default_factory=bytearray)
    sequence: int = 0
    _piece: bytearray = field(default_factory=bytearray)
    _frames: list[Response] = field(default_factory=list)

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _take(self, data: bytes) -> None:
        for byte in data:
            if byte:
                self._piece.append(byte)
                continue
            frame = cobs_decode(bytes(self._piece))
            if frame and len(frame) >= 12 and zlib.crc32(frame) == 0x2144DF1C:
                version, kind, sequence, status, _, size = struct.unpack("<BBHBBH", frame[:8])
                assert version == 1 and size == len(frame) - 12
                self._frames.append(Response(kind, sequence, status, frame[8:-4]))
            else:
                self.text += self._piece
            self._piece.clear()

    def pump(self, seconds: float) -> bool:
        """Reads what comes within `seconds`; False when the line is closed."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        if ready:
            data = os.read(self.process.stdout.fileno(), 65536)
            self._take(data)
            return bool(data)
        return True

    def frame(self, kind: int, sequence: int, payload: bytes = b"", version: int = 1) -> bytes:
        return frame_bytes(kind, sequence, payload, version)

    def response(self, seconds: float = 20.0) -> Response:
        end = time.monotonic() + seconds
        while not self._frames:
            assert time.monotonic() < end, f"no response; text: {self.all_text()!r}"
            assert self.pump(0.2), f"line closed; text: {self.all_text()!r}"
        return self._frames.pop(0)

    def request(self, kind: int, payload: bytes = b"", sequence: int | None = None) -> Response:
        if sequence is None:
            self.sequence += 1
            sequence = self.sequence
        self.send(frame_bytes(kind, sequence, payload))
        response = self.response()
        assert (response.kind, response.sequence) == (kind | 0x80, sequence)
        return response

    def all_text(self) -> str:
        return (self.text + self._piece).decode("ascii", "replace")

    def wait_text(self, text: str, seconds: float = 20.0) -> str:
        end = time.monotonic() + seconds
        while text not in self.all_text():
            assert time.monotonic() < end, f"{text!r} did not come: {self.all_text()!r}"
            assert self.pump(0.2), f"line closed: {self.all_text()!r}"
        return self.all_text()

    def send_request(self, kind: int, payload: bytes, sequence: int | None = None) -> None:
        """Sends without waiting: the target may not live to answer."""
        self.sequence += 1
        self.send(frame_bytes(kind, self.sequence if sequence is None else sequence, payload))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def exit_code(self, seconds: float = 20.0) -> int:
        end = time.monotonic() + seconds
        while self.pump(0.05) and time.monotonic() < end:
            pass
        return self.process.wait(max(0.1, end - time.monotonic()))


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds the project in fixture/ for the Cortex-M3: (*defines) -> ELF."""
    built: dict[tuple[str, ...], Path] = {}
    directory = tmp_path_factory.mktemp("rtos_target")
    cross = "arm-none-eabi-gcc"
    cpu = ["-mcpu=cortex-m3", "-mthumb", "-mno-unaligned-access", "-Os", "-g"]
    cpu += ["-ffunction-sections", "-fdata-sections"]

    def build(*defines: str) -> Path:
        if shutil.which(cross) is None or shutil.which("qemu-system-arm") is None:
            pytest.skip("arm-none-eabi-gcc and qemu-system-arm are needed")
        if defines in built:
            return built[defines]
        try:
            kernel = find_kernel()
        except FwgenError as error:
            pytest.skip(f"no FreeRTOS kernel: {error}")
        elf = directory / f"firmware{len(built)}.elf"
        include = [f"-I{RTOS / 'include'}", f"-I{HERE / 'fixture'}"]
        include += ["-isystem", str(kernel.root / "include"), "-isystem", str(kernel.port)]
        sources = [
            path
            for path in sorted(RTOS.rglob("*.c"))
            if not {"tests", "ports", "fault_cortex_a.c"} & set(path.parts)
        ]
        groups = [
            ([*sources, HERE / "fixture/project.c"], [*STRICT, *(f"-D{d}" for d in defines)]),
            (
                [kernel.root / f"{name}.c" for name in ("tasks", "list", "queue")]
                + [kernel.port / "port.c"],
                ["-std=c11", *(f"-D{d}" for d in defines)],
            ),
        ]
        objects = []
        for group, flags in groups:
            for source in group:
                objects.append(str(directory / f"{len(built)}_{len(objects)}.o"))
                subprocess.run(
                    [cross, *cpu, *flags, *include, "-c", str(source), "-o", objects[-1]],
                    check=True,
                    timeout=120,
                )
        link = [cross, *cpu, "-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections"]
        link += ["-T", str(HERE / "fixture/memory.ld"), *objects, "-o", str(elf)]
        subprocess.run(link, check=True, timeout=120)
        built[defines] = elf
        return elf

    return build


@pytest.fixture(scope="session")
def start_qemu(firmware: Callable[..., Path]) -> Callable[..., Target]:
    """Boots the project in QEMU: (*defines) -> Target. The caller ends it."""

    def start(*defines: str) -> Target:
        command = ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-monitor", "none"]
        command += ["-semihosting-config", "enable=on,target=native"]
        command += ["-icount", "shift=5,sleep=off", "-chardev", "stdio,id=line,signal=off"]
        command += ["-serial", "chardev:line", "-kernel", str(firmware(*defines))]
        return Target(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        )

    return start


@pytest.fixture
def boot(start_qemu: Callable[..., Target]) -> Iterator[Callable[..., Target]]:
    """Boots the project for one test: (*defines) -> Target."""
    running: list[Target] = []

    def start(*defines: str) -> Target:
        running.append(start_qemu(*defines))
        return running[-1]

    yield start
    for target in running:
        target.close()


@pytest.fixture(scope="module")
def target(start_qemu: Callable[..., Target]) -> Iterator[Target]:
    """One boot of the default project for all tests of a module."""
    running = start_qemu()
    yield running
    running.close()
