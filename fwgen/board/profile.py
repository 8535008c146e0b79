"""Board profiles: find, read, check.

A profile is found by name in the folders of FWGEN_BOARDS and in the installed
ones, or by path. Reading checks types and keys (here) and sense (validate.py).
"""

from __future__ import annotations

import difflib
import os
import re
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fwgen.board import document, validate
from fwgen.board.document import Node
from fwgen.board.toml_lines import Path as KeyPath
from fwgen.board.types import (
    SIZE_PATTERN,
    Accelerator,
    Board,
    Cpu,
    Flash,
    Memory,
    Nvmem,
    Partition,
    Qemu,
    Uart,
)
from fwgen.errors import UsageError
from fwgen.resources import resource_dir

__all__ = [
    "Accelerator",
    "Board",
    "Cpu",
    "Flash",
    "Memory",
    "Nvmem",
    "Partition",
    "Qemu",
    "Uart",
    "board_folders",
    "list_boards",
    "load_board",
]

T = TypeVar("T")

# Arrays of tables are written in the singular in TOML.
FILE_KEYS = {"memories": "memory", "accelerators": "accelerator", "partitions": "partition"}
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


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
    board = _decode(root, Board, (), root)
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


def file_key(field: str) -> str:
    """How a field of the dataclasses is written in the file."""
    return FILE_KEYS.get(field, field)


def _decode(node: Node, kind: type[T], path: KeyPath, root: Node) -> T:
    """One table to its dataclass; errors carry the position of the key."""
    assert is_dataclass(kind)
    if not isinstance(node.value, dict):
        raise UsageError(
            f"'{document.dotted(path)}' is not a table",
            where=root.where(path),
            expected=f"[{document.dotted(path)}]",
        )
    hints = typing.get_type_hints(kind, include_extras=True)
    known = {file_key(field.name): field for field in fields(kind)}
    for key in node.value:
        if key not in known:
            raise _unknown_key(key, tuple(known), (*path, key), root)
    arguments: dict[str, Any] = {}
    for key, field in known.items():
        if key in node.value:
            hint = hints[field.name]
            arguments[field.name] = _decode_value(node.value[key], hint, (*path, key), root)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(
                f"the key '{document.dotted((*path, key))}' is missing",
                where=root.where(path),
                expected=_describe(hints[field.name]),
                hints=("docs/boards.md lists all keys; `fwgen boards schema` prints the schema.",),
            )
    return kind(**arguments)


def _decode_value(node: Node, hint: Any, path: KeyPath, root: Node) -> Any:
    bare, metadata = bare_type(hint)
    if is_dataclass(bare):
        return _decode(node, typing.cast(type[Any], bare), path, root)
    if typing.get_origin(bare) is tuple:
        element = typing.get_args(bare)[0]
        if is_dataclass(bare_type(element)[0]):
            return _decode_tables(node, bare_type(element)[0], path, root)
    value = node.plain()
    if isinstance(value, str) and any(
        (meta.extra_json_schema or {}).get("pattern") == SIZE_PATTERN for meta in metadata
    ):
        value = _parse_size(value, path, root)
    try:
        return msgspec.convert(value, hint)
    except (msgspec.ValidationError, TypeError, OverflowError) as error:
        raise _bad_value(value, hint, str(error), path, root) from None


def _decode_tables(node: Node, kind: type[T], path: KeyPath, root: Node) -> tuple[T, ...]:
    if not isinstance(node.value, list):
        raise UsageError(
            f"'{document.dotted(path)}' is not an array of tables",
            where=root.where(path),
            expected=f"[[{document.dotted(path)}]]",
        )
    return tuple(_decode(item, kind, (*path, i), root) for i, item in enumerate(node.value))


def bare_type(hint: Any) -> tuple[Any, tuple[msgspec.Meta, ...]]:
    """The type below Annotated and `| None`, and all metadata on the way."""
    metadata: tuple[msgspec.Meta, ...] = ()
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            metadata += hint.__metadata__
            hint = hint.__origin__
        elif origin in (typing.Union, types.UnionType):
            (hint,) = [a for a in typing.get_args(hint) if a is not type(None)]
        else:
            return hint, metadata


def _parse_size(text: str, path: KeyPath, root: Node) -> int:
    match = re.fullmatch(r"([0-9]{1,15}) ?(B|KiB|MiB|GiB)?", text)
    if not match:
        raise UsageError(
            f"'{text}' is not a size",
            where=root.where(path),
            expected='a number of bytes, or text as "64KiB" or "4MiB"',
        )
    return int(match.group(1)) * _UNITS[match.group(2) or ""]


def _unknown_key(key: str, known: tuple[str, ...], path: KeyPath, root: Node) -> UsageError:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    table = document.dotted(path[:-1])
    keys = f"one of {', '.join(sorted(known))}"
    return UsageError(
        f"unknown key '{key}'" + (f" in [{table}]" if table else ""),
        where=root.where(path),
        expected=f"'{near[0]}'" if near else keys,
        hints=(f"Keys here: {', '.join(sorted(known))}.",),
    )


def _bad_value(value: Any, hint: Any, reason: str, path: KeyPath, root: Node) -> UsageError:
    choices = choices_of(hint)
    bad = value
    if isinstance(value, list):
        wrong = [item for item in value if item not in choices]
        bad = wrong[0] if wrong else value
        if wrong and choices:
            path = (*path, value.index(bad))
    if choices and isinstance(bad, str):
        near = difflib.get_close_matches(bad, choices, n=1, cutoff=0.4)
        return UsageError(
            f"'{bad}' is not known for '{document.dotted(path)}'",
            where=root.where(path),
            expected=f"'{near[0]}'" if near else f"one of {', '.join(choices)}",
            hints=(f"Known: {', '.join(choices)}.",),
        )
    reason = re.sub(r" - at `\$.*`$", "", reason)
    shown = f"{bad:#x}" if isinstance(bad, int) and bad > 0xFFFF else repr(bad)
    return UsageError(
        f"bad value {shown[:60]} for '{document.dotted(path)}': {reason[:1].lower()}{reason[1:]}",
        where=root.where(path),
        expected=_describe(hint),
    )


def choices_of(hint: Any) -> tuple[str, ...]:
    bare = bare_type(hint)[0]
    if typing.get_origin(bare) is tuple:
        bare = bare_type(typing.get_args(bare)[0])[0]
    return typing.get_args(bare) if typing.get_origin(bare) is typing.Literal else ()


def _describe(hint: Any) -> str:
    """What a key wants, for a message."""
    choices = choices_of(hint)
    if choices:
        return f"one of {', '.join(choices)}"
    bare, metadata = bare_type(hint)
    for meta in reversed(metadata):
        if meta.description:
            return meta.description.rstrip(".").split(". ")[0]
    if is_dataclass(bare):
        return "a table"
    return getattr(bare, "__name__", str(bare))
