"""Board profiles: find, read, check.

A profile is found by name in the folders of FWGEN_BOARDS and in the installed
ones, or by path. Reading checks types and keys (here) and sense (validate.py).
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from fwgen.board import document, validate
from fwgen.board.types import (
    Accelerator,
    Board,
    Cpu,
    Flash,
    Memory,
    Nvmem,
    Overlay,
    Partition,
    Qemu,
    Uart,
)
from fwgen.errors import UsageError
from fwgen.resources import resource_dir
from fwgen.toml.decode import Decoder

__all__ = [
    "Accelerator",
    "Board",
    "Cpu",
    "Flash",
    "Memory",
    "Nvmem",
    "Overlay",
    "Partition",
    "Qemu",
    "Uart",
    "board_folders",
    "list_boards",
    "load_board",
]

# Arrays of tables are written in the singular in TOML.
DECODER = Decoder(
    {
        "memories": "memory",
        "accelerators": "accelerator",
        "partitions": "partition",
        "overlays": "overlay",
    },
    ("docs/boards.md lists all keys; `fwgen boards schema` prints the schema.",),
)


def board_folders() -> tuple[Path, ...]:
    """Folders searched for profiles: those of FWGEN_BOARDS, then the installed ones."""
    user = [Path(part) for part in os.environ.get("FWGEN_BOARDS", "").split(os.pathsep) if part]
    return (*user, resource_dir("boards"))


def list_boards() -> tuple[str, ...]:
    """Names that `load_board` knows, sorted. Shared parts in subfolders are no boards."""
    names = {file.stem for folder in board_folders() for file in folder.glob("*.toml")}
    return tuple(sorted(names))


def load_board(name_or_path: str | Path) -> Board:
    """Read and check a profile.

    Args:
        name_or_path: a name of `list_boards`, or the path of a .toml file.

    Raises:
        UsageError: no such board, or something wrong in the profile; `where`
            is "file:line, key".
    """
    file = _find_board(str(name_or_path))
    root = document.resolve(file, _find_base)
    board = DECODER.decode(root, Board)
    if file.parent in board_folders() and board.name != file.stem:
        raise UsageError(
            f"the profile's name '{board.name}' is not the name of its file",
            where=root.where(("name",)),
            expected=f"'{file.stem}'",
        )
    validate.check(board, root)
    return board


def _find_board(name: str) -> Path:
    if name.endswith(".toml") or os.sep in name:
        file = Path(name)
        if not file.is_file():
            raise UsageError(
                "no such board profile", where=name, expected="the path of a .toml file"
            )
        return file
    for folder in board_folders():
        file = folder / f"{name}.toml"
        if name and file.is_file():
            return file
    known = list_boards()
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    hints = [f"Did you mean {' or '.join(near)}?"] if near else []
    hints.append("See `fwgen boards list`.")
    hints.append("A profile of your own: give its path, or put its folder into FWGEN_BOARDS.")
    raise UsageError(
        f"unknown board '{name}'",
        expected=f"one of {', '.join(known)}",
        hints=tuple(hints),
    )


def _find_base(name: str, file: Path) -> Path | None:
    relative = name if name.endswith(".toml") else f"{name}.toml"
    for folder in (file.parent, *board_folders()):
        candidate = folder / relative
        if candidate.is_file():
            return candidate
    return None
