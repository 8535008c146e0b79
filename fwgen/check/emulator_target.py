"""The emulated accelerator as a target of the replay."""

from __future__ import annotations

from pathlib import Path

from fwgen.check.targets import Bytes
from fwgen.machine.model_library import EmulatedAccelerator


class EmulatorTarget:
    """Steps from completion to completion.

    Args:
        library: path of the model library.
        config: NVDLA configuration name.

    Raises:
        UsageError: the library or the configuration is unusable.
    """

    def __init__(self, library: Path, config: str) -> None:
        self.accelerator = EmulatedAccelerator(library, "nvdla", config)

    def add_memory(self, space: int, base: int, size: int) -> Bytes:
        return self.accelerator.add_memory(space, base, size)

    def write(self, offset: int, value: int) -> None:
        self.accelerator.write32(offset, value)

    def read(self, offset: int) -> int:
        return self.accelerator.read32(offset)

    def step(self) -> bool:
        cycles = self.accelerator.next_event()
        if cycles is None:
            return False
        self.accelerator.advance(cycles)
        return True

    def guest_errors(self) -> list[str]:
        return self.accelerator.guest_errors()

    def close(self) -> None:
        self.accelerator.close()
