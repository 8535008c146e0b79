"""Printing: results on standard output, progress on standard error."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import click

from fwgen.cli import settings


def plain(value: Any) -> Any:
    """Turn dataclasses, enumerations, paths, bytes and arrays' scalars into JSON types.

    Contents of buffers are long and of no use to a reader: bytes become their
    length and SHA-256.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        kind = type(value).__name__
        return fields if "kind" in fields else {"kind": kind, **fields}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes | bytearray | memoryview):
        import hashlib

        return {"bytes": len(value), "sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, Mapping):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [plain(item) for item in items]
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.tolist() if hasattr(value, "tolist") else str(value)


def print_json(value: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(plain(value), indent=2))


def print_line(text: str = "") -> None:
    """Print a line of the result."""
    click.echo(text, color=settings.current().color)


def note(text: str) -> None:
    """Say what has been done, on standard error; silent with -q."""
    if settings.current().verbosity >= 0:
        click.echo(text, err=True, color=settings.current().color)


def progress(text: str) -> None:
    """Say what is being done, on a terminal only (or with -v)."""
    if settings.current().verbosity >= 1 or (
        settings.current().verbosity == 0 and sys.stderr.isatty()
    ):
        click.echo(click.style(text, dim=True), err=True, color=settings.current().color)


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    numbers: Sequence[str] = (),
    groups: Sequence[str] = (),
) -> None:
    """Print aligned columns.

    Args:
        headings: one a column.
        rows: cells; None prints as "-".
        numbers: headings of the columns that are aligned to the right.
        groups: one a row; a line with its name goes before each group of rows.
    """
    cells = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [
        max([len(heading), *(len(row[column]) for row in cells)])
        for column, heading in enumerate(headings)
    ]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell.rjust(width) if heading in numbers else cell.ljust(width)
            for cell, width, heading in zip(row, widths, headings, strict=True)
        ).rstrip()

    print_line(click.style(line(headings), bold=True))
    for number, row in enumerate(cells):
        if groups and (number == 0 or groups[number] != groups[number - 1]):
            print_line(click.style(groups[number], dim=True))
        print_line(line(row))


def size_text(count: int) -> str:
    """A number of bytes for a reader: "812 B", "12.4 KiB"."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{int(value)} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")
