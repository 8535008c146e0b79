"""A profile as a tree that still knows the file and line of every key.

Reading, `extends` and the merge happen here, before any key is judged, so that
an error in an inherited key points at the file that holds it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from fwgen.board.toml_lines import Path, key_lines
from fwgen.errors import UsageError

MAX_BYTES = 1 << 20  # no profile comes near; a wrong path may


@dataclass(frozen=True, slots=True)
class Node:
    """One value: a dict of Nodes, a list of Nodes or a scalar."""

    value: Any
    file: str
    line: int

    def plain(self) -> Any:
        """The value without positions."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def where(self, path: Path = ()) -> str:
        """ "file:line, key" of the value at `path`, or of the nearest table above it."""
        node = self
        for part in path:
            if isinstance(node.value, dict) and part in node.value:
                node = node.value[part]
            elif isinstance(node.value, list) and isinstance(part, int):
                if part >= len(node.value):
                    break
                node = node.value[part]
            else:
                break
        key = dotted(path)
        return f"{node.file}:{node.line}, {key}" if key else f"{node.file}:{node.line}"


def dotted(path: Path) -> str:
    """A key path as the reader would write it: `memory[1].size`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read(file: FilePath) -> Node:
    """Parse one file.

    Raises:
        UsageError: unreadable, too large, not UTF-8 or not TOML.
    """
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UsageError(
                "too large to be a board profile",
                where=str(file),
                expected=f"at most {MAX_BYTES} bytes of TOML",
            )
        text = file.read_bytes().decode("utf-8")
        plain = tomllib.loads(text)
    except OSError as error:
        raise UsageError(
            f"cannot read the board profile: {error.strerror}", where=str(file)
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            "the board profile is not UTF-8 text", where=f"{file}, byte {error.start}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        message, line = str(error), len(text.splitlines())
        position = re.search(r"line (\d+)", message)
        if position:
            line = int(position.group(1))
        message = re.sub(r" \(at .*\)$", "", message)
        raise UsageError(
            f"not valid TOML: {message[:1].lower()}{message[1:]}", where=f"{file}:{max(line, 1)}"
        ) from None
    except (RecursionError, ValueError):  # ValueError: an integer of thousands of digits
        raise UsageError(
            "not a board profile: nested too deeply or a number too long", where=str(file)
        ) from None
    # tomllib reads lines that end in CR LF as if they ended in LF.
    lines = key_lines(text.replace("\r\n", "\n"))
    return _attach(plain, (), lines, str(file), 1)


def _attach(value: Any, path: Path, lines: dict[Path, int], file: str, above: int) -> Node:
    line = lines.get(path, above)
    if isinstance(value, dict):
        value = {k: _attach(v, (*path, k), lines, file, line) for k, v in value.items()}
    elif isinstance(value, list):
        value = [_attach(v, (*path, i), lines, file, line) for i, v in enumerate(value)]
    return Node(value, file, line)


def resolve(file: FilePath, find: Callable[[str, FilePath], FilePath | None]) -> Node:
    """Read a file and merge it over the chain of files it extends.

    Args:
        find: (name in `extends`, file that says so) -> file or None.

    Raises:
        UsageError: as `read`; a base that does not exist; a cycle.
    """
    chain: list[Node] = []
    seen: list[FilePath] = []
    current: FilePath | None = file
    while current is not None:
        seen.append(current.resolve())
        node = read(current)
        chain.append(node)
        base = node.value.pop("extends", None)
        if base is None:
            break
        where = f"{base.file}:{base.line}, extends"
        if not isinstance(base.value, str):
            raise UsageError("'extends' is not text", where=where, expected='"soc/NAME"')
        found = find(base.value, current)
        if found is None:
            raise UsageError(
                f"the profile to extend, '{base.value}', does not exist",
                where=where,
                expected="a name in the board folders or a path relative to this file",
            )
        if found.resolve() in seen:
            names = " -> ".join(path.stem for path in [*seen, found.resolve()])
            raise UsageError(f"'extends' goes round in a circle: {names}", where=where)
        current = found
    merged = chain.pop()
    while chain:
        merged = merge(merged, chain.pop())
    return merged


def merge(base: Node, over: Node) -> Node:
    """`over` laid over `base`.

    Tables merge key by key; arrays of named tables merge by name, new names
    are appended; everything else is replaced.
    """
    if isinstance(base.value, dict) and isinstance(over.value, dict):
        result = dict(base.value)
        for key, node in over.value.items():
            result[key] = merge(result[key], node) if key in result else node
        return Node(result, over.file, over.line)
    if _is_named(base) and _is_named(over):
        elements = list(base.value)
        places = {node.value["name"].value: i for i, node in reversed([*enumerate(elements)])}
        for node in over.value:
            place = places.get(node.value["name"].value)
            if place is None:
                elements.append(node)
            else:
                elements[place] = merge(elements[place], node)
        return Node(elements, over.file, over.line)
    return over


def _is_named(node: Node) -> bool:
    """Whether it is an array of tables that all have a textual name."""
    if not isinstance(node.value, list) or not node.value:
        return False
    return all(
        isinstance(item.value, dict)
        and "name" in item.value
        and isinstance(item.value["name"].value, str)
        for item in node.value
    )
