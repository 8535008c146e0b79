"""A child process that cannot outlive us and whose output never blocks it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Sequence

from fwgen.errors import DeviceError

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_living: weakref.WeakSet[ChildProcess] = weakref.WeakSet()


class ChildProcess:
    """A program in a process group of its own.

    It is killed by `kill()`, at interpreter exit, and by the kernel when the
    thread that started it ends in whatever way (PR_SET_PDEATHSIG). Its output is
    read by a thread; the last lines are kept.

    Raises:
        DeviceError: it cannot be started.
    """

    def __init__(self, command: Sequence[str], *, pass_fds: Sequence[int] = ()) -> None:
        self.command = tuple(command)
        self._lines: deque[str] = deque(maxlen=500)
        parent = os.getpid()

        def prepare() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(127)

        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
                preexec_fn=prepare,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise DeviceError(f"cannot start {command[0]}: {error}") from None
        _living.add(self)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id, also of its group."""
        return self._process.pid

    def poll(self) -> int | None:
        """Exit code, negative signal number, or None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        """Wait at most so long; as poll()."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll()

    def terminate(self, seconds: float = 1.0) -> int | None:
        """Ask it to end (it may write its last records), then kill the group."""
        if self._process.poll() is None:
            self._process.terminate()
            self.wait(seconds)
        self.kill()
        return self._process.poll()

    def kill(self) -> None:
        """Kill the whole group and reap it; safe to call again."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._reader.join(2)
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()
        _living.discard(self)

    def output(self, count: int = 20) -> list[str]:
        """Last lines of stdout and stderr."""
        if self._process.poll() is not None:
            self._reader.join(1)
        # Boards with an Ethernet port warn that nothing is connected to it.
        lines = [line for line in self._lines if "has no peer" not in line]
        return lines[-count:]

    def _read(self) -> None:
        assert self._process.stdout is not None
        # read1 in bounded pieces: a line without an end must not fill memory.
        partial = ""
        while data := self._process.stdout.read1(65536):  # type: ignore[attr-defined]
            *lines, partial = (partial + data.decode("utf-8", "replace")).split("\n")
            self._lines.extend(line.rstrip("\r") for line in lines)
            partial = partial[-4096:]
        if partial:
            self._lines.append(partial)


def _kill_all() -> None:
    for process in list(_living):
        process.kill()


atexit.register(_kill_all)
