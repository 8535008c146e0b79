"""fwgen init: start a project with tests and files for CI systems."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_json, print_line


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "-b",
    "--board",
    default="mps2-an385",
    show_default=True,
    help="Name of an emulated board, or a profile file.",
)
@click.option(
    "-m",
    "--model",
    type=click.Path(path_type=Path),
    help="The compiled model; default: the digits example.",
)
@settings.common_options
@settings.json_option
def init(directory: Path, board: str, model: Path | None) -> None:
    """Start a project with tests in the new or empty folder DIR.

    It gets what `fwgen new app` makes, tables of tests in fwgen.toml, and files that run
    them on GitHub Actions and GitLab. A repository that holds nothing but .git counts as
    empty.
    """
    from fwgen.project.init import init_project

    files = init_project(directory, board, model)
    if settings.current().as_json:
        print_json({"directory": directory, "files": files})
        return
    for name in files:
        print_line(str(directory / name))
    note(f"next: fwgen test {directory}")
