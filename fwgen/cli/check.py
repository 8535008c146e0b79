"""fwgen check: what of a model runs where, and what is not supported and why."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line, print_table
from fwgen.errors import ExitCode


@click.command(context_settings=settings.CONTEXT)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("-b", "--board", required=True, help="Name of a board, or a profile file.")
@settings.common_options
@settings.json_option
def check(model: Path, board: str) -> int:
    """Say what of MODEL the board can run, operation by operation.

    The rules are those that `fwgen build` applies. Whether the model's memory
    fits the board is checked too. Exit code 3: something is not supported;
    4: it does not fit.
    """
    from fwgen.pipeline import check_model

    result = check_model(model, board)
    report = result.report
    if settings.current().as_json:
        fit = None if result.fit_error is None else result.fit_error.as_dict()
        print_json(
            {
                **report.to_json(),
                "board": result.board.name,
                "fit_error": fit,
                "other_boards": list(result.other_boards),
            }
        )
    else:
        print_table(
            ("#", "UNIT", "OPERATION", "RUNS ON", "WHAT"),
            [(e.index, e.unit, e.name, e.runs_on, e.summary) for e in report.operations],
            ("#",),
        )
        print_line()
        for entry in report.operations:
            for reason in entry.reasons:
                print_line(f"{entry.name}: {reason}")
        for reason in report.reasons:
            print_line(f"model: {reason}")
        if result.fit_error is not None:
            print_line(f"memory: {result.fit_error}")
        if result.other_boards:
            print_line(f"boards that can run it: {', '.join(result.other_boards)}")
        print_line(
            click.style("supported", fg="green")
            if result.ok
            else click.style("not supported", fg="red")
        )
    if not report.ok:
        return int(ExitCode.MODEL)
    return int(ExitCode.OK if result.fit_error is None else ExitCode.DOES_NOT_FIT)
