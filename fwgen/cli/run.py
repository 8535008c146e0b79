"""fwgen run: boot firmware in the emulator, feed it, compare what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fwgen.cli import settings
from fwgen.cli.files import named_files
from fwgen.cli.output import note, print_json, print_line, print_table, progress
from fwgen.cli.profiles import print_profile
from fwgen.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fwgen.emulate import BuildFolder, RunOptions, RunReport
    from fwgen.machine.inference import Inference


def _icount(context: click.Context, option: click.Parameter, value: str | None) -> str | int | None:
    if value is None or value == "off":
        return value
    if value.isdecimal() and int(value) <= 10:
        return int(value)
    raise click.BadParameter(f"'{value}' is neither 0..10 nor 'off'", context, option)


@click.command(context_settings=settings.CONTEXT)
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "-i",
    "--input",
    "inputs",
    metavar="NAME=FILE",
    multiple=True,
    callback=named_files,
    help="Input: .npy in NCHW order, an 8-bit image of the tensor's size and channels, or the "
    "bytes as in memory. NAME is the tensor's name or its number. Inputs that are not given "
    "are zero.",
)
@click.option(
    "-e",
    "--expect",
    "expected",
    metavar="NAME=FILE",
    multiple=True,
    callback=named_files,
    help="Expected output, in the same formats; every byte is compared.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write each output there, as .npy and as .bin.",
)
@click.option(
    "-n",
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Inferences in one boot.",
)
@click.option(
    "--model",
    metavar="NAME",
    default="0",
    show_default=True,
    help="Name or number of the model, where the firmware has several.",
)
@click.option("-b", "--board", help="Another board than the folder's.")
@click.option(
    "--until",
    metavar="TEXT",
    help="Show the console instead; done when a line contains TEXT.",
)
@settings.timeout_option(60.0)
@click.option(
    "--timeout-ms",
    type=click.IntRange(0, 2**20 - 1),
    default=0,
    help="The target's limit for one inference; 0: only each operation has its limit.",
)
@click.option(
    "--icount",
    callback=_icount,
    metavar="N|off",
    help="One instruction takes 2^N ns; off follows the wall clock. Default: the board's.",
)
@click.option(
    "--gdb",
    is_flag=False,
    flag_value="tcp::1234",
    metavar="[ADDRESS]",
    help="Wait for a debugger (at tcp::1234); no time limit.",
)
@click.option("--profile", is_flag=True, help="Show where the time of the last inference went.")
@click.option(
    "--report",
    "page",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Write a page with memory, timeline, roofline and sizes; see `fwgen report`.",
)
@click.option("--trace", type=click.Path(path_type=Path), help="File for all register accesses.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="[NAME:]SPEC",
    help="Fault of the emulated accelerator (docs/emulator.md).",
)
@settings.common_options
@settings.json_option
def run(
    directory: Path,
    inputs: dict[str, Path],
    expected: dict[str, Path],
    output: Path | None,
    repeat: int,
    model: str,
    board: str | None,
    until: str | None,
    timeout: float,
    timeout_ms: int,
    icount: str | int | None,
    gdb: str | None,
    profile: bool,
    page: Path | None,
    trace: Path | None,
    faults: tuple[str, ...],
) -> int:
    """Run the firmware in the build folder or project DIR in the emulator.

    Firmware without serial link, whose application uses the models itself, shows
    its console until it ends or the time limit is over.
    """
    from fwgen import emulate

    folder = emulate.open_firmware(directory, board)
    options = emulate.RunOptions(
        inputs=inputs,
        expected=expected,
        repeats=repeat,
        model=model,
        limit=timeout,
        gdb=gdb,
        trace=trace,
        icount=icount != "off",
        icount_shift=icount if isinstance(icount, int) else None,
        faults=faults,
        timeout_ms=timeout_ms,
        profile=profile or page is not None,
    )
    if gdb is not None:
        note(
            f"waiting for a debugger: gdb-multiarch {folder.elf} "
            f"-ex 'target remote {_gdb_target(gdb)}'"
        )
    else:
        progress(f"booting {folder.elf} on {folder.board.name}")
    if until is not None or not folder.has_link:
        if inputs or expected or output is not None or options.profile:
            raise UsageError(
                "inputs, outputs and profiles go through the serial link",
                where="command line",
                expected="no --input, --expect, --output, --profile and --report"
                + ("" if folder.has_link else ": this firmware was built without the link"),
            )
        return _watch(folder, options, until)
    verbose = settings.current().verbosity >= 1
    report = emulate.run_build(folder, options, echo=note if verbose else None)
    if report.zeroed_inputs and not settings.current().as_json:
        note("inputs that were not given are zero: " + ", ".join(report.zeroed_inputs))
    written = emulate.write_outputs(report, output) if output is not None else []
    if page is not None:
        from fwgen.report.page import write_report

        write_report(folder.path, page, folder.board, report.profile)
        written.append(page)
    if settings.current().as_json:
        print_json(_as_data(report, written))
    else:
        _print(report, written)
        if profile and report.profile is not None:
            print_profile(report.profile)
    if report.exit_code not in (0, 1):
        raise UsageError(f"the emulator ended with the unexpected code {report.exit_code}")
    return int(ExitCode.OK if report.passed else ExitCode.TASK_FAILED)


def _gdb_target(address: str) -> str:
    """What the debugger calls a -gdb address of QEMU: "tcp::1234" is ":1234"."""
    kind, separator, rest = address.partition(":")
    place = rest if separator and kind in ("tcp", "unix") else address
    return place.partition(",")[0]


def _watch(folder: BuildFolder, options: RunOptions, until: str | None) -> int:
    """Show the console of firmware whose application does the work."""
    from fwgen import emulate

    as_json = settings.current().as_json
    report = emulate.watch_build(folder, options, until, None if as_json else print_line)
    if as_json:
        print_json(
            {
                "board": folder.board.name,
                "exit_code": report.exit_code,
                "found": report.found,
                "guest_errors": report.guest_errors,
                "console": report.lines,
            }
        )
    else:
        for message in report.guest_errors:
            print_line(f"guest error: {message}")
        if report.exit_code is not None:
            note(f"the firmware ended with code {report.exit_code}")
        elif not report.found:
            note(f"stopped after {options.limit:g} s; --timeout sets the limit")
    return int(ExitCode.OK if report.passed else ExitCode.TASK_FAILED)


def _milliseconds(inference: Inference) -> float:
    return round(inference.run.seconds * 1000, 3)


def _as_data(report: RunReport, written: list[Path]) -> dict[str, object]:
    compared = report.bytes_compared
    return {
        "board": report.folder.board.name,
        "model": report.model.name,
        "build_id": report.folder.build_id,
        "result": ("pass" if report.passed else "fail") if compared else None,
        "bytes_compared": compared,
        "zeroed_inputs": report.zeroed_inputs,
        "inferences": [
            {
                "device_ms": _milliseconds(inference),
                "accelerator_cycles": inference.cycles,
                "interrupts": inference.run.interrupts,
                "operations": len(inference.operations),
                "guest_errors": [e.message for e in inference.guest_errors],
                "outputs": [
                    {"name": tensor.name, "bytes": inference.outputs[tensor.index]}
                    for tensor in report.outputs
                ],
                "comparisons": inference.comparisons,
            }
            for inference in report.inferences
        ],
        "files": written,
        **({} if report.profile is None else {"profile": report.profile}),
    }


def _print(report: RunReport, written: list[Path]) -> None:
    from fwgen.machine.inference import Comparison

    rows: list[tuple[object, ...]] = []
    for number, inference in enumerate(report.inferences):
        compared: dict[str, Comparison] = {c.tensor: c for c in inference.comparisons}
        for tensor in report.outputs:
            result = compared.get(tensor.name)
            rows.append(
                (
                    number,
                    tensor.name,
                    "x".join(str(n) for n in tensor.shape),
                    tensor.size,
                    result.compared if result else None,
                    result.different if result else None,
                    f"{_milliseconds(inference):.3f}",
                    inference.cycles,
                )
            )
    headings = ("RUN", "OUTPUT", "NxCxHxW", "BYTES", "COMPARED", "DIFFERENT", "DEVICE ms", "CYCLES")
    print_table(headings, rows, ("RUN", "BYTES", *headings[4:]))
    for number, inference in enumerate(report.inferences):
        for comparison in inference.comparisons:
            for difference in comparison.first:
                print_line(
                    f"run {number}, {comparison.tensor}, byte {difference.offset}: expected "
                    f"{difference.expected:#04x}, got {difference.actual:#04x}"
                )
        for error in inference.guest_errors:
            print_line(f"run {number}, {error.accelerator}: guest error: {error.message}")
    for path in written:
        print_line(f"wrote {path}")
    if report.bytes_compared:
        text = f"{report.bytes_compared} bytes compared"
        if report.passed:
            print_line(click.style("PASS", fg="green") + f": {text}, all equal")
        else:
            different = sum(c.different for i in report.inferences for c in i.comparisons)
            print_line(click.style("FAIL", fg="red") + f": {text}, {different} different")
    elif not report.passed:
        print_line(click.style("FAIL", fg="red") + ": see above; nothing was compared")
    else:
        print_line("ran to the end; nothing was compared (give --expect NAME=FILE)")
