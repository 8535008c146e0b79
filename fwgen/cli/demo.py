"""fwgen demo: build and run the digits example."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_json, print_line
from fwgen.errors import ExitCode


@click.command(context_settings=settings.CONTEXT)
@click.option("-b", "--board", default="mps2-an385", show_default=True, help="An emulated board.")
@click.option(
    "-n", "--images", type=click.IntRange(min=1), default=200, show_default=True, help="How many."
)
@click.option(
    "-o",
    "--output",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("build/demo"),
    show_default=True,
    help="Folder of the build.",
)
@settings.timeout_option(300.0)
@settings.common_options
@settings.json_option
def demo(board: str, images: int, directory: Path, timeout: float) -> int:
    """Build the digits example, classify test images on the emulated board.

    Every output byte is compared with an independent integer reference.
    """
    from fwgen.demo import run_demo

    report = run_demo(board, images, directory, limit=timeout, progress=note)
    if settings.current().as_json:
        print_json({**_plain(report), "passed": report.passed})
        return int(ExitCode.OK if report.passed else ExitCode.TASK_FAILED)
    print_line(f"board                {report.board}, build in {report.directory}")
    print_line(
        f"accuracy             {report.right} of {report.images} images right "
        f"({100 * report.right / report.images:.1f} %)"
    )
    time = f"{report.device_ms:.3f} ms on the CPU at {report.accelerator_hz / 1e6:g} MHz"
    if report.cycles:
        time = (
            f"{report.cycles} accelerator cycles (estimate), "
            f"{1000 * report.cycles / report.accelerator_hz:.3f} ms at "
            f"{report.accelerator_hz / 1e6:g} MHz; {report.device_ms:.3f} ms with the driver"
        )
    print_line(f"time per inference   {time}")
    print_line(
        f"emulation            {report.seconds:.1f} s for {report.images} inferences "
        "and their transfers"
    )
    for message in report.guest_errors[:8]:
        print_line(f"guest error          {message}")
    if report.passed:
        print_line(
            click.style("PASS", fg="green") + f": {report.bytes_compared} output bytes compared "
            "with the NumPy reference, all equal"
        )
        return int(ExitCode.OK)
    print_line(
        click.style("FAIL", fg="red") + f": {report.bytes_compared} output bytes compared with "
        f"the NumPy reference, {report.bytes_different} different"
    )
    return int(ExitCode.TASK_FAILED)


def _plain(report: object) -> dict[str, object]:
    import dataclasses

    assert dataclasses.is_dataclass(report) and not isinstance(report, type)
    return dataclasses.asdict(report)
