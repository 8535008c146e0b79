"""docs/cli.md from the commands themselves: usage, options, and the pages of pages.py.

`python -m fwgen.docs.cli docs` writes the page; a test holds it to the commands.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from fwgen.cli.main import VERBS, cli
from fwgen.cli.manual import codes
from fwgen.cli.pages import ENVIRONMENT, PAGES

PAGE = "cli.md"
_COMMON = {"--verbose", "--quiet", "--color", "--help"}

_INTRODUCTION = """\
# The command line

<!-- Generated from fwgen/cli/ by `python -m fwgen.docs.cli docs`; do not edit. -->

`fwgen VERB --help` prints what stands here. Options work before and after the verb. Every verb
takes `-v` (say more; `-vvv` adds tracebacks), `-q` (only results and errors), `--color
auto|always|never` and `-h`. `--json` prints the result, or the error, as one JSON document on
standard output. [exit-codes.md](exit-codes.md) says what an error looks like; 0 is success
and 130 Ctrl-C everywhere.

`eval "$(fwgen completion bash)"` completes verbs, options, boards and files.

| verb | what it does |
|---|---|
"""


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every verb and sub-verb with its path, in the order of the help."""

    def below(
        command: click.Command, path: str, parent: click.Context
    ) -> Iterator[tuple[str, click.Command, click.Context]]:
        name = path.rpartition(" ")[2]
        context = click.Context(command, parent, name, **command.context_settings)
        yield path, command, context
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                yield from below(child, f"{path} {name}", context)

    root = click.Context(cli, info_name="fwgen", **cli.context_settings)
    for name in VERBS:
        command = cli.get_command(root, name)
        assert command is not None
        yield from below(command, name, root)


def cli_page() -> str:
    """The whole page."""
    lines = [_INTRODUCTION.rstrip("\n")]
    lines += [f"| [{name}](#fwgen-{name}) | {text} |" for name, (_, _, text) in VERBS.items()]
    for path, command, context in commands():
        lines += ["", *_verb(path, command, context)]
    lines += ["", "## Environment", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {_cell(text)} |" for name, text in sorted(ENVIRONMENT.items())]
    return "\n".join(lines) + "\n"


def _verb(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    level = "##" if " " not in path else "###"
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"{level} fwgen {path}", "", f"    fwgen {path} {usage}", "")
    yield from _text(command.help or "")
    records = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        and not _COMMON & set(parameter.opts)
        and (record := parameter.get_help_record(context)) is not None
    ]
    if records:
        yield from ("| option | |", "|---|---|")
        yield from (f"| `{_cell(option)}` | {_cell(text)} |" for option, text in records)
        yield ""
    page = PAGES.get(path)
    if page is None:
        return
    yield from ("| example | |", "|---|---|")
    yield from (f"| `{_cell(line)}` | {_cell(text)} |" for line, text in page.examples)
    yield from ("", "| exit code | |", "|---|---|")
    yield from (f"| {code} | {_cell(when)} |" for code, when in codes(page))
    if page.files:
        yield from ("", "| file | |", "|---|---|")
        yield from (f"| `{_cell(name)}` | {_cell(text)} |" for name, text in page.files)
    if page.environment:
        yield from ("", "Environment: " + ", ".join(f"`{name}`" for name in page.environment) + ".")


def _text(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those that keep their lines (\\b) as code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        rows = paragraph.splitlines()
        if rows and rows[0] == "\b":
            yield from (f"    {row}" for row in rows[1:])
        else:
            yield " ".join(rows).replace("<", "&lt;")
        yield ""


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def main(arguments: list[str]) -> None:
    """Write the page into a folder."""
    (folder,) = arguments
    Path(folder, PAGE).write_text(cli_page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
