"""Expressions that choose tests by name: `-k "digits and not (fault or size)"`.

A word stands for the names that contain it, in any case; `and`, `or`, `not` and
parentheses mean what they mean in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fwgen.errors import UsageError

_TOKEN = re.compile(r"\s*(?:([()])|([^\s()]+))")
_WORDS = {"and", "or", "not"}

Rule = Callable[[str], bool]


class Selection:
    """An expression, ready to judge names.

    Raises:
        UsageError: it is no expression.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = [a or b for a, b in _TOKEN.findall(text)]
        self._rule = self._either()
        if self._tokens:
            raise self._error(f"'{self._tokens[0]}' stands where nothing was expected")

    def __str__(self) -> str:
        return self.text

    def takes(self, name: str) -> bool:
        """Whether the expression holds for a name."""
        return self._rule(name.lower())

    def _error(self, message: str) -> UsageError:
        return UsageError(
            message,
            where=f"-k '{self.text}'",
            expected="words with and, or, not and parentheses",
        )

    def _next(self, *words: str) -> bool:
        """Take the next token if it is one of these."""
        if self._tokens and self._tokens[0] in words:
            self._tokens.pop(0)
            return True
        return False

    def _either(self) -> Rule:
        rule = self._both()
        while self._next("or"):
            left, right = rule, self._both()
            rule = lambda name, a=left, b=right: a(name) or b(name)  # type: ignore[misc]  # noqa: E731
        return rule

    def _both(self) -> Rule:
        rule = self._one()
        while self._next("and"):
            left, right = rule, self._one()
            rule = lambda name, a=left, b=right: a(name) and b(name)  # type: ignore[misc]  # noqa: E731
        return rule

    def _one(self) -> Rule:
        if self._next("not"):
            rule = self._one()
            return lambda name: not rule(name)
        if self._next("("):
            inside = self._either()
            if not self._next(")"):
                raise self._error("a parenthesis is not closed")
            return inside
        if not self._tokens or self._tokens[0] in (*_WORDS, ")"):
            raise self._error("a word is missing")
        word = self._tokens.pop(0).lower()
        return lambda name: word in name
