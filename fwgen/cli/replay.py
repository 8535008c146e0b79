"""`fwgen replay`: play traces and graphs on the emulated accelerator, check the results."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import click

from fwgen.check.replay import find_cases, replay_many
from fwgen.check.replay import replay as replay_one
from fwgen.check.result import ReplayResult
from fwgen.check.targets import CONFIGURATIONS, MODELS
from fwgen.cli import output, settings
from fwgen.errors import ExitCode


@click.command(context_settings=settings.CONTEXT)
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."
)
@click.option(
    "--config",
    type=click.Choice(CONFIGURATIONS),
    help="NVDLA configuration; by default the directory above a trace that is named like one.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 64), default=1, show_default=True,
    help="Cases played at the same time.",
)  # fmt: skip
@click.option(
    "--model",
    type=click.Choice(MODELS),
    default="emulator",
    show_default=True,
    help="The emulated accelerator, or the slow NumPy reference.",
)
@settings.common_options
@settings.json_option
@click.pass_context
def replay(
    context: click.Context, paths: tuple[Path, ...], config: str | None, jobs: int, model: str
) -> None:
    """Play register traces or graphs and check what they leave in memory.

    PATH is a trace (.cfg), a directory that holds one, or a tree of such
    directories; or a network binary graph (.nb) with inputs and outputs
    (NAME.in0.bin, NAME.out0.bin) beside it, or a tree of those. Prints one line
    a case and a summary.
    """
    cases = find_cases(paths, config)
    library = _library() if model == "emulator" else None
    started = time.monotonic()
    if len(cases) == 1 and cases[0].config is not None:
        results = _shown([replay_one(cases[0].path, cases[0].config, library, model)])
    else:
        results = _shown(replay_many(cases, library, model, jobs))
    failed = sum(not result.passed and not result.skipped for result in results)
    skipped = sum(result.skipped for result in results)
    if settings.current().as_json:
        output.print_json(
            {
                "passed": len(results) - failed - skipped,
                "failed": failed,
                "skipped": skipped,
                "bytes_compared": sum(result.bytes_compared for result in results),
                "seconds": round(time.monotonic() - started, 3),
                "cases": [result.as_dict() for result in results],
            }
        )
    else:
        summary = f"{len(results) - failed - skipped} passed, {failed} failed"
        output.print_line(summary + (f", {skipped} skipped" if skipped else ""))
    if failed:
        context.exit(ExitCode.TASK_FAILED)
    if skipped == len(results):
        context.exit(ExitCode.USAGE)


def _library() -> Path:
    from fwgen.machine.emulator_build import model_library_path

    return model_library_path()


def _shown(results: Iterable[ReplayResult]) -> list[ReplayResult]:
    """All results; each is printed when it arrives, unless JSON is wanted."""
    kept = []
    for result in results:
        kept.append(result)
        if not settings.current().as_json:
            output.print_line(_line(result))
    return kept


def _line(result: ReplayResult) -> str:
    place = f"{result.config or '?'}/{result.name}"
    if result.passed:
        notes = f" ({'; '.join(result.notes)})" if result.notes else ""
        return f"PASS {place}: {result.bytes_compared} bytes compared{notes}"
    return f"{'SKIP' if result.skipped else 'FAIL'} {place}: {result.reason}"
