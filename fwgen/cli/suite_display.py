"""What `fwgen test` shows while it runs: a live display on a terminal, else plain lines."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

import click

from fwgen.cli import settings
from fwgen.cli.output import note, print_line

if TYPE_CHECKING:
    from fwgen.testing.plan import Image, PlannedTest
    from fwgen.testing.result import Result

_COLORS = {"passed": "green", "failed": "red"}
_SHOWN_NAMES = 4


class Display:
    """A Watcher for the terminal; a context manager.

    Args:
        total: number of tests.
        results: print a line for each result (not with --json).
    """

    def __init__(self, total: int, *, results: bool) -> None:
        self._results = results
        self._total = total
        self._running: list[str] = []
        self._lock = threading.Lock()
        self._live = sys.stderr.isatty() and settings.current().verbosity >= 0
        self._done = 0

    def __enter__(self) -> Display:
        if self._live:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            self._progress = Progress(
                BarColumn(20),
                MofNCompleteColumn(),
                Elapsed(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True, no_color=settings.current().color is False),
                transient=True,
                # Results that go to a file or a pipe are none of the display's business.
                redirect_stdout=sys.stdout.isatty(),
            )
            self._progress.start()
            self._task = self._progress.add_task("starting", total=self._total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._progress.stop()

    def building(self, image: Image) -> None:
        if self._live:
            self._tell(f"building {image.directory.name}")
        elif settings.current().verbosity >= 0:
            note(f"building {image.directory}")

    def stage(self, line: str) -> None:
        if settings.current().verbosity >= 1:
            note(line)

    def started(self, test: PlannedTest) -> None:
        with self._lock:
            self._running.append(test.name)
        self._tell()

    def ended(self, result: Result) -> None:
        with self._lock:
            if result.test.name in self._running:
                self._running.remove(result.test.name)
            self._done += 1
        self._tell()

    def _tell(self, text: str | None = None) -> None:
        if not self._live:
            return
        with self._lock:
            names = self._running[:_SHOWN_NAMES]
            more = len(self._running) - len(names)
            running = ", ".join(names) + (f" and {more} more" if more else "")
        self._progress.update(self._task, completed=self._done, description=text or running)

    def reported(self, result: Result) -> None:
        if not self._results:
            return
        word = str(result.verdict).upper()
        head = click.style(f"{word:7}", fg=_COLORS.get(str(result.verdict), "yellow"))
        text = result.summary()
        print_line(f"{head} {result.test.name}" + (f": {text}" if text else ""))
        for line in (*result.message.splitlines()[1:], *result.details):
            print_line(f"        {line}")
