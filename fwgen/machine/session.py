"""One run of firmware in QEMU, from start to the end of the process.

The serial lines are socket pairs handed to QEMU, so nothing can connect to
them and no byte is lost. Every wait is bounded by the session's limit of
wall-clock time. However a session ends, no QEMU is left behind (process.py).
"""

from __future__ import annotations

import shlex
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from fwgen.errors import DeviceError, FwgenError, RunTimeout, TaskError, UsageError
from fwgen.machine.config import MachineConfig
from fwgen.machine.console import Console
from fwgen.machine.emulator_build import qemu_module_path
from fwgen.machine.events import Event, EventFile, GuestError, OperationEvent, Summary
from fwgen.machine.frames import Receiver, Status
from fwgen.machine.link import Info, Link, LinkError
from fwgen.machine.process import ChildProcess
from fwgen.machine.qemu import Qemu, find_qemu
from fwgen.machine.transport import LineClosed, SocketTransport, Transport, WatchedTransport

# Exit codes that the runtime gives to the emulator (fwgen_fault.h).
FAULT_EXITS = {
    70: "a CPU fault",
    71: "a stack overflow",
    72: "a failed assertion",
    73: "an overwritten guard word between buffers",
}
# On a socket no byte is lost: resending only helps when a frame met garbage.
_ANSWER_SECONDS = 20.0
_MODULE = "fwgen device module: "
_BOOT_ATTEMPT_SECONDS = 1.0

T = TypeVar("T")


def _chardev(index: int) -> str:
    """QEMU's id of a serial line."""
    return f"serial{index}char"


class _FaultSeen(Exception):
    """A fault report is complete; ends the wait for an answer."""


