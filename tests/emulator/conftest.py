"""Fixtures: a device that is driven by register names."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fwgen.machine.model_library import DRAM, SRAM, Bytes, EmulatedAccelerator, Operation

REPOSITORY = Path(__file__).resolve().parents[2]

CHECKED_PROGRAMS = ("play_script", "replay_corpus", "replay_corpus_vip")

SOURCE, TARGET, OPERANDS, WEIGHTS = 0x80000000, 0x80100000, 0x80200000, 0x80300000
MEMORY_BASE, MEMORY_SIZE = 0x80000000, 0x400000
SRAM_BASE, SRAM_SIZE = 0x50000000, 0x10000

# Bits of GLB.S_INTR_STATUS for group 0; group 1 is the next bit.
DONE = {"SDP": 0, "CDP": 2, "PDP": 4, "CDMA_DAT": 16, "CDMA_WT": 18, "CACC": 20}


class Device:
    """An emulated NVDLA with 4 MiB of DRAM, addressed by register names."""

    def __init__(self, library: Path, config: str = "nv_small") -> None:
        self.accelerator = EmulatedAccelerator(library, "nvdla", config)
        self.dram = self.accelerator.add_memory(DRAM, MEMORY_BASE, MEMORY_SIZE)
        self.sram = self.accelerator.add_memory(SRAM, SRAM_BASE, SRAM_SIZE)
        self.offsets = {
            name: offset
            for offset in range(0, 0x12000, 4)
            if (name := self.accelerator.register_name(offset)) is not None
        }

    def write(self, name: str, value: int) -> None:
        """Write a register by its name, "SDP.D_CVT_SCALE"."""
        self.accelerator.write32(self.offsets[name], value)

    def read(self, name: str) -> int:
        """Read a register by its name."""
        return self.accelerator.read32(self.offsets[name])

    def program(self, block: str, values: dict[str, int]) -> None:
        """Write D_ or S_ registers of one block."""
        for name, value in values.items():
            self.write(f"{block}.{name}", value)

    def bytes_at(self, address: int, size: int) -> Bytes:
        """View of DRAM."""
        return self.dram[address - MEMORY_BASE : address - MEMORY_BASE + size]

    def put(self, address: int, data: np.ndarray | bytes) -> None:
        """Store bytes in DRAM."""
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data.view(np.uint8)
        self.bytes_at(address, raw.size)[:] = raw.reshape(-1)

    def run(self) -> int:
        """Run until idle; returns the interrupt status and clears it."""
        self.accelerator.run()
        return self.take_status()

    def take_status(self) -> int:
        """The interrupt status, which is cleared."""
        status = self.read("GLB.S_INTR_STATUS")
        self.write("GLB.S_INTR_STATUS", status)
        return status

    def errors(self) -> list[str]:
        return self.accelerator.guest_errors()

    def operations(self) -> list[Operation]:
        return self.accelerator.operations()


@pytest.fixture
def make_device(model_library: Path) -> Iterator[Callable[..., Device]]:
    """Makes devices of any configuration; destroys them after the test."""
    made: list[Device] = []

    def make(config: str = "nv_small") -> Device:
        device = Device(model_library, config)
        made.append(device)
        return device

    yield make
    for device in made:
        device.accelerator.close()


@pytest.fixture
def device(make_device: Callable[..., Device]) -> Device:
    """An nv_small."""
    return make_device()


@pytest.fixture(scope="session")
def checked_build() -> Path:
    """Folder of CHECKED_PROGRAMS, built with AddressSanitizer and UBSan."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    build = REPOSITORY / "build" / "emulator-checked"
    flags = ["-DFWGEN_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=None"]
    for command in (
        ["cmake", "-S", str(REPOSITORY / "emulator"), "-B", str(build), *flags],
        ["cmake", "--build", str(build), "--target", *CHECKED_PROGRAMS],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return build
