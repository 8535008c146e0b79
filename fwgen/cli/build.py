"""fwgen build: from a compiled model, or from a project, to firmware for a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fwgen.build import defaults
from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line, progress


def _assignments(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    result = []
    for value in values:
        model, _, name = value.rpartition("=")
        if not model or not name:
            wanted = option.metavar or "NAME=VALUE"
            raise click.BadParameter(f"'{value}' is not {wanted}", context, option)
        result.append((model, name))
    return tuple(result)


def _switches(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, bool], ...]:
    result = []
    for value in values:
        name, _, state = value.partition("=")
        if "+" not in name.strip("+") or state not in ("on", "off"):
            raise click.BadParameter(f"'{value}' is not A+B=on or A+B=off", context, option)
        result.append((name, state == "on"))
    return tuple(result)


def _groups(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(value.split(",")) for value in values)


@click.command(context_settings=settings.CONTEXT)
@click.argument("models", metavar="[MODEL...|PROJECT]", nargs=-1, type=click.Path(path_type=Path))
@click.option("-b", "--board", help="Name of a board, or a profile file; default: the project's.")
@click.option(
    "-o",
    "--output",
    "-d",
    "--build-dir",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of the firmware; default build/BOARD-MODEL, in a project build/BOARD.",
)
@click.option(
    "--freertos", type=click.Path(path_type=Path), help="FreeRTOS kernel tree, V9 to V11."
)
@click.option("--test-build", is_flag=True, help="Guard words, and faults that end the emulator.")
@click.option(
    "--task-priority",
    type=int,
    default=defaults.TASK_PRIORITY,
    show_default=True,
    help="Accelerator task.",
)
@click.option(
    "--stack-words",
    type=int,
    default=defaults.STACK_WORDS,
    show_default=True,
    help="Its stack.",
)
@click.option("--irq", type=int, help="Interrupt number instead of the profile's.")
@click.option(
    "--timeout-ms", type=int, help="Longest wait for one operation instead of the profile's."
)
@click.option(
    "--tick-hz",
    type=int,
    default=defaults.TICK_HZ,
    show_default=True,
    help="FreeRTOS tick rate.",
)
@click.option(
    "--idle", type=click.Choice(["spin", "wfi", "wfe"]), help="Idle task instead of the profile's."
)
@click.option("--link/--no-link", default=True, help="Serial link, for `fwgen run`.")
@click.option("--shell/--no-shell", default=True, help="Text shell on the console.")
@click.option("--profile/--no-profile", default=True, help="Time of each operation.")
@click.option("--names/--no-names", default=True, help="Names of operations in the image.")
@settings.pipeline_option
@click.option(
    "--each-operation",
    is_flag=True,
    help="Give a VIP one operation at a time, so that profile and errors name it.",
)
@click.option(
    "--accel",
    "accelerators",
    metavar="MODEL=NAME",
    multiple=True,
    callback=_assignments,
    help="Which accelerator runs a model; the others take turns. MODEL is the file's name "
    "without suffix.",
)
@click.option(
    "--exclusive",
    metavar="MODEL,MODEL...",
    multiple=True,
    callback=_groups,
    help="Models of which only one is in use at a time: their tensors share memory. "
    "'all' names every model.",
)
@click.option(
    "--place",
    "places",
    metavar="TENSOR=REGION",
    multiple=True,
    callback=_assignments,
    help="Memory of the board for a tensor or buffer; * and ? in the name match more.",
)
@click.option(
    "--sram-first",
    is_flag=True,
    help="Copy weights at boot to the nearest memory, as far as the tensors leave room.",
)
@click.option(
    "--weights",
    type=click.Choice(["auto", "in-place", "copy"]),
    default="auto",
    show_default=True,
    help="Read weights where the image holds them, or copy them to RAM at boot.",
)
@click.option(
    "--fusion",
    metavar="A+B=on|off",
    multiple=True,
    callback=_switches,
    help="Whether operations work as one, where a model leaves the choice.",
)
@click.option(
    "--queue-length",
    type=int,
    default=defaults.QUEUE_LENGTH,
    show_default=True,
    help="Jobs waiting per accelerator.",
)
@click.option(
    "--nvmem/--no-nvmem",
    default=False,
    help="Settings and model slots, on a board whose profile has them.",
)
@click.option(
    "--update-key",
    metavar="HEX",
    help="Ed25519 public key: packages must be signed with it.",
)
@click.option("--anti-rollback", is_flag=True, help="Refuse packages older than the confirmed one.")
@click.option(
    "--watchdog/--no-watchdog",
    default=False,
    help="The board's watchdog, fed while accelerators and watched tasks are well.",
)
@click.option("--all-writes", is_flag=True, help="Keep register writes that change nothing.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, help="Compilers at a time; 0: all CPUs."
)
@settings.common_options
@settings.json_option
@click.pass_context
def build(
    context: click.Context,
    models: tuple[Path, ...],
    board: str | None,
    directory: Path | None,
    freertos: Path | None,
    test_build: bool,
    task_priority: int,
    stack_words: int,
    irq: int | None,
    timeout_ms: int | None,
    tick_hz: int,
    idle: str | None,
    link: bool,
    shell: bool,
    profile: bool,
    names: bool,
    pipeline: str,
    each_operation: bool,
    accelerators: tuple[tuple[str, str], ...],
    exclusive: tuple[tuple[str, ...], ...],
    places: tuple[tuple[str, str], ...],
    sram_first: bool,
    weights: str,
    fusion: tuple[tuple[str, bool], ...],
    queue_length: int,
    nvmem: bool,
    update_key: str | None,
    anti_rollback: bool,
    watchdog: bool,
    all_writes: bool,
    jobs: int,
) -> None:
    """Turn compiled models into one firmware for a board.

    PROJECT is a folder with an fwgen.toml that names models, board, the application's
    sources and options; options given here go before it. Without an
    argument the project is the current folder.

    The folder gets the sources, the image as ELF, bin and hex, the linker's map
    and the reports. A second build with the same inputs does nothing.
    """
    from fwgen.build.options import BuildKind, BuildOptions
    from fwgen.cli.sizes import print_sizes
    from fwgen.project.file import is_project

    values: dict[str, Any] = {
        "kind": BuildKind.TEST if test_build else BuildKind.RELEASE,
        "freertos": freertos,
        "task_priority": task_priority,
        "stack_words": stack_words,
        "irq": irq,
        "timeout_ms": timeout_ms,
        "tick_hz": tick_hz,
        "idle": idle,
        "link": link,
        "shell": shell,
        "profile": profile,
        "operation_names": names,
        "pipeline_depth": int(pipeline),
        "each_operation": each_operation,
        "accelerators": accelerators,
        "exclusive": exclusive,
        "places": places,
        "sram_first": sram_first,
        "weights": weights,
        "fusion": fusion,
        "queue_length": queue_length,
        "optimise_program": not all_writes,
        "nvmem": nvmem,
        "update_key": update_key,
        "anti_rollback": anti_rollback,
        "watchdog": watchdog,
        "jobs": jobs,
    }
    if not models or (len(models) == 1 and models[0].is_dir()):
        folder = models[0] if models else Path()
        if not models and board is not None and not is_project(folder):
            raise click.UsageError("Missing argument 'MODEL'.")
        from fwgen.project.build import build_project

        result = build_project(
            folder,
            board=board,
            directory=directory,
            changes={k: v for k, v in values.items() if _is_given(context, k)},
            progress=progress,
        )
    else:
        if board is None:
            raise click.UsageError("Missing option '-b' / '--board'.")
        from fwgen.pipeline import build_models

        result = build_models(models, board, directory, BuildOptions(**values), progress)
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


_FLAGS = {
    "kind": "test_build",
    "operation_names": "names",
    "optimise_program": "all_writes",
    "pipeline_depth": "pipeline",
}
"""Options of the command line that are called otherwise in BuildOptions."""


def _is_given(context: click.Context, option: str) -> bool:
    """Whether the user gave the option of that field of BuildOptions."""
    source = context.get_parameter_source(_FLAGS.get(option, option))
    return source not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, None)
