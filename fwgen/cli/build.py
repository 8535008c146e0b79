"""fwgen build: from a compiled model to firmware for a board."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line, progress


@click.command(context_settings=settings.CONTEXT)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("-b", "--board", required=True, help="Name of a board, or a profile file.")
@click.option(
    "-o",
    "--output",
    "-d",
    "--build-dir",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of the project; default build/BOARD-MODEL.",
)
@click.option(
    "--freertos", type=click.Path(path_type=Path), help="FreeRTOS kernel tree, V9 to V11."
)
@click.option("--test-build", is_flag=True, help="Guard words, and faults that end the emulator.")
@click.option("--task-priority", type=int, default=5, show_default=True, help="Accelerator task.")
@click.option("--stack-words", type=int, default=2048, show_default=True, help="Its stack.")
@click.option("--irq", type=int, help="Interrupt number instead of the profile's.")
@click.option(
    "--timeout-ms", type=int, help="Longest wait for one operation instead of the profile's."
)
@click.option("--tick-hz", type=int, default=1000, show_default=True, help="FreeRTOS tick rate.")
@click.option(
    "--idle", type=click.Choice(["spin", "wfi", "wfe"]), help="Idle task instead of the profile's."
)
@click.option("--shell/--no-shell", default=True, help="Text shell on the console.")
@click.option("--profile/--no-profile", default=True, help="Time of each operation.")
@click.option("--names/--no-names", default=True, help="Names of operations in the image.")
@click.option("--all-writes", is_flag=True, help="Keep register writes that change nothing.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, help="Compilers at a time; 0: all CPUs."
)
@settings.common_options
@settings.json_option
def build(
    model: Path,
    board: str,
    directory: Path | None,
    freertos: Path | None,
    test_build: bool,
    task_priority: int,
    stack_words: int,
    irq: int | None,
    timeout_ms: int | None,
    tick_hz: int,
    idle: str | None,
    shell: bool,
    profile: bool,
    names: bool,
    all_writes: bool,
    jobs: int,
) -> None:
    """Turn the compiled model MODEL into firmware for a board.

    The folder gets the sources, the image as ELF, bin and hex, the linker's map
    and the reports. A second build with the same inputs does nothing.
    """
    from fwgen.build.options import BuildKind, BuildOptions
    from fwgen.cli.sizes import print_sizes
    from fwgen.pipeline import build_model

    options = BuildOptions(
        kind=BuildKind.TEST if test_build else BuildKind.RELEASE,
        freertos=freertos,
        task_priority=task_priority,
        stack_words=stack_words,
        irq=irq,
        timeout_ms=timeout_ms,
        tick_hz=tick_hz,
        idle=idle,
        shell=shell,
        profile=profile,
        operation_names=names,
        optimise_program=not all_writes,
        jobs=jobs,
    )
    result = build_model(model, board, directory, options, progress)
    if settings.current().as_json:
        print_json(
            {
                "directory": result.directory,
                "elf": result.elf,
                "changed": result.changed,
                "info": result.info(),
                "size": result.size(),
            }
        )
        return
    if settings.current().verbosity >= 0:
        print_sizes(result.size())
        print_line()
    print_line(f"{result.elf}" + ("" if result.changed else " (up to date)"))
