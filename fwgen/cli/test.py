"""fwgen test: the tests of a project, on all its boards, in the emulator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_json, print_line
from fwgen.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fwgen.testing.result import Report

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable of GitHub Actions: a file whose text the page of the run shows."""


@click.command(context_settings=settings.CONTEXT)
@click.argument("project", metavar="[DIR|fwgen.toml]", default=".", type=click.Path(path_type=Path))
@click.option(
    "-k",
    "expression",
    metavar="EXPR",
    help="Only tests whose names match: parts of names with and, or, not and parentheses.",
)
@click.option("--list", "list_only", is_flag=True, help="Print the names of the tests.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=0),
    default=0,
    help="Emulators at a time; 0: one a processor.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for each test, instead of the file's.",
)
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML there.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write a summary there.")
@click.option(
    "--update-baseline",
    is_flag=True,
    help="Write the sizes of the images to the project's baseline file.",
)
@settings.common_options
@settings.json_option
def test(
    project: Path,
    expression: str | None,
    list_only: bool,
    jobs: int,
    timeout: float | None,
    junit: Path | None,
    markdown: Path | None,
    update_baseline: bool,
) -> int:
    """Run the tests of a project in the emulator.

    The [test] tables of fwgen.toml name boards, inputs, expected outputs or a reference
    that computes them, budgets and faults (docs/testing.md). Images are built for every
    board; every case runs on every board, and once more with every fault.

    The exit code is that of the failures if they are of one kind.
    """
    from fwgen.project.file import FILE_NAME, read_project
    from fwgen.testing.plan import make_plan
    from fwgen.testing.select import Selection

    if project.is_file() and project.name == FILE_NAME:
        project = project.parent
    plan = make_plan(
        read_project(project),
        Selection(expression) if expression is not None else None,
        timeout,
    )
    if list_only:
        if settings.current().as_json:
            print_json([item.name for item in plan.tests])
        else:
            for item in plan.tests:
                print_line(item.name)
        return int(ExitCode.OK)
    if update_baseline and plan.suite.baseline is None:
        raise UsageError(
            "the project has no baseline file",
            where=str(project / FILE_NAME),
            expected='baseline = "FILE" in [test]',
        )
    from fwgen.cli.suite_display import Display
    from fwgen.testing.runner import RunnerOptions, run_plan

    with Display(len(plan.tests), results=not settings.current().as_json) as display:
        report = run_plan(plan, RunnerOptions(jobs, update_baseline), display)
    _write(report, junit, markdown)
    _print(report)
    return int(report.code)


def _write(report: Report, junit: Path | None, page: Path | None) -> None:
    from fwgen.testing import reports
    from fwgen.testing.sizes import write_text

    if junit is not None:
        write_text(junit, reports.junit_xml(report))
    if page is not None:
        write_text(page, reports.markdown(report))
    summary = os.environ.get(STEP_SUMMARY)
    if summary:
        try:
            with open(summary, "a", encoding="utf-8") as file:
                file.write(reports.markdown(report))
        except OSError as error:
            raise UsageError(
                f"cannot append the summary: {error.strerror}", where=f"{STEP_SUMMARY}={summary}"
            ) from None


def _print(report: Report) -> None:
    from fwgen.testing import reports

    if settings.current().as_json:
        print_json(reports.as_data(report))
        return
    for line in report.notes:
        note(line)
    if report.code is not ExitCode.OK:
        word = click.style("FAIL", fg="red")
    elif report.bytes_compared:
        word = click.style("PASS", fg="green")
    else:
        # Images that are within their budgets have not been seen to compute anything.
        word = "built"
    print_line(f"{word}: {reports.summary(report)}")
