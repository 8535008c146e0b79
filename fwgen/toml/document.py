"""A TOML file as a tree that still knows the file and line of every key."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from fwgen.errors import UsageError
from fwgen.toml.lines import Path, key_lines

MAX_BYTES = 1 << 20  # no such file comes near; a wrong path may


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


def read(file: FilePath, what: str) -> Node:
    """Parse one file.

    Args:
        file: its path, as messages show it.
        what: the kind of file, for messages ("board profile").

    Raises:
        UsageError: unreadable, too large, not UTF-8 or not TOML.
    """
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UsageError(
                f"too large to be a {what}",
                where=str(file),
                expected=f"at most {MAX_BYTES} bytes of TOML",
            )
        text = file.read_bytes().decode("utf-8")
        plain = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the {what}: {error.strerror}", where=str(file)) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the {what} is not UTF-8 text", where=f"{file}, byte {error.start}"
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
            f"not a {what}: nested too deeply or a number too long", where=str(file)
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
