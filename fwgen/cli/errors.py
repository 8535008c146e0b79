"""From an exception to what the user sees and the exit code (docs/exit-codes.md)."""

from __future__ import annotations

import json
import platform
import sys
import traceback

import click

from fwgen import __version__
from fwgen.cli import settings
from fwgen.errors import ExitCode, FwgenError


def error_text(error: FwgenError) -> str:
    """The error as lines: what, where, expected, things to try."""
    lines = [click.style("error: ", fg="red", bold=True) + error.message]
    if error.where:
        lines.append(f"  where:    {error.where}")
    if error.expected:
        lines.append(f"  expected: {error.expected}")
    if error.hints:
        lines.append("Things to try:")
        lines += [f"  - {hint}" for hint in error.hints]
    return "\n".join(lines)


def report(error: FwgenError) -> int:
    """Print an error, as text on standard error or as JSON on standard output."""
    if settings.current().as_json:
        click.echo(json.dumps(error.as_dict(), indent=2))
    else:
        click.echo(error_text(error), err=True, color=settings.current().color)
    if settings.debugging():
        traceback.print_exception(error)
    return int(error.exit_code)


def report_usage(error: click.ClickException) -> int:
    """Print a mistake on the command line that click found."""
    message = error.format_message()
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"Run '{error.ctx.command_path} --help' for its usage."
    if settings.current().as_json:
        data = {
            "error": "UsageError",
            "exit_code": int(ExitCode.USAGE),
            "message": message,
            "where": "command line",
            "expected": None,
            "hints": [hint] if hint else [],
        }
        click.echo(json.dumps(data, indent=2))
    else:
        text = click.style("error: ", fg="red", bold=True) + message
        if hint:
            text += f"\nThings to try:\n  - {hint}"
        click.echo(text, err=True, color=settings.current().color)
    return int(ExitCode.USAGE)


def report_bug(error: BaseException) -> int:
    """Print an exception that should never have reached the command line."""
    kind = type(error).__name__
    message = f"this is a bug in fwgen: {kind}: {error}"
    if settings.current().as_json:
        data = {
            "error": "InternalError",
            "exit_code": int(ExitCode.TASK_FAILED),
            "message": message,
            "where": None,
            "expected": None,
            "hints": ["Run again with -vvv and report the traceback."],
        }
        click.echo(json.dumps(data, indent=2))
    else:
        click.echo(
            click.style("error: ", fg="red", bold=True)
            + f"{message}\n"
            + f"  fwgen {__version__}, Python {platform.python_version()}, {sys.platform}\n"
            + "Things to try:\n"
            + "  - Run again with -vvv (or FWGEN_DEBUG=1) and report the traceback.",
            err=True,
            color=settings.current().color,
        )
    if settings.debugging():
        traceback.print_exception(error)
    return int(ExitCode.TASK_FAILED)
