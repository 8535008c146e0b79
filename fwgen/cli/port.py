"""Options of the verbs that talk to a device, and the link to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fwgen.machine.link import Link


def port_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --port and --baud."""
    command = click.option(
        "--baud",
        type=click.IntRange(300, 12_000_000),
        default=115200,
        show_default=True,
        help="Of a serial port.",
    )(command)
    return click.option(
        "-p",
        "--port",
        required=True,
        help="Serial port, pty, socket://HOST:PORT or unix:PATH of the serial link.",
    )(command)


def open_link(port: str, baud: int, deadline: float | None = None) -> Link:
    """A link over a line that was opened just now; whoever gets it closes its transport."""
    from fwgen.machine.link import Link
    from fwgen.machine.transport import open_transport

    return Link(open_transport(port, baud=baud), deadline=deadline)
