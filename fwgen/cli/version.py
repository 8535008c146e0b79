"""fwgen version: the version of fwgen and of what it runs on."""

from __future__ import annotations

import platform
import sys

import click

from fwgen import __version__
from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line


@click.command(context_settings=settings.CONTEXT)
@settings.common_options
@settings.json_option
def version() -> None:
    """Print the version of fwgen and of the Python it runs on."""
    if settings.current().as_json:
        print_json(
            {
                "fwgen": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "executable": sys.executable,
            }
        )
    else:
        print_line(f"fwgen {__version__} (Python {platform.python_version()})")
