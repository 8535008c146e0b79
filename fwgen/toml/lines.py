"""Line numbers of the keys of a TOML document (TOML 1.0).

The standard library's parser keeps no positions. This scanner walks text that
the parser has already accepted, so it need not judge it: it only has to know
where keys, tables and array elements begin.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Path = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\r\n]*")
_QUOTED = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})', re.DOTALL),
    re.compile(r"'''.*?'''(?:'{0,2})", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


def key_lines(text: str) -> dict[Path, int]:
    """Map every key path of a valid TOML document to its line, counted from 1.

    Array elements have their index in the path: `[[memory]]` gives
    ("memory", 0), ("memory", 1). A table has the line of its header, or of the
    first key below it when it has none. The document itself is the empty path.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.lines: dict[Path, int] = {(): 1}
        self.last_index: dict[Path, int] = {}
        self.newlines = [i for i, character in enumerate(text) if character == "\n"]

    def document(self) -> None:
        table: Path = ()
        while self.skip(_SPACE) and self.position < len(self.text):
            if self.text[self.position] == "[":
                table = self.header()
            else:
                self.pair(table)

    def skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()
        return True

    def record(self, path: Path) -> None:
        line = bisect_right(self.newlines, self.position - 1) + 1
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def header(self) -> Path:
        start = self.position
        is_array = self.text.startswith("[[", start)
        self.position += 2 if is_array else 1
        keys = self.dotted_key()
        path: Path = ()
        for number, key in enumerate(keys):
            path += (key,)
            if is_array and number == len(keys) - 1:
                self.last_index[path] = self.last_index.get(path, -1) + 1
            if path in self.last_index:
                path += (self.last_index[path],)
        self.position, end = start, self.position
        self.record(path)
        # A table defined after its subtables: the header is the better place.
        self.lines[path] = bisect_right(self.newlines, start - 1) + 1
        self.position = self.text.index("]", end) + (2 if is_array else 1)
        return path

    def pair(self, table: Path) -> None:
        start = self.position
        path = table + self.dotted_key()
        self.skip(_BLANK)
        end = self.position + 1  # behind the equals sign
        self.position = start
        self.record(path)
        self.position = end
        self.skip(_BLANK)
        self.value(path)

    def dotted_key(self) -> tuple[str, ...]:
        keys: list[str] = []
        while True:
            self.skip(_BLANK)
            if self.text[self.position] in "\"'":
                keys.append(str(tomllib.loads(f"k = {self.quoted()}")["k"]))
            else:
                match = _BARE_KEY.match(self.text, self.position)
                assert match, "the text is valid TOML"
                self.position = match.end()
                keys.append(match.group())
            self.skip(_BLANK)
            if self.text[self.position] != ".":
                return tuple(keys)
            self.position += 1

    def quoted(self) -> str:
        for pattern in _QUOTED:
            match = pattern.match(self.text, self.position)
            if match:
                self.position = match.end()
                return match.group()
        raise AssertionError("the text is valid TOML")

    def value(self, path: Path) -> None:
        opening = self.text[self.position]
        if opening in "\"'":
            self.quoted()
        elif opening == "[":
            self.position += 1
            index = 0
            while self.skip(_SPACE) and self.text[self.position] != "]":
                self.record((*path, index))
                self.value((*path, index))
                index += 1
                self.separator()
            self.position += 1
        elif opening == "{":
            self.position += 1
            while self.skip(_SPACE) and self.text[self.position] != "}":
                self.pair(path)
                self.separator()
            self.position += 1
        else:
            self.skip(_SCALAR)

    def separator(self) -> None:
        self.skip(_SPACE)
        if self.text[self.position] == ",":
            self.position += 1