class QemuSession:
    """QEMU running an ELF; use it as a context manager.

    Args:
        elf: the image.
        machine: the emulated board.
        limit: seconds of wall-clock time for everything; None with `gdb`.
        gdb: a QEMU -gdb address ("tcp::1234"); the CPU waits for the debugger.
        trace: file that gets every register access.
        echo: gets console lines as they arrive.
        module: the device module; default is the one built from our sources.
        qemu: the emulator; default is find_qemu().

    Attributes:
        console: the text so far.
        link: client of the serial link.
        operations, guest_errors, summaries: events so far; see update_events().
    """

    def __init__(
        self,
        elf: Path,
        machine: MachineConfig,
        *,
        limit: float | None = 60.0,
        gdb: str | None = None,
        trace: Path | None = None,
        echo: Callable[[str], None] | None = None,
        module: Path | None = None,
        qemu: Qemu | None = None,
    ) -> None:
        if not elf.is_file():
            raise UsageError("no such image", where=str(elf), expected="an ELF file")
        self.elf = elf
        self.machine = machine
        self.limit = limit
        self.qemu = qemu or find_qemu()
        self.console = Console(echo)
        self.operations: list[OperationEvent] = []
        self.guest_errors: list[GuestError] = []
        self.summaries: list[Summary] = []
        self.process: ChildProcess
        self.link: Link
        self._gdb = gdb
        self._trace = trace
        self._module = module
        self._folder: Path | None = None
        self._events: EventFile | None = None
        self._lines: dict[int, SocketTransport] = {}

    # ---- life ----

    def __enter__(self) -> QemuSession:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start QEMU.

        Raises:
            UsageError: QEMU or what builds the module is missing.
            DeviceError: the process cannot be started.
        """
        if self.machine.needs_module and self._module is None:
            self._module = qemu_module_path()
        self._folder = Path(tempfile.mkdtemp(prefix="fwgen-run-"))
        self._events = EventFile(self._folder / "events.jsonl")
        remote: dict[int, socket.socket] = {}
        try:
            for index in self._serial_indices():
                ours, theirs = socket.socketpair()
                remote[index] = theirs
                self._lines[index] = SocketTransport(ours, f"serial line {index} of QEMU")
            command = self.command({index: line.fileno() for index, line in remote.items()})
            fds = [line.fileno() for line in remote.values()]
            self.process = ChildProcess(command, pass_fds=fds)
        except BaseException:
            self._release()
            raise
        finally:
            for line in remote.values():
                line.close()
        deadline = None if self.limit is None else time.monotonic() + self.limit
        transport: Transport = self._lines[self._link_index()]
        if self._link_index() != self.machine.console_serial_index:
            console = self._lines[self.machine.console_serial_index]
            transport = WatchedTransport(self._lines[self._link_index()], console, self._on_text)
        self.link = Link(
            transport,
            timeout=_ANSWER_SECONDS,
            on_text=self._on_text,
            deadline=deadline,
        )

    def close(self) -> None:
        """End QEMU if it runs, collect the last events; safe to call again."""
        if not hasattr(self, "process"):
            self._release()
            return
        self.process.terminate()
        self._drain_closed()
        self.console.finish()
        self.update_events()
        self._release()

    def _release(self) -> None:
        for line in self._lines.values():
            line.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _serial_indices(self) -> list[int]:
        return sorted({self.machine.console_serial_index, self._link_index()})

    def _link_index(self) -> int:
        index = self.machine.link_serial_index
        return self.machine.console_serial_index if index is None else index

    def console_line(self) -> SocketTransport:
        """The console's line, for an interactive monitor instead of `link`."""
        return self._lines[self.machine.console_serial_index]

    def link_line(self) -> SocketTransport:
        """The link's line, for a relay instead of `link`; the console's where they share it."""
        return self._lines[self._link_index()]

    def command(self, serial_fds: dict[int, int]) -> list[str]:
        """QEMU's command line; `serial_fds` are sockets by serial line index."""
        m = self.machine
        out = [str(self.qemu.path), "-M", m.machine]
        if m.cpu is not None:
            out += ["-cpu", m.cpu]
        if m.memory is not None:
            out += ["-m", m.memory]
        out += ["-display", "none", "-monitor", "none", "-nic", "none"]
        if not m.reboot:
            out.append("-no-reboot")
        out += ["-semihosting-config", "enable=on,target=native"]
        for index in range(max(serial_fds) + 1):
            if index in serial_fds:
                chardev = f"socket,id={_chardev(index)},fd={serial_fds[index]}"
                machine_line = "null" if m.takes_serial(index) else f"chardev:{_chardev(index)}"
                out += ["-chardev", chardev, "-serial", machine_line]
            else:
                out += ["-serial", "null"]
        if m.icount_shift is not None:
            out += ["-icount", f"shift={m.icount_shift},sleep=off"]
        if m.needs_module:
            out += ["-plugin", self._plugin_option(serial_fds)]
        if self._gdb is not None:
            out += ["-S", "-gdb", self._gdb]
        return [*out, *m.extra_args, "-kernel", str(self.elf)]

    def _plugin_option(self, serial_lines: Collection[int]) -> str:
        assert self._module is not None and self._events is not None
        options = [str(self._module)]
        events = ("events", str(self._events.path))
        for overlay in self.machine.overlays:
            pairs = [*overlay.options]
            if overlay.serial is not None and overlay.serial in serial_lines:
                pairs.append(("chardev", _chardev(overlay.serial)))
            if overlay.reports:
                pairs.append(events)
            options += [f"{key}={value}" for key, value in pairs]
        for device in self.machine.accelerators:
            pairs = [*device.module_options(), events]
            if self._trace is not None:
                pairs.append(("trace", str(self._trace.absolute())))
            options += [f"{key}={value}" for key, value in pairs]
        # QEMU separates options by commas and reads two commas as one.
        return ",".join(option.replace(",", ",,") for option in options)

    # ---- work ----

    def wait_ready(self) -> Info:
        """Wait until the firmware answers on the link.

        Raises:
            TaskError, DeviceError, RunTimeout: as `guard` says.
        """
        return self.guard(self._wait_ready)

    def _wait_ready(self) -> Info:
        usual = self.link.timeout, self.link.attempts
        # The first bytes may meet a UART that is not set up: ask often.
        self.link.timeout, self.link.attempts = _BOOT_ATTEMPT_SECONDS, 1
        try:
            while True:
                try:
                    return self.link.info()
                except (LineClosed, RunTimeout):
                    raise
                except DeviceError:
                    if self.process.poll() is not None:
                        raise
        finally:
            self.link.timeout, self.link.attempts = usual

    def guard(self, work: Callable[[], T]) -> T:
        """Call `work`; turn what goes wrong on the line into what went wrong in the guest.

        Raises:
            TaskError: the firmware printed a fault report, or ended with a code.
            UsageError: the device module refused its options or this QEMU.
            DeviceError: QEMU died, or nothing answers.
            RunTimeout: the limit of wall-clock time ran out.
        """
        try:
            return work()
        except LineClosed:
            raise self._death() from None
        except _FaultSeen:
            # The runtime ends the emulator right after the report.
            self.process.wait(1.0)
            raise self._fault_error() from None
        except RunTimeout:
            raise RunTimeout(
                self._with_tail(f"the firmware did not finish within {self.limit:g} s"),
                where=str(self.elf),
                hints=(
                    "Raise --timeout if the model is large.",
                    "Look where it stands with --gdb, or at its register accesses with --trace.",
                ),
            ) from None

    def finish(self, seconds: float = 10.0) -> int:
        """Ask the firmware to end the emulator (test builds); the exit code.

        A build without that request is ended from outside; the code is then 0.
        """
        try:
            self.guard(self._request_exit)
            code = self.process.wait(seconds)
        except LinkError as error:
            if error.status not in (Status.NOT_SUPPORTED, Status.BAD_TYPE):
                raise
            code = 0
        self.close()
        return code if code is not None else 0

    def _request_exit(self) -> None:
        try:
            self.link.exit(0)
        except LineClosed:
            # The emulator may be gone before its last bytes were: as asked.
            if self.process.wait(2.0) != 0:
                raise

    def wait_exit(self) -> int:
        """Collect console text until QEMU ends by itself; its exit code.

        Raises:
            RunTimeout: the limit of wall-clock time ran out.
        """

        def collect() -> int:
            while True:
                try:
                    self.link.drain(1.0)
                except LineClosed:
                    self._drain_closed()
                    code = self.process.wait(5.0)
                    if code is None:
                        raise
                    return code
                except _FaultSeen:
                    continue
                if self.link.deadline is not None and time.monotonic() >= self.link.deadline:
                    raise RunTimeout("time limit")

        return self.guard(collect)

    def watch(self, until: str | Callable[[str], bool] | None = None) -> int | None:
        """Collect console text until QEMU ends (its exit code) or the text shows `until` (None).

        Args:
            until: a text, or a function that judges all text so far.

        Raises:
            TaskError: the firmware printed a fault report.
            RunTimeout: the limit of wall-clock time ran out.
        """

        def shown() -> bool:
            text = self.console.text()
            if callable(until):
                return until(text)
            return until is not None and until in text

        def collect() -> int | None:
            while True:
                try:
                    self.link.drain(0.1)
                except LineClosed:
                    if self.process.wait(5.0) is None:
                        raise
                    break
                if shown():
                    return None
                if self.link.deadline is not None and time.monotonic() >= self.link.deadline:
                    raise RunTimeout("time limit")
            self._drain_closed()
            self.console.finish()
            if self.console.fault is not None:
                raise self._fault_error()
            return None if shown() else self._code()

        return self.guard(collect)

    def _code(self) -> int:
        code = self.process.wait(5.0)
        assert code is not None
        return code

    def _on_text(self, text: bytes) -> None:
        before = self.console.fault
        self.console.feed(text)
        if self.console.fault is not before:
            raise _FaultSeen("fault report")

    def _drain_closed(self) -> None:
        """Take what still lies in the lines of a process that has ended."""
        for index, line in self._lines.items():
            receiver = self.link.receiver if index == self._link_index() else Receiver()
            try:
                while data := line.receive(time.monotonic()):
                    for item in receiver.feed(data):
                        if isinstance(item, bytes):
                            self.console.feed(item)
            except LineClosed:
                pass

    def _fault_error(self) -> FwgenError:
        report = self.console.fault
        assert report is not None
        return TaskError(
            "\n".join((report.sentence(), *report.lines)),
            where=str(self.elf),
            hints=(
                f"Find the place: arm-none-eabi-addr2line -fe {self.elf} "
                f"{report.fields.get('pc', 'PC')}.",
                "Run again with --gdb and stop in the fault handler.",
            ),
        )

    def _death(self) -> FwgenError:
        """QEMU closed the line: say why."""
        code = self.process.wait(2.0)
        self._drain_closed()
        self.console.finish()
        self.update_events()
        if self.console.fault is not None:
            return self._fault_error()
        if code is None:
            return DeviceError("QEMU closed the serial line but runs on", where=str(self.elf))
        if code in FAULT_EXITS:
            return TaskError(
                self._with_tail(f"the firmware ended QEMU after {FAULT_EXITS[code]}"),
                where=str(self.elf),
            )
        refusals = [line for line in self.process.output() if line.startswith(_MODULE)]
        if refusals:
            return UsageError(
                "the device module refused: " + refusals[0].removeprefix(_MODULE),
                where=str(self.qemu.path),
                hints=("docs/emulator.md lists the options and faults.",),
            )
        lockup = [line for line in self.process.output() if "Lockup" in line]
        if lockup:
            return TaskError(
                self._with_tail("the CPU locked up: a fault while it handled a fault"),
                where=str(self.elf),
                hints=(
                    "R15 above is where; is the image built for this board, and whole?",
                    "Run again with --gdb and step from the start.",
                ),
            )
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        output = self.process.output()
        if any("API version" in line and "plugin" in line.lower() for line in output):
            hints: tuple[str, ...] = (
                "This QEMU wants another version of the plugin interface; set "
                "FWGEN_QEMU_PLUGIN_VERSION to one that its message names.",
            )
        else:
            hints = ("The command was: " + shlex.join(self.process.command),)
        return DeviceError(
            self._with_tail(f"QEMU {how} unexpectedly"), where=str(self.qemu.path), hints=hints
        )

    def _with_tail(self, message: str) -> str:
        lines = [message]
        console = self.console.tail()
        lines += ["Last lines of the console:", *console] if console else ["The console is empty."]
        output = self.process.output()
        if output:
            lines += ["Output of QEMU:", *output]
        return "\n".join(lines)

    def update_events(self) -> list[Event]:
        """Read what the device module wrote since the last call; also sorts it."""
        new = self._events.new_events() if self._events is not None else []
        for event in new:
            if isinstance(event, OperationEvent):
                self.operations.append(event)
            elif isinstance(event, GuestError):
                self.guest_errors.append(event)
            else:
                self.summaries.append(event)
        return new
