"""Options of the form NAME=FILE."""

from __future__ import annotations

from pathlib import Path

import click


def named_files(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Path]:
    """Callback of a multiple option: files by name, each name once."""
    result: dict[str, Path] = {}
    for value in values:
        name, separator, path = value.partition("=")
        if not separator or not name or not path:
            raise click.BadParameter(f"'{value}' is not NAME=FILE", context, option)
        if name in result:
            raise click.BadParameter(f"'{name}' is given twice", context, option)
        result[name] = Path(path)
    return result
