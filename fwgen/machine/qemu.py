"""Finds the emulator program and knows its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fwgen.errors import UsageError

ENVIRONMENT = "FWGEN_QEMU"
OLDEST = (7, 2)
_INSTALL = (
    "On Debian or Ubuntu: apt-get install qemu-system-arm",
    f"Or set {ENVIRONMENT} to the path of a qemu-system-arm with plugins and modules.",
)


@dataclass(frozen=True, slots=True)
class Qemu:
    """A usable emulator program.

    Attributes:
        path: absolute path.
        version: (major, minor, micro).
        description: first line of `--version`.
    """

    path: Path
    version: tuple[int, ...]
    description: str


def find_qemu(program: str = "qemu-system-arm") -> Qemu:
    """The emulator to use: FWGEN_QEMU, or `program` on PATH.

    Raises:
        UsageError: there is none, it does not run, or it is too old.
    """
    wanted = os.environ.get(ENVIRONMENT) or program
    return _probe(wanted, shutil.which(wanted))


@lru_cache(maxsize=8)
def _probe(wanted: str, found: str | None) -> Qemu:
    if found is None:
        raise UsageError(
            f"{wanted} not found",
            where=f"{ENVIRONMENT}={wanted}" if os.environ.get(ENVIRONMENT) else "PATH",
            expected="the system emulator of QEMU for Arm",
            hints=_INSTALL,
        )
    try:
        text = subprocess.run(
            [found, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"QEMU does not run: {error}", where=found, hints=_INSTALL) from None
    description = text.splitlines()[0] if text else ""
    match = re.search(r"version (\d+)\.(\d+)(?:\.(\d+))?", description)
    version = tuple(int(part or 0) for part in match.groups()) if match else ()
    if version < OLDEST:
        raise UsageError(
            f"QEMU is too old or of unknown version: {description or 'no version printed'}",
            where=found,
            expected=f"version {OLDEST[0]}.{OLDEST[1]} or later",
            hints=_INSTALL,
        )
    return Qemu(Path(found).resolve(), version, description)
