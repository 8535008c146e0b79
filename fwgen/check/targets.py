"""What a trace or a register program can be played on.

The replay knows only `Target`; the emulated accelerator and the NumPy
reference are two of them. Bytes written by memory commands go straight into
the arrays that `add_memory` returns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fwgen.errors import UsageError
from fwgen.reference.nvdla import ReferenceGuestError, ReferenceNvdla, ReferenceUnsupported

Bytes = npt.NDArray[np.uint8]

CONFIGURATIONS = (
    "nv_small",
    "nv_small_256",
    "nv_small_256_full",
    "nv_medium_512",
    "nv_medium_1024_full",
    "nv_large",
)

MODELS = ("emulator", "reference")


class Target(Protocol):
    """A model of the accelerator that can be stepped from event to event."""

    def add_memory(self, space: int, base: int, size: int) -> Bytes:
        """A zero-filled segment of memory port 0 (DRAM) or 1 (SRAM)."""

    def write(self, offset: int, value: int) -> None:
        """Write a register."""

    def read(self, offset: int) -> int:
        """Read a register."""

    def step(self) -> bool:
        """Advance to the next completion; False when nothing is under way."""

    def guest_errors(self) -> list[str]:
        """What the register program did wrong so far."""

    def close(self) -> None:
        """Release what the target holds."""


class ReferenceTarget:
    """The NumPy reference: operations finish inside the write that launches them."""

    def __init__(self, config: str) -> None:
        self._model = ReferenceNvdla(config)
        self._errors: list[str] = []

    def add_memory(self, space: int, base: int, size: int) -> Bytes:
        return self._model.add_memory(space, base, size)

    def write(self, offset: int, value: int) -> None:
        try:
            self._model.write(offset, value)
        except (ReferenceGuestError, ReferenceUnsupported) as error:
            self._errors.append(str(error))

    def read(self, offset: int) -> int:
        return self._model.read(offset)

    def step(self) -> bool:
        return False

    def guest_errors(self) -> list[str]:
        return list(self._errors)

    def close(self) -> None:
        pass


def open_target(model: str, config: str, library: Path | None = None) -> Target:
    """A fresh target.

    Args:
        model: "emulator" or "reference".
        config: a name of CONFIGURATIONS.
        library: the emulator's shared library; needed for "emulator" only.

    Raises:
        UsageError: unknown model or configuration.
    """
    if config not in CONFIGURATIONS:
        raise UsageError(f'unknown configuration "{config}"', expected=" or ".join(CONFIGURATIONS))
    if model == "reference":
        return ReferenceTarget(config)
    if model != "emulator" or library is None:
        raise UsageError(f'unknown model "{model}"', expected=" or ".join(MODELS))
    from fwgen.check.emulator_target import EmulatorTarget

    return EmulatorTarget(library, config)
