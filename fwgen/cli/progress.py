"""The progress bar of transfers to a device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fwgen.cli import settings

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class TransferBar:
    """A progress bar with rate and time left on a terminal; nothing elsewhere.

    A context manager. The bar appears with the first `show`.

    Args:
        name: shown beside it, until `show` says another.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = sys.stderr.isatty() and settings.current().verbosity >= 0
        self._shown = self._shown and not settings.current().as_json
        self._progress: Progress | None = None
        self._task: TaskID

    def __enter__(self) -> TransferBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: int, total: int, name: str | None = None) -> None:
        """So many bytes of so many; another name begins anew."""
        if not self._shown:
            return
        if self._progress is None:
            self._progress = self._start()
        if name is not None and name != self._name:
            self._name = name
            self._progress.reset(self._task, description=name, total=total)
        self._progress.update(self._task, completed=done, total=total)

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        progress.start()
        self._task = progress.add_task(self._name, total=None)
        return progress
