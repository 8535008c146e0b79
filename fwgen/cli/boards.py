"""fwgen boards: list the boards, show one, print the schema of a profile."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.board.types import Accelerator, Board, Emulation, Flash
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
                    "soc": board.soc,
                    "emulated": board.qemu is not None,
                    "emulation": board.emulation,
                    "verified": board.verified,
                    "unverified": board.unverified,
                }
                for board in found
            ]
        )
        return
    found.sort(key=lambda board: (board.soc == "", board.soc, board.name))
    print_table(
        ("NAME", "CORE", "ACCELERATOR", "EMULATED", "FACTS", "DESCRIPTION"),
        [
            (
                board.name,
                board.cpu.core,
                ", ".join(a.config for a in board.accelerators) or None,
                _EMULATION[board.emulation],
                _facts(board),
                board.description,
            )
            for board in found
        ],
        groups=[board.soc.partition(" ")[0] or "others" for board in found],
    )
    print_line()
    print_line(
        "EMULATED  yes: QEMU has the board; overlays: a QEMU machine at the board's addresses;"
    )
    print_line("          stand-in: such a machine with the nearest core that QEMU has")


_EMULATION: dict[Emulation, str] = {
    "machine": "yes",
    "overlays": "overlays",
    "stand-in": "stand-in",
    "none": "no",
}


def _facts(board: Board) -> str:
    if board.verified:
        return "verified"
    return f"{len(board.unverified)} open" if board.unverified else "not verified"


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
        identity = _identity(accelerator)
        if identity:
            print_line(f"          {identity}")
    if board.flash:
        print_line(f"flash     {_flash(board.flash)}")
    if board.qemu:
        how = {"machine": "", "overlays": ", with overlays"}.get(
            board.emulation, f", with overlays; {board.qemu.cpu} stands in for the core"
        )
        print_line(f"emulated  QEMU machine {board.qemu.machine}{how}")
    else:
        print_line("emulated  no")
    print_line(f"facts     {'verified' if board.verified else 'not verified, in part'}")
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
        ("Without a public source or not checked", board.unverified),
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


def _flash(flash: Flash) -> str:
    where = f" to {flash.load_address:#010x}" if flash.load_address is not None else ""
    start = f", started by {flash.start}" if flash.method.startswith("uboot-") else ""
    notes = f". {flash.notes}" if flash.notes else ""
    return f"{flash.method}{where}{start}{notes}"


def _identity(accelerator: Accelerator) -> str:
    """What the configuration's name stands for, on one line."""
    from fwgen.accel.registry import configuration_facts

    facts = configuration_facts(accelerator.family, accelerator.config)
    shown = [f"{key.replace('_', ' ')} {value}" for key, value in facts.items() if key in _SHOWN]
    if accelerator.driver_version is not None:
        shown.append(f"driver {accelerator.driver_version}")
    return ", ".join(shown)


_SHOWN = ("target", "model", "revision", "product", "eco", "generation", "nn_cores", "tp_cores")
