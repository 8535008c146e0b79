"""fwgen update: a model package to a running device."""

from __future__ import annotations

import time
from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_json, print_line, size_text
from fwgen.cli.port import open_link, port_options
from fwgen.cli.progress import TransferBar


@click.command(context_settings=settings.CONTEXT)
@click.argument("package", type=click.Path(path_type=Path))
@port_options
@click.option(
    "--reset/--no-reset",
    default=True,
    help="Reset the device to try the model, and wait for the result.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How often a lost line is opened again.",
)
@settings.timeout_option(3600.0)
@settings.common_options
@settings.json_option
def update(package: Path, port: str, baud: int, reset: bool, retries: int, timeout: float) -> None:
    """Send PACKAGE, which `fwgen pack` wrote, to the running device at PORT.

    The device writes it to its free slot, checks it and tries it at the next start. A transfer
    that was interrupted goes on where it stopped. Whatever happens, the device keeps a model
    that runs.
    """
    from fwgen.machine.update import UpdateLimits, Updater
    from fwgen.package.check import read_package
    from fwgen.package.faults import fault_words

    data, header = read_package(package)
    deadline = time.monotonic() + timeout
    with TransferBar(header.name) as bar:
        report = Updater(
            lambda: open_link(port, baud, deadline),
            data,
            words=fault_words,
            progress=bar.show,
            limits=UpdateLimits(lines=retries + 2),
        ).run(reset=reset)
    if settings.current().as_json:
        print_json(
            {
                "package": package,
                "slot": report.slot,
                "state": report.state,
                "bytes": report.total,
                "resumed_at": report.resumed_at,
                "sent": report.sent,
                "resent": report.resent,
                "seconds": round(report.seconds, 3),
            }
        )
        return
    if report.slot is None:
        print_line(f"the device runs {header.name} already")
        return
    print_line(
        f"{header.name} is {report.state} in slot {report.slot}: {size_text(report.sent)} sent in "
        f"{report.seconds:.1f} s"
    )
    if report.state == "on trial":
        note("it has no self-test: confirm it with `fwgen nvmem --port PORT confirm`")
