"""Options that every verb has, accepted before and after it: -v, -q, --color, --json.

They live in one `Settings` object that hangs on the outermost click context, so
that the code which renders an error knows them wherever the error came from.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(slots=True)
class Settings:
    """What the user asked of the output.

    Attributes:
        verbosity: -1 with -q, else the number of -v. 3 shows tracebacks.
        color: None lets the terminal decide.
        as_json: print data (and errors) as JSON on standard output.
    """

    verbosity: int = 0
    color: bool | None = None
    as_json: bool = False


_current = Settings()


def current() -> Settings:
    """The settings of this process."""
    return _current


def reset() -> Settings:
    """Start anew (each call of main, so that tests do not see each other)."""
    global _current
    _current = Settings()
    if os.environ.get("NO_COLOR"):
        _current.color = False
    return _current


def debugging() -> bool:
    """Whether an unexpected exception shows its traceback."""
    return _current.verbosity >= 3 or bool(os.environ.get("FWGEN_DEBUG"))


def _verbose(context: click.Context, _: click.Parameter, count: int) -> None:
    if count:
        _current.verbosity = max(_current.verbosity, 0) + count
        level = logging.INFO if _current.verbosity == 1 else logging.DEBUG
        logging.basicConfig(level=level, stream=sys.stderr, format="%(name)s: %(message)s")
        logging.getLogger().setLevel(level)


def _quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        _current.verbosity = -1


def _color(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        _current.color = {"auto": None, "always": True, "never": False}[value]


def _json(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        _current.as_json = True


def common_options(command: Command) -> Command:
    """Add -v, -q and --color to a command."""
    for option in (
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            callback=_color,
            expose_value=False,
            help="Colours in the output; NO_COLOR is respected.",
        ),
        click.option(
            "-q",
            "--quiet",
            is_flag=True,
            callback=_quiet,
            expose_value=False,
            help="Only results and errors.",
        ),
        click.option(
            "-v",
            "--verbose",
            count=True,
            callback=_verbose,
            expose_value=False,
            help="Say more; -vvv adds tracebacks.",
        ),
    ):
        command = option(command)
    return command


def pipeline_option(command: Command) -> Command:
    """Add --pipeline, as a word: click's choices have no numbers."""
    return click.option(
        "--pipeline",
        type=click.Choice(["1", "2", "4"]),
        default="1",
        show_default=True,
        help="How far operations are programmed ahead; above 1 with two banks of tensors.",
    )(command)


def timeout_option(seconds: float) -> Callable[[Command], Command]:
    """Add --timeout with this default."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=seconds,
        show_default=True,
        help="Limit of wall-clock time in seconds.",
    )


def json_option(command: Command) -> Command:
    """Add --json to a command that prints data."""
    return click.option(
        "--json",
        is_flag=True,
        callback=_json,
        expose_value=False,
        help="Print the result as JSON.",
    )(command)
