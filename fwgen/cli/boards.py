"""fwgen boards: list the boards, show one, print the schema of a profile."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.board.types import Board
from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line, print_table, size_text
from fwgen.errors import UsageError


@click.group(context_settings=settings.CONTEXT, invoke_without_command=True)
@click.pass_context
@settings.common_options
@settings.json_option
def boards(context: click.Context) -> None:
    """List boards (the default), show one, or print the schema of a profile."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@boards.command("list", context_settings=settings.CONTEXT)
@settings.common_options
@settings.json_option
def list_() -> None:
    """List all boards: the installed ones and those in the folders of FWGEN_BOARDS."""
    from fwgen.board.profile import list_boards, load_board

    found = [load_board(name) for name in list_boards()]
    if settings.current().as_json:
        print_json(
            [
                {
                    "name": board.name,
                    "description": board.description,
                    "core": board.cpu.core,
                    "accelerators": [f"{a.family}/{a.config}" for a in board.accelerators],
                    "emulated": board.qemu is not None,
                    "verified": board.verified,
                }
                for board in found
            ]
        )
        return
    print_table(
        ("NAME", "CORE", "ACCELERATOR", "EMULATED", "DESCRIPTION"),
        [
            (
                board.name,
                board.cpu.core,
                ", ".join(a.config for a in board.accelerators) or None,
                "yes" if board.qemu else "no",
                board.description,
            )
            for board in found
        ],
    )


@boards.command(context_settings=settings.CONTEXT)
@click.argument("name")
@settings.common_options
@settings.json_option
def show(name: str) -> None:
    """Show the board NAME (or the profile file NAME.toml)."""
    from fwgen.board.profile import load_board

    board = load_board(name)
    if settings.current().as_json:
        print_json(board)
    else:
        _print_board(board)


@boards.command(context_settings=settings.CONTEXT)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write it to a file.")
@settings.common_options
@settings.json_option
def schema(output: Path | None) -> None:
    """Print the JSON Schema of a board profile. It is JSON with and without --json."""
    from fwgen.board.schema import json_schema_text

    text = json_schema_text()
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the schema: {error.strerror}", where=str(output)) from None


def _print_board(board: Board) -> None:
    print_line(click.style(board.name, bold=True) + f": {board.description}")
    cpu = board.cpu
    print_line(
        f"cpu       {cpu.core} at {cpu.clock_hz / 1e6:g} MHz, {cpu.irq_controller} with "
        f"{cpu.external_irqs} lines, {cpu.prio_bits} priority bits"
    )
    console = board.console
    print_line(
        f"console   {console.driver} at {console.base:#010x}, {console.baud} baud, "
        f"interrupt {console.receive_irq}"
    )
    for accelerator in board.accelerators:
        line = f"{accelerator.name:<9} {accelerator.family}/{accelerator.config}"
        if accelerator.is_hardware:
            line += (
                f" at {accelerator.base:#010x}, interrupt {accelerator.irq} "
                f"(priority {board.priority(accelerator)}), {(accelerator.clock_hz or 0) / 1e6:g} "
                "MHz"
            )
        print_line(line)
    if board.qemu:
        print_line(f"emulated  QEMU machine {board.qemu.machine}")
    print_line()
    print_table(
        ("REGION", "BASE", "SIZE", "USE", "DESCRIPTION"),
        [
            (m.name, f"{m.base:#010x}", size_text(m.size), " ".join(m.use), m.description)
            for m in board.memories
        ],
        ("SIZE",),
    )
    for title, lines in (
        ("Notes", board.notes),
        ("Differences between the emulated machine and silicon", board.qemu.differences)
        if board.qemu
        else ("", ()),
        ("Documents", board.docs),
    ):
        if lines:
            print_line()
            print_line(f"{title}:")
            for line in lines:
                print_line(f"  - {line}")
