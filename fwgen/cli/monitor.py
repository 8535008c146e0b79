"""fwgen monitor: the text console of a board or of an emulated one."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import note
from fwgen.errors import UsageError


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "-p", "--port", help="Serial port, pty, socket://HOST:PORT or unix:PATH instead of DIR."
)
@click.option("--baud", type=click.IntRange(300, 12_000_000), default=115200, show_default=True)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Leave after so many seconds.",
)
@click.option("-b", "--board", help="Another board than the folder's; not with --port.")
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Offer the emulated board's serial link at unix:PATH, HOST:PORT or PORT (0: a free "
    "one), for fwgen update, nvmem and your own programs.",
)
@settings.common_options
def monitor(
    directory: Path | None,
    port: str | None,
    baud: int,
    timeout: float | None,
    board: str | None,
    listen: str | None,
) -> None:
    """Show the console of a board (--port), or of the build folder or project DIR in the emulator.

    What is typed goes to the firmware's shell ('help' lists its commands).
    Ctrl-] leaves. With --listen other programs reach the emulated board as they would
    reach a real one, and without a terminal it runs until it is ended.
    """
    if (directory is None) == (port is None):
        raise UsageError(
            "give either a build folder or --port",
            where="command line",
            hints=("fwgen monitor --port /dev/ttyUSB0", "fwgen monitor build/mps2-an385-digits"),
        )
    if board is not None and port is not None:
        raise UsageError(
            "--board chooses the board to emulate",
            where="command line",
            expected="a build folder with --board, or --port alone",
        )
    if listen is not None and port is not None:
        raise UsageError(
            "--listen offers the link of an emulated board",
            where="command line",
            expected="a build folder with --listen, or --port alone",
        )
    from fwgen.machine.monitor import monitor as show

    if port is not None:
        from fwgen.machine.transport import FileTransport, open_transport

        line = open_transport(port, baud=baud)
        assert isinstance(line, FileTransport)
        try:
            note(f"connected to {line.name}; Ctrl-] leaves")
            show(line, seconds=timeout)
        finally:
            line.close()
        return
    assert directory is not None
    from fwgen.emulate import monitor_build, open_firmware

    folder = open_firmware(directory, board)
    note(f"{folder.elf} on the emulated {folder.board.name}; Ctrl-] leaves")
    monitor_build(folder, seconds=timeout, listen=listen, say=note)
