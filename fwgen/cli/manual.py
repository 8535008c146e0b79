"""Puts the pages of pages.py below the help of verbs, and board names into completion."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from fwgen.cli.pages import ENVIRONMENT, PAGES, Page

ALWAYS = ((0, "done"), (130, "interrupted"))


class BoardName(click.types.StringParamType):
    """Text whose completions are the installed boards, and files for a profile."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from fwgen.board.profile import list_boards

        found = [CompletionItem(name) for name in list_boards() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def attach(command: click.Command, path: str) -> click.Command:
    """Give a verb and its sub-verbs their pages; safe to call again.

    Args:
        path: how the verb is called, as in PAGES.
    """
    for parameter in command.params:
        is_board = parameter.name == "board" or (path, parameter.name) == ("boards show", "name")
        if is_board and type(parameter.type) is click.types.StringParamType:
            parameter.type = BoardName()
    if path in PAGES:
        page = PAGES[path]

        def format_epilog(ctx: click.Context, formatter: click.HelpFormatter) -> None:
            write_page(page, formatter)

        # The one method of click for what follows the options; verbs are plain commands.
        setattr(command, "format_epilog", format_epilog)  # noqa: B010
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            attach(child, f"{path} {name}")
    return command


def write_page(page: Page, formatter: click.HelpFormatter) -> None:
    """The sections of a page."""
    with formatter.section("Examples"):
        for command, meaning in page.examples:
            # Whole, however long: it is there to be copied.
            formatter.write(f"{'':>{formatter.current_indent}}{command}\n")
            formatter.indent()
            formatter.write_text(meaning)
            formatter.dedent()
    with formatter.section("Exit codes"):
        formatter.write_dl([(str(code), when) for code, when in codes(page)])
    with formatter.section("Environment"):
        formatter.write_dl([(name, ENVIRONMENT[name]) for name in page.variables()])
    if page.files:
        with formatter.section("Files"):
            formatter.write_dl(list(page.files))


def codes(page: Page) -> tuple[tuple[int, str], ...]:
    """All exit codes of a verb, in order."""
    return tuple(sorted((*page.codes, *ALWAYS)))
