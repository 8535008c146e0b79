"""fwgen flash: a whole image onto a board, by the method of its profile."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_json, print_line, size_text
from fwgen.cli.progress import TransferBar
from fwgen.errors import UsageError

if TYPE_CHECKING:
    from fwgen.board.types import Board
    from fwgen.flash.image import FlashImage
    from fwgen.flash.options import FlashOptions, FlashReport, Start, Step, Storage

METHODS = ("uboot-ymodem", "uboot-xmodem", "uboot-kermit", "stm32-uart")


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-p", "--port", help="Serial port, pty, socket://HOST:PORT or unix:PATH.")
@click.option(
    "--baud",
    type=click.IntRange(300, 12_000_000),
    help="Of a serial port; no other is tried then. Default: the console's, then common ones.",
)
@click.option("-b", "--board", help="Another board than the folder's.")
@click.option(
    "--method", type=click.Choice(METHODS), help="Another than the profile's; no other is tried."
)
@click.option("--dry-run", is_flag=True, help="Print the steps and touch nothing.")
@click.option(
    "--verify/--no-verify", default=True, help="Compare what arrived on the device (the default)."
)
@click.option(
    "--start",
    type=click.Choice(["bootm", "go"]),
    help="Command of U-Boot that starts the image. Default: the profile's.",
)
@click.option("--no-start", is_flag=True, help="Leave the image loaded and the loader in charge.")
@click.option(
    "--store",
    metavar="PLACE",
    help="Also write it for good by U-Boot: sf:OFFSET, sf:BUS:CHIP:OFFSET (bytes) or "
    "mmc:DEVICE:BLOCK (blocks of 512 bytes).",
)
@click.option("--erase-all", is_flag=True, help="stm32-uart: erase the whole flash.")
@click.option("--yes", is_flag=True, help="Do not ask before --store or --erase-all overwrites.")
@click.option(
    "--connect-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds to wait for the loader.",
)
@click.option(
    "--log", type=click.Path(path_type=Path), help="Keep all bytes, with times, in a file."
)
@settings.timeout_option(3600.0)
@settings.common_options
@settings.json_option
def flash(
    directory: Path,
    port: str | None,
    baud: int | None,
    board: str | None,
    method: str | None,
    dry_run: bool,
    verify: bool,
    start: Start | None,
    no_start: bool,
    store: str | None,
    erase_all: bool,
    yes: bool,
    connect_timeout: float,
    log: Path | None,
    timeout: float,
) -> None:
    """Load the image in the build folder or project DIR into the board at PORT and start it.

    Methods by board, what is sent and how to recover: docs/flash.md.
    """
    from fwgen.emulate import open_firmware
    from fwgen.flash.flasher import Flasher, flash_steps
    from fwgen.flash.image import read_flash_image
    from fwgen.flash.line import Transcript
    from fwgen.flash.options import FlashOptions
    from fwgen.machine.transport import open_transport

    folder = open_firmware(directory, board)
    image = read_flash_image(folder.elf, folder.board)
    storage = _storage(store) if store is not None else None
    options = FlashOptions(
        method=_method(folder.board, method, folder.path),
        only=method is not None,
        start=_start(folder.board, start, no_start),
        verify=verify,
        storage=storage,
        erase_all=erase_all,
        speeds=_speeds(folder.board, port, baud),
        connect_seconds=connect_timeout,
    )
    _check(options)
    steps = flash_steps(image, options)
    if dry_run:
        _print_steps(image, options, steps)
        return
    if port is None:
        raise UsageError("--port is missing", where="command line", expected="--port PORT")
    _confirm(image, options, yes)
    with contextlib.ExitStack() as stack:
        recorder = stack.enter_context(Transcript(log)) if log is not None else None
        bar = stack.enter_context(TransferBar(image.main.name))
        report = Flasher(
            lambda speed, parity: open_transport(port, baud=speed, parity=parity),
            image,
            options,
            time.monotonic() + timeout,
            progress=lambda name, done, total: bar.show(done, total, name),
            say=note,
            recorder=recorder,
        ).run()
    _print_report(image, report)


def _method(board: Board, wanted: str | None, folder: Path) -> str:
    """The method to use; what a person has to do where fwgen cannot do it."""
    if wanted is not None:
        return wanted
    if board.flash is None:
        raise UsageError(
            f"the profile of {board.name} does not say how an image gets onto the board",
            expected="--method, or a [flash] table in the profile",
        )
    if board.flash.method not in METHODS:
        notes = (board.flash.notes,) if board.flash.notes else ()
        raise UsageError(
            f"fwgen does not drive the method '{board.flash.method}' of {board.name}",
            where=str(folder),
            expected="one of " + ", ".join(METHODS) + ", by --method",
            hints=(*notes, "The files are firmware.bin, firmware.hex and firmware.elf."),
        )
    return board.flash.method


def _start(board: Board, wanted: Start | None, no_start: bool) -> Start:
    if no_start and wanted is not None:
        raise UsageError("--start and --no-start exclude each other", where="command line")
    if no_start:
        return "none"
    if wanted is not None:
        return wanted
    return board.flash.start if board.flash is not None else "bootm"


def _speeds(board: Board, port: str | None, baud: int | None) -> tuple[int, ...]:
    from fwgen.flash.options import SPEEDS

    if baud is not None:
        return (baud,)
    first = board.console.baud
    if port is not None and port.startswith(("socket://", "tcp://", "unix:")):
        return (first,)
    return (first, *(speed for speed in SPEEDS if speed != first))


def _storage(text: str) -> Storage:
    """sf:OFFSET, sf:BUS:CHIP:OFFSET or mmc:DEVICE:BLOCK; numbers decimal or 0x."""
    from fwgen.flash.options import Storage

    number = r"(0x[0-9a-fA-F]+|[0-9]+)"
    if match := re.fullmatch(rf"sf:(?:([0-9]+:[0-9]+):)?{number}", text):
        return Storage("sf", match.group(1) or "", int(match.group(2), 0))
    if match := re.fullmatch(rf"mmc:([0-9]+):{number}", text):
        return Storage("mmc", match.group(1), int(match.group(2), 0))
    raise UsageError(
        f"'{text}' is no place to store an image",
        where="--store",
        expected="sf:OFFSET, sf:BUS:CHIP:OFFSET or mmc:DEVICE:BLOCK",
    )


def _check(options: FlashOptions) -> None:
    if options.method == "stm32-uart" and options.storage is not None:
        raise UsageError(
            "--store is for U-Boot; stm32-uart writes to flash anyway", where="command line"
        )
    if options.method != "stm32-uart" and options.erase_all:
        raise UsageError("--erase-all is for stm32-uart", where="command line")
    if options.storage is not None and options.start == "go":
        raise UsageError(
            "what is stored has a header for bootm, which go cannot start",
            where="command line",
            expected="--store with --start bootm or --no-start",
        )


def _confirm(image: FlashImage, options: FlashOptions, yes: bool) -> None:
    """Ask before something that cannot be undone."""
    if yes or (options.storage is None and not options.erase_all):
        return
    storage = options.storage
    what = "the whole flash of the microcontroller"
    if storage is not None:
        unit = "byte" if storage.kind == "sf" else "block"
        what = f"{storage.kind} {storage.device} from {unit} {storage.offset:#x} on"
    if settings.current().as_json or not sys.stdin.isatty():
        raise UsageError(
            f"this overwrites {what}", where="command line", expected="--yes to say that it may"
        )
    click.confirm(f"Overwrite {what} on the device ({image.board.name})?", abort=True, err=True)


def _print_steps(image: FlashImage, options: FlashOptions, steps: tuple[Step, ...]) -> None:
    if settings.current().as_json:
        print_json(
            {
                "board": image.board.name,
                "method": options.method,
                "speeds": options.speeds,
                "steps": steps,
            }
        )
        return
    speeds = ", ".join(map(str, options.speeds))
    print_line(f"{image.board.name} by {options.method}; speeds to try: {speeds}")
    for number, step in enumerate(steps, 1):
        size = f" ({step.size} bytes)" if step.size else ""
        print_line(f"{number:3}. {step.what}{size}")
        if step.command:
            print_line(f"       {step.command}")
    print_line("nothing was sent: --dry-run")


def _print_report(image: FlashImage, report: FlashReport) -> None:
    if settings.current().as_json:
        print_json(report)
        return
    rate = report.sent / report.seconds if report.seconds else 0.0
    print_line(
        f"sent {size_text(report.sent)} to {image.board.name} by {report.protocol} in "
        f"{report.seconds:.1f} s ({size_text(round(rate))}/s)"
    )
    print_line(f"{report.verified} bytes verified" if report.verified else "not verified")
    if report.stored:
        print_line(f"stored in {report.stored}")
    print_line("started" if report.started else "not started; the loader has the device")
