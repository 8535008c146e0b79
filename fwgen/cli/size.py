"""fwgen size: where the bytes of an image went."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import print_json


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@settings.common_options
@settings.json_option
def size(directory: Path) -> None:
    """Show regions, components and stack bounds of the build folder or project DIR."""
    from fwgen.build.result import SIZE, read_json
    from fwgen.cli.sizes import print_sizes, print_stacks
    from fwgen.emulate import build_folder

    report = read_json(build_folder(directory) / SIZE)
    if settings.current().as_json:
        print_json(report)
    else:
        print_sizes(report)
        print_stacks(report)
