"""fwgen report: a page about a build."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The page; default: report.html in the build folder.",
)
@click.option("-b", "--board", help="Another board than the folder's.")
@settings.common_options
@settings.json_option
def report(directory: Path, output: Path | None, board: str | None) -> None:
    """Write a page about the build folder or project DIR, one HTML file.

    It shows the memory map, buffer lifetimes, sizes, stacks and placement. Timeline
    and roofline need a run: `fwgen run DIR --report FILE.html` writes the page with them.
    """
    from fwgen.emulate import open_firmware
    from fwgen.report.page import write_report

    folder = open_firmware(directory, board)
    page = output if output is not None else folder.path / "report.html"
    write_report(folder.path, page, folder.board, None)
    if settings.current().as_json:
        print_json({"files": [page]})
    else:
        print_line(f"wrote {page}")
