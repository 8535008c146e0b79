"""What a build leaves behind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fwgen.errors import UsageError

ELF = "firmware.elf"
MAP = "firmware.map"
SIZE = "size.json"
MEMORY_MAP = "memory_map.json"
OPERATIONS = "operations.json"
BUILD_INFO = "build_info.json"
COMPILE_COMMANDS = "compile_commands.json"


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A finished project.

    Attributes:
        directory: where it lies.
        changed: False when everything was up to date and nothing was done.
    """

    directory: Path
    changed: bool

    @property
    def elf(self) -> Path:
        """The image."""
        return self.directory / ELF

    def size(self) -> dict[str, object]:
        """Contents of size.json: components, regions, stack bounds."""
        return read_json(self.directory / SIZE)

    def info(self) -> dict[str, object]:
        """Contents of build_info.json."""
        return read_json(self.directory / BUILD_INFO)

    def memory_map(self) -> dict[str, object]:
        """Contents of memory_map.json."""
        return read_json(self.directory / MEMORY_MAP)


def read_json(path: Path) -> dict[str, object]:
    """A report of a build.

    Raises:
        UsageError: the directory holds no finished build, or the file is damaged.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read {path.name}: {error}",
            where=str(path.parent),
            expected="a directory written by `fwgen build`",
        ) from error
    if not isinstance(data, dict):
        raise UsageError(f"{path.name} is damaged", where=str(path.parent))
    return data
