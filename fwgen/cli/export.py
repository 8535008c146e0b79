"""fwgen export: sources that build without fwgen."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line, progress


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "-f",
    "--format",
    "kind",
    required=True,
    type=click.Choice(["scons", "cmake", "make"]),
    help="Build system of the exported tree.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder to write; default NAME-FORMAT in the current folder.",
)
@click.option("-b", "--board", help="Another board than the project's.")
@click.option("--with-kernel", is_flag=True, help="Take the FreeRTOS kernel of the build along.")
@settings.common_options
@settings.json_option
def export(
    directory: Path, kind: str, output: Path | None, board: str | None, with_kernel: bool
) -> None:
    """Export the project or build folder DIR as sources that build without fwgen.

    The tree needs a cross compiler, the build system and a FreeRTOS kernel
    (FREERTOS_KERNEL_PATH). Its folder fwgen/ is a library for firmware that has its own
    start-up code and linker script; the README says how. A project is built first.
    """
    from fwgen.build.result import BUILD_INFO
    from fwgen.errors import UsageError
    from fwgen.export.tree import export as write
    from fwgen.project.file import is_project, read_project

    name = directory.resolve().name or "firmware"
    folder = directory
    if not (directory / BUILD_INFO).exists() and is_project(directory):
        from fwgen.project.build import build_project

        project = read_project(directory)
        name = project.name
        folder = build_project(project, board=board, progress=progress).directory
    elif board is not None:
        raise UsageError(
            "--board is for projects", where=str(directory), expected="a folder with fwgen.toml"
        )
    progress("writing sources")
    result = write(folder, output or Path(f"{name}-{kind}"), kind, with_kernel=with_kernel)
    if settings.current().as_json:
        print_json(
            {
                "directory": result.directory,
                "format": result.format,
                "changed": result.changed,
            }
        )
        return
    print_line(f"{result.directory}" + ("" if result.changed else " (up to date)"))
