"""fwgen sbom: what a firmware is made of, for those who must account for it."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import note


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File instead of output.")
@settings.common_options
def sbom(directory: Path, output: Path | None) -> None:
    """Print the bill of materials of the build folder or project DIR as CycloneDX JSON.

    It names the image and its files with their hashes, models, kernel, runtime,
    application and linked libraries with versions and licences. The same build gives
    the same document.
    """
    from fwgen.build.sbom import sbom as write
    from fwgen.emulate import build_folder

    text = write(build_folder(directory))
    if output is None:
        click.echo(text, nl=False)
        return
    from fwgen.build.artefacts import write_file
    from fwgen.errors import UsageError

    try:
        write_file(output, text.encode())
    except OSError as error:
        raise UsageError(
            f"cannot write: {error.strerror or error}",
            where=str(output),
            expected="a file in a folder that can be written",
        ) from error
    note(f"wrote {output}")
