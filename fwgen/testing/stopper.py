"""Ends everything that a run has started, from the thread that learns of Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fwgen.testing.bench import Running


class Stopped(Exception):
    """The run was stopped while a test waited."""


class Stopper:
    """Knows how to end what runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], object]] = []
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether the run is over."""
        return self._stopped

    def add(self, end: Callable[[], object]) -> None:
        """Call this at the stop; at once if that was before."""
        with self._lock:
            self._ends.append(end)
            late = self._stopped
        if late:
            end()

    def remove(self, end: Callable[[], object]) -> None:
        """It has ended by itself."""
        with self._lock:
            self._ends.remove(end)

    @contextmanager
    def running(self, running: Running) -> Iterator[Running]:
        """Boot firmware that ends with the run.

        Raises:
            Stopped: the run is over already.
        """
        if self._stopped:
            raise Stopped
        with running:
            kill = running.kill
            self.add(kill)
            try:
                yield running
            finally:
                self.remove(kill)

    def stop(self) -> None:
        """End everything."""
        with self._lock:
            self._stopped = True
            ends = tuple(self._ends)
        for end in ends:
            end()
