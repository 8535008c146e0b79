"""Sizes of images against their budgets, and what grew since an earlier run.

flash is what is stored: code, constants, weights and the initial values of variables.
ram is what is used while it runs: variables, stacks and tensors. tensors is the part
of ram that the planner gave to the models. All in bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fwgen.build.result import SIZE, read_json
from fwgen.errors import UsageError
from fwgen.project.suite_schema import BudgetTable

LAST_FILE = Path("build") / ".fwgen" / "last.json"
KINDS = ("flash", "ram", "tensors")
TENSORS = "tensors"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of one image.

    Attributes:
        components: name -> (flash, ram).
    """

    flash: int
    ram: int
    tensors: int
    components: Mapping[str, tuple[int, int]]

    def of(self, kind: str) -> int:
        """One of KINDS."""
        return {"flash": self.flash, "ram": self.ram, "tensors": self.tensors}[kind]

    def parts(self, kind: str) -> dict[str, int]:
        """Bytes of that kind by component, those without any left out."""
        if kind == TENSORS:
            return {TENSORS: self.tensors} if self.tensors else {}
        column = KINDS.index(kind)
        return {name: pair[column] for name, pair in self.components.items() if pair[column]}


@dataclass(frozen=True, slots=True)
class Growth:
    """A budget that is exceeded.

    Attributes:
        kind: one of KINDS.
        since: bytes of the earlier run; None: there is none.
        changes: (component, bytes more or less), largest first; without an earlier run
            the components as they are.
    """

    kind: str
    used: int
    budget: int
    since: int | None
    changes: tuple[tuple[str, int], ...]

    def lines(self) -> tuple[str, ...]:
        """For the reader."""
        head = f"{self.kind}: {self.used} bytes are {self.used - self.budget} more than the budget"
        head += f" of {self.budget}"
        if self.since is None:
            title = "there is no earlier run to compare with; it is made of"
            return (head, f"  {title}:", *(f"    {n}: {size}" for n, size in self.changes))
        title = f"since the run before, {self.since} bytes: {self.used - self.since:+d}"
        return (head, f"  {title}", *(f"    {n}: {change:+d}" for n, change in self.changes))


def sizes_of(directory: Path) -> Sizes:
    """The sizes of a finished build.

    Raises:
        UsageError: there is none, or its report is damaged.
    """
    report: Any = read_json(directory / SIZE)
    try:
        components = {
            str(c["name"]): (int(c["text"]) + int(c["data"]), int(c["data"]) + int(c["bss"]))
            for c in report["components"]
        }
    except (KeyError, TypeError, ValueError):
        raise UsageError("size.json is damaged", where=str(directory)) from None
    flash = sum(stored for stored, _ in components.values())
    ram = sum(used for _, used in components.values())
    return Sizes(flash, ram, components.get(TENSORS, (0, 0))[1], components)


def exceeded(
    sizes: Sizes, budgets: Iterable[BudgetTable], before: Sizes | None
) -> tuple[Growth, ...]:
    """The budgets that an image does not keep; of several of a kind the smallest counts."""
    found = []
    budgets = tuple(budgets)
    for kind in KINDS:
        limits = [limit for b in budgets if (limit := getattr(b, kind)) is not None]
        if limits and sizes.of(kind) > min(limits):
            found.append(_growth(kind, sizes, min(limits), before))
    return tuple(found)


def _growth(kind: str, sizes: Sizes, budget: int, before: Sizes | None) -> Growth:
    now = sizes.parts(kind)
    then = before.parts(kind) if before is not None else {}
    changes = [(name, now.get(name, 0) - then.get(name, 0)) for name in {**now, **then}]
    changes = sorted((c for c in changes if c[1]), key=lambda c: (-c[1], c[0]))
    since = before.of(kind) if before is not None else None
    return Growth(kind, sizes.of(kind), budget, since, tuple(changes))


def read_baseline(path: Path) -> dict[str, Sizes]:
    """Sizes by image, as `write_baseline` wrote them; nothing where there is no file.

    Raises:
        UsageError: it is damaged.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != _VERSION:
            raise ValueError
        return {
            str(key): Sizes(
                int(entry["flash"]),
                int(entry["ram"]),
                int(entry["tensors"]),
                {str(n): (int(a), int(b)) for n, (a, b) in entry["components"].items()},
            )
            for key, entry in data["images"].items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(
            "the sizes of the run before cannot be read",
            where=str(path),
            expected="a file that `fwgen test` wrote",
            hints=("Remove it, or write it again with --update-baseline.",),
        ) from None


def write_baseline(path: Path, images: Mapping[str, Sizes]) -> None:
    """Write sizes by image, sorted, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    data = {
        "version": _VERSION,
        "images": {
            key: {
                "flash": sizes.flash,
                "ram": sizes.ram,
                "tensors": sizes.tensors,
                "components": {name: list(pair) for name, pair in sizes.components.items()},
            }
            for key, sizes in sorted(images.items())
        },
    }
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all, and the folders above it.

    Raises:
        UsageError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(
            f"cannot write the file: {error.strerror or error}", where=str(path)
        ) from None
