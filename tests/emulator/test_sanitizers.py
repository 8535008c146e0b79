"""All recorded cases and the fuzz corpus on a model with AddressSanitizer and UBSan.

A replay on the ordinary library is recorded: memory, register writes and reads,
steps. A small C program plays the record on the checked build, so that no
Python runs under the sanitizers, and compares every read and the memory that
the case checks. Random layers of each unit follow, against the same record.
"""

from __future__ import annotations

import struct
import subprocess
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fwgen.check.emulator_target import EmulatorTarget
from fwgen.check.random_layers import UNITS, make_case, run_case
from fwgen.check.replay import find_cases, play_trace
from fwgen.check.targets import CONFIGURATIONS, Bytes
from fwgen.check.trace import CheckNothing, Trace, read_trace

from .checked import play, replay_corpus, used
from .conftest import REPOSITORY

pytestmark = pytest.mark.slow

LAYERS_PER_UNIT = 12


@dataclass
class Recorder:
    """An emulator that writes down what is done to it."""

    inner: EmulatorTarget
    config: str
    script: bytearray = field(default_factory=bytearray)
    segments: list[tuple[int, int, Bytes]] = field(default_factory=list)
    begun: bool = False

    def add_memory(self, space: int, base: int, size: int) -> Bytes:
        data = self.inner.add_memory(space, base, size)
        self.segments.append((space, base, data))
        return data

    def _begin(self) -> None:
        """The memory as it is before the first register access."""
        if self.begun:
            return
        self.begun = True
        self.script += b"C" + bytes((len(self.config),)) + self.config.encode()
        for space, base, data in self.segments:
            self.script += b"M" + struct.pack("<BQQ", space, base, data.size)
            for start, end in used(data):
                self.script += b"D" + struct.pack("<BQI", space, base + start, end - start)
                self.script += data[start:end].tobytes()

    def write(self, offset: int, value: int) -> None:
        self._begin()
        self.script += b"W" + struct.pack("<II", offset, value)
        self.inner.write(offset, value)

    def read(self, offset: int) -> int:
        self._begin()
        value = self.inner.read(offset)
        self.script += b"R" + struct.pack("<II", offset, value)
        return value

    def step(self) -> bool:
        self._begin()
        self.script += b"S"
        return self.inner.step()

    def guest_errors(self) -> list[str]:
        return self.inner.guest_errors()

    def expect_memory(self, space: int, base: int, data: Bytes) -> None:
        self.script += b"K" + struct.pack("<BQII", space, base, data.size, zlib.crc32(data))

    def close(self) -> None:
        count = self.inner.accelerator.guest_error_count
        self.script += b"Z" + struct.pack("<I", count)
        self.inner.close()


def record(library: Path, trace: Trace, config: str) -> bytearray:
    """Replay a trace on the ordinary library; it must pass."""
    recorder = Recorder(EmulatorTarget(library, config), config)
    result = play_trace(trace, recorder, config, "emulator")
    assert result.passed, result.reason
    for check in trace.checks:
        if isinstance(check, CheckNothing):
            continue
        for space, base, data in recorder.segments:
            if space == int(check.space) and base <= check.base < base + data.size:
                at = check.base - base
                recorder.expect_memory(space, check.base, data[at : at + check.size])
    recorder.close()
    return recorder.script


def test_every_trace_and_vector(
    model_library: Path, checked_build: Path, testdata: Path, tmp_path: Path
) -> None:
    nvdla = testdata / "nvdla"
    script = bytearray()
    count = 0
    for case in find_cases([nvdla / "vectors", nvdla / "traces"]):
        assert case.config is not None
        script += record(model_library, read_trace(case.path), case.config)
        count += 1
    assert count > 300
    assert play(checked_build, bytes(script), tmp_path / "script").startswith(f"{count} cases")


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_random_layers(model_library: Path, checked_build: Path, tmp_path: Path, unit: str) -> None:
    script = bytearray()
    for number in range(LAYERS_PER_UNIT):
        config = CONFIGURATIONS[number % len(CONFIGURATIONS)]
        recorder = Recorder(EmulatorTarget(model_library, config), config)
        run_case(make_case(unit, config, 4000 + number), recorder)
        for space, base, data in recorder.segments:
            for start, end in used(data):
                recorder.expect_memory(space, base + start, data[start:end])
        recorder.close()
        script += recorder.script
    assert play(checked_build, bytes(script), tmp_path / "script").startswith(f"{LAYERS_PER_UNIT} ")


def test_corpus(checked_build: Path) -> None:
    replay_corpus(checked_build, "replay_corpus", REPOSITORY / "emulator" / "fuzz" / "corpus")


def test_the_checked_build_notices(checked_build: Path, tmp_path: Path) -> None:
    """A wrong expectation is a failure: the comparison compares."""
    script = tmp_path / "script"
    script.write_bytes(b"C\x08nv_small" + b"R" + struct.pack("<II", 0x1004, 1))
    done = subprocess.run(
        [str(checked_build / "play_script"), str(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "register 0x1004 is 0x0 instead of 0x1" in done.stdout
