"""What the rules about profiles share: how they refuse, and how a refusal finds its line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn

from fwgen.board.types import Board, Uart
from fwgen.errors import UsageError
from fwgen.toml.document import Node
from fwgen.toml.lines import Path

ADDRESS_SPACE = 1 << 32
PAGE = 0x1000
UART_SIZE = 0x1000


class Rules:
    """A board, its document, and ways to say what is wrong."""

    def __init__(self, board: Board, root: Node) -> None:
        self.board = board
        self.root = root

    def fail(
        self, path: Path, message: str, expected: str | None = None, hints: tuple[str, ...] = ()
    ) -> NoReturn:
        raise UsageError(message, where=self.root.where(path), expected=expected, hints=hints)

    def unique(self, path: Path, names: Iterable[str]) -> None:
        seen: dict[str, int] = {}
        for index, name in enumerate(names):
            if name in seen:
                self.fail(
                    (*path, index, "name"),
                    f"the name '{name}' is taken by {path[-1]}[{seen[name]}]",
                    "a name of its own",
                )
            seen[name] = index

    def aligned(self, path: Path, value: int, to: int) -> None:
        if value % to:
            self.fail(path, f"{value:#x} is not aligned", f"a multiple of {to:#x}")

    def unknown(self, path: Path, what: str, name: str, known: Iterable[str]) -> NoReturn:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
        self.fail(
            path,
            f"unknown {what} '{name}'",
            f"'{near[0]}'" if near else f"one of {', '.join(names)}",
            (f"Known: {', '.join(names)}.",),
        )

    def ports(self) -> Iterable[tuple[str, Uart]]:
        yield "console", self.board.console
        if self.board.link is not None:
            yield "link", self.board.link
