"""fwgen doctor: the tools found, their versions, what to do about missing ones."""

from __future__ import annotations

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_json, print_line, print_table
from fwgen.errors import ExitCode


@click.command(context_settings=settings.CONTEXT)
@click.option(
    "--prepare", is_flag=True, help="Fetch FreeRTOS and build the emulator now if need be."
)
@settings.common_options
@settings.json_option
def doctor(prepare: bool) -> int:
    """Check the tools that fwgen needs. Exit code 2: a needed one is missing."""
    from fwgen import doctor as library

    if prepare:
        library.prepare(note)
        if settings.current().verbosity < 0:
            return int(ExitCode.OK)
    findings = library.examine()
    missing = [f for f in findings if f.state is library.State.MISSING]
    if settings.current().as_json:
        print_json({"ok": not missing, "tools": findings})
    else:
        colors = {"ok": "green", "missing": "red"}
        print_table(
            ("STATE", "TOOL", "FOR", "FOUND"),
            [(f.state.value, f.name, f.purpose, f.detail) for f in findings],
        )
        advice = [f for f in findings if f.advice]
        if advice:
            print_line()
        for finding in advice:
            state = click.style(finding.state.value, fg=colors.get(finding.state.value))
            print_line(f"{finding.name} ({state}): {finding.advice}")
    return int(ExitCode.USAGE if missing else ExitCode.OK)
