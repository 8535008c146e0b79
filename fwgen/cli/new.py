"""fwgen new: start a project."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_json, print_line


@click.group(context_settings=settings.CONTEXT)
@settings.common_options
def new() -> None:
    """Start a project."""


@new.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-b", "--board", required=True, help="Name of a board, or a profile file.")
@click.option(
    "-m", "--model", required=True, type=click.Path(path_type=Path), help="The compiled model."
)
@settings.common_options
@settings.json_option
def app(directory: Path, board: str, model: Path) -> None:
    """Make a small application around a model in the new folder DIR.

    It gets a project file, a task in C that runs the model and prints its answers, a
    README, and a copy of the model.
    """
    from fwgen.project.new import new_application

    files = new_application(directory, board, model)
    if settings.current().as_json:
        print_json({"directory": directory, "files": files})
        return
    for name in files:
        print_line(str(directory / name))
    note(f"next: cd {directory}, fwgen build, fwgen run --timeout 5")
