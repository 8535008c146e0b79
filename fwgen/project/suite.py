"""Checks the [test] tables of a project: what the schema cannot say, with the file's line."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from fwgen.errors import UsageError
from fwgen.project.suite_schema import CaseTable, SuiteTable
from fwgen.toml.document import Node
from fwgen.toml.lines import Path as KeyPath

HINTS = ("docs/testing.md explains the tables of [test].",)
SIZE = "size"
"""Name of the test that an image is built and keeps its budgets."""

ZEROS = "zeros"
RANDOM = "random:"
CPU = "cpu"
BOARD = "board:"


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns (* and ?) is the name's."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def callable_parts(reference: str) -> tuple[str, str] | None:
    """File and function of "file.py:function"; None where it is something else."""
    file, separator, function = reference.rpartition(":")
    return (file, function) if separator and file.endswith(".py") else None


def check_suite(
    table: SuiteTable, folder: Path, models: Sequence[str], has_app: bool, root: Node
) -> SuiteTable:
    """The table, if it is right.

    Args:
        folder: of the project.
        models: names of its models.
        has_app: whether it has sources of its own.
        root: the file, for messages.

    Raises:
        UsageError: names that are used twice, files that are not there, a case without
            expected values, patterns that match nothing.
    """
    checker = _Checker(folder, tuple(models), has_app, root)
    checker.unique("case", [case.name for case in table.case])
    checker.unique("fault", [fault.name for fault in table.fault])
    for index, case in enumerate(table.case):
        checker.case(case, ("test", "case", index))
    names = [case.name for case in table.case]
    for index, fault in enumerate(table.fault):
        checker.known(fault.cases, names, "case", ("test", "fault", index, "cases"))
    for index, budget in enumerate(table.budget):
        at = ("test", "budget", index)
        checker.known((budget.model,), models, "model", (*at, "model"))
        limits = (budget.flash, budget.ram, budget.tensors, budget.cycles, budget.microseconds)
        if all(limit is None for limit in limits):
            raise checker.error(
                "a budget without a limit", at, "flash, ram, tensors, cycles or microseconds"
            )
    if table.baseline is not None:
        checker.inside(table.baseline, ("test", "baseline"))
    return table


class _Checker:
    def __init__(self, folder: Path, models: tuple[str, ...], has_app: bool, root: Node) -> None:
        self.folder = folder
        self.models = models
        self.has_app = has_app
        self.root = root

    def error(self, message: str, at: KeyPath, expected: str) -> UsageError:
        return UsageError(message, where=self.root.where(at), expected=expected, hints=HINTS)

    def unique(self, kind: str, names: Sequence[str]) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.error(
                    f"two {kind}s are called '{name}'",
                    ("test", kind, index, "name"),
                    "a name of its own for each",
                )

    def known(self, patterns: Sequence[str], names: Sequence[str], kind: str, at: KeyPath) -> None:
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise self.error(
                    f"'{pattern}' matches no {kind}", at, "one of " + (", ".join(names) or "none")
                )

    def inside(self, text: str, at: KeyPath) -> Path:
        path = Path(text)
        if path.is_absolute() or ".." in path.parts or "\0" in text:
            raise self.error(f"'{text}' leaves the project", at, "a path below this file")
        return self.folder / path

    def file(self, text: str, at: KeyPath) -> None:
        if not (self.folder / text).is_file():
            raise self.error(f"no such file: {text}", at, "the path of a file, from this file")

    def case(self, case: CaseTable, at: KeyPath) -> None:
        self.known((case.model,), self.models, "model", (*at, "model"))
        if case.name == SIZE:
            raise self.error(
                f"'{SIZE}' is the name of the test of an image's size",
                (*at, "name"),
                "another name for the case",
            )
        sources = [
            word
            for word, given in (
                ("expect", case.expect),
                ("reference", case.reference),
                ("console", case.console),
            )
            if given
        ]
        if len(sources) != 1:
            raise self.error(
                f"the case '{case.name}' has "
                + (" and ".join(sources) if sources else "nothing to compare with"),
                at,
                "one of expect, reference and console",
            )
        if case.console:
            if case.inputs or case.runs != 1:
                raise self.error(
                    f"the case '{case.name}' reads the console and gives inputs or runs",
                    at,
                    "inputs and runs in cases with expect or reference",
                )
            if not self.has_app:
                raise self.error(
                    f"the case '{case.name}' reads an application's console",
                    (*at, "console"),
                    "a project with [app]",
                )
            return
        for tensor, value in case.inputs.items():
            self.value(value, (*at, "inputs", tensor))
        for tensor, value in case.expect.items():
            self.file(value, (*at, "expect", tensor))
        if case.reference is not None:
            self.reference(case.reference, (*at, "reference"))

    def value(self, text: str, at: KeyPath) -> None:
        if text == ZEROS:
            return
        if text.startswith(RANDOM):
            seed = text.removeprefix(RANDOM)
            if not (seed.isdecimal() and len(seed) < 10):
                raise self.error(f"'{seed}' is no seed", at, "random: and a number, as random:7")
            return
        self.file(text, at)

    def reference(self, text: str, at: KeyPath) -> None:
        if text == CPU or (text.startswith(BOARD) and text != BOARD):
            return
        parts = callable_parts(text)
        if parts is None or not parts[1].isidentifier():
            raise self.error(
                f"'{text}' is no reference", at, '"file.py:function", "cpu" or "board:NAME"'
            )
        self.file(parts[0], at)
