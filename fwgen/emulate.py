"""Run a built firmware in the emulator: `fwgen run`, as a library function.

A build folder names its board and build identity in build_info.json; everything
else is asked of the firmware over the serial link.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fwgen.board.profile import list_boards, load_board
from fwgen.board.types import Board
from fwgen.build.result import OPERATIONS, read_json
from fwgen.errors import RunTimeout, TaskError, UsageError
from fwgen.machine import tensors
from fwgen.machine.config import MachineConfig
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Inference, Target
from fwgen.machine.link import ModelInfo, TensorInfo
from fwgen.machine.monitor import monitor
from fwgen.machine.relay import Relay
from fwgen.machine.session import QemuSession
from fwgen.profile import Profile, make_profile

ELF_NAME = "firmware.elf"
_ELF_MAGIC = b"\x7fELF"
INFO_NAME = "build_info.json"


@dataclass(frozen=True, slots=True)
class BuildFolder:
    """What a build folder says about itself.

    Attributes:
        has_link: whether the firmware has the serial link; without it the
            application alone uses the models.
    """

    path: Path
    board: Board
    build_id: str | None
    has_link: bool = True

    @property
    def elf(self) -> Path:
        """The image."""
        return self.path / ELF_NAME


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a firmware.

    Attributes:
        inputs, expected: files by tensor name or bind index.
        repeats: inferences in one boot, with the same inputs.
        model: number or name of the model in the firmware.
        limit: seconds of wall-clock time for everything; None for no limit.
        gdb: QEMU -gdb address; the CPU waits for the debugger, without a limit.
        trace: file that gets every register access.
        icount: count instructions, so that runs are repeatable.
        icount_shift: instead of the profile's.
        faults: "SPEC" for the first accelerator or "NAME:SPEC" (docs/emulator.md).
        timeout_ms: the target's own limit for one inference; 0: only its operations have one.
        profile: also ask where the time of the last inference went.
    """

    inputs: Mapping[str, Path] = field(default_factory=dict)
    expected: Mapping[str, Path] = field(default_factory=dict)
    repeats: int = 1
    model: int | str = 0
    limit: float | None = 60.0
    gdb: str | None = None
    trace: Path | None = None
    icount: bool = True
    icount_shift: int | None = None
    faults: tuple[str, ...] = ()
    timeout_ms: int = 0
    profile: bool = False


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run gave.

    Attributes:
        inferences: in order.
        zeroed_inputs: names of inputs for which no file was given.
        exit_code: of the emulator, at the end of a test build.
        profile: of the last inference, if it was wanted.
    """

    folder: BuildFolder
    model: ModelInfo
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    inferences: tuple[Inference, ...]
    zeroed_inputs: tuple[str, ...]
    exit_code: int
    profile: Profile | None = None

    @property
    def bytes_compared(self) -> int:
        """Over all inferences."""
        return sum(inference.bytes_compared for inference in self.inferences)

    @property
    def passed(self) -> bool:
        """No difference, no guest error, no fault; says nothing if nothing was compared."""
        return self.exit_code == 0 and all(inference.passed for inference in self.inferences)


def open_build(path: Path, board: str | None = None) -> BuildFolder:
    """Read what a build folder says about itself.

    Args:
        board: another board than the one that the folder names.

    Raises:
        UsageError: no build folder, or a damaged one.
    """
    hints = ("Build first: fwgen build --board BOARD MODEL -o DIR.",)
    if not path.is_dir():
        raise UsageError("no such build folder", where=str(path), hints=hints)
    file = path / INFO_NAME
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
        name = info["board"]
        build_id = info.get("build_id")
        options = info.get("options", {})
        has_link = options.get("link", True) is not False
        irq = options.get("irq")
        if not (
            isinstance(name, str)
            and isinstance(build_id, str | None)
            and isinstance(irq, int | None)
        ):
            raise TypeError
    except FileNotFoundError:
        raise UsageError(
            "this folder holds no finished build", where=str(path), expected=INFO_NAME, hints=hints
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(
            "the build's description is damaged", where=str(file), hints=hints
        ) from None
    image = path / ELF_NAME
    if not image.is_file():
        raise UsageError(
            "the build folder has no image", where=str(path), expected=ELF_NAME, hints=hints
        )
    with image.open("rb") as start:
        if start.read(len(_ELF_MAGIC)) != _ELF_MAGIC:
            raise UsageError(
                "the image is damaged", where=str(image), expected="an ELF file", hints=hints
            )
    return BuildFolder(path, _board_of(name, board, irq), build_id, has_link)


def _board_of(built_for: str, wanted: str | None, irq: int | None) -> Board:
    """The board of a build, with the interrupt number that the build chose."""
    if wanted is None and built_for not in list_boards():
        raise UsageError(
            f"the firmware is built for the board '{built_for}', which is not installed",
            expected="--board with the path of its profile",
            hints=("Or put the profile's folder into FWGEN_BOARDS.",),
        )
    board = load_board(wanted if wanted is not None else built_for)
    if irq is None or not board.accelerators:
        return board
    first, *others = board.accelerators
    return replace(board, accelerators=(replace(first, irq=irq), *others))


def build_folder(path: Path, board: str | None = None) -> Path:
    """The folder of the firmware: `path` itself, or where the project in it is built.

    Args:
        board: of the project's build, if not the one that the project names.

    Raises:
        UsageError: the project file is wrong.
    """
    from fwgen.project.file import is_project, read_project

    if (path / INFO_NAME).exists() or not is_project(path):
        return path
    project = read_project(path)
    return project.directory(load_board(board if board is not None else project.board).name)


def open_firmware(path: Path, board: str | None = None) -> BuildFolder:
    """The firmware of a build folder, or of the project in `path`, as `open_build` reads it.

    A project names its board's profile, so that one of the user's own is found.

    Raises:
        UsageError: as `open_build`; the project file is wrong.
    """
    from fwgen.project.file import read_project

    folder = build_folder(path, board)
    if board is None and folder != path:
        board = read_project(path).board
    return open_build(folder, board)


def parse_faults(board: Board, faults: tuple[str, ...]) -> dict[str, list[str]]:
    """Fault specifications by accelerator.

    Raises:
        UsageError: the board has no accelerator.
    """
    names = [accelerator.name for accelerator in board.accelerators]
    if faults and not names:
        raise UsageError("the board has no accelerator to fail", where=board.name)
    result: dict[str, list[str]] = {}
    for fault in faults:
        head, separator, rest = fault.partition(":")
        name, spec = (head, rest) if separator and head in names else (names[0], fault)
        result.setdefault(name, []).append(spec)
    return result


def _machine(folder: BuildFolder, options: RunOptions) -> MachineConfig:
    return machine_config(
        folder.board,
        icount=options.icount,
        icount_shift=options.icount_shift,
        faults=parse_faults(folder.board, options.faults),
    )


def run_build(
    folder: BuildFolder, options: RunOptions, echo: Callable[[str], None] | None = None
) -> RunReport:
    """Boot the firmware, run the inferences, end the emulator.

    Args:
        echo: gets the console's lines.

    Raises:
        UsageError: a file does not fit its tensor, QEMU is missing, a bad option.
        TaskError: the firmware stopped with a fault.
        DeviceError: an inference failed, or the emulator died.
        RunTimeout: the limit ran out.
    """
    machine = _machine(folder, options)
    limit = None if options.gdb is not None else options.limit
    with QemuSession(
        folder.elf, machine, limit=limit, gdb=options.gdb, trace=options.trace, echo=echo
    ) as session:
        target = Target(session, model=options.model, build_id=folder.build_id)
        given = _load(target.inputs, options.inputs)
        expected = _load(target.outputs, options.expected)
        zeroed = [t for i, t in enumerate(target.inputs) if i not in given]
        given |= {t.index: bytes(t.size) for t in zeroed}
        inferences = tuple(
            target.infer(given, expected, timeout_ms=options.timeout_ms)
            for _ in range(options.repeats)
        )
        profile = _profile(folder, target, inferences[-1]) if options.profile else None
        exit_code = session.finish()
    return RunReport(
        folder,
        target.model,
        target.inputs,
        target.outputs,
        inferences,
        tuple(tensor.name for tensor in zeroed),
        exit_code,
        profile,
    )


def _profile(folder: BuildFolder, target: Target, inference: Inference) -> Profile:
    """Where the time of the last inference went.

    Raises:
        UsageError: the build folder does not describe the model's operations.
    """
    model = target.model
    programs = read_json(folder.path / OPERATIONS).get("models")
    found = [p for p in programs if p["model"] == model.name] if isinstance(programs, list) else []
    if not found:
        raise UsageError(
            f"{OPERATIONS} does not describe the model '{model.name}'", where=str(folder.path)
        )
    clocks = {a.name: a.clock_hz for a in folder.board.accelerators}
    return make_profile(
        found[0],
        model.accelerator,
        clocks.get(model.accelerator),
        inference.run.timer_hz,
        inference.run.duration_ticks,
        target.link.profile(model.index) if target.info.profile else (),
        inference.operations,
    )


@dataclass(frozen=True, slots=True)
class WatchReport:
    """How firmware without serial link ran.

    Attributes:
        lines: of the console.
        exit_code: the firmware's, if it ended.
        found: whether the awaited text came.
    """

    folder: BuildFolder
    lines: tuple[str, ...]
    exit_code: int | None
    found: bool
    guest_errors: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """It did not end with a code, and did nothing wrong to an accelerator."""
        return not self.exit_code and not self.guest_errors


def watch_build(
    folder: BuildFolder,
    options: RunOptions,
    until: str | None = None,
    echo: Callable[[str], None] | None = None,
) -> WatchReport:
    """Boot the firmware and collect its console.

    The run ends when the firmware ends, when a line contains `until`, or without
    `until` when the time limit of the options is over.

    Args:
        echo: gets the console's lines.

    Raises:
        UsageError: QEMU is missing, a bad option.
        TaskError: the firmware stopped with a fault, or ended before `until` came.
        DeviceError: the emulator died.
        RunTimeout: `until` did not come.
    """
    machine = _machine(folder, options)
    limit = None if options.gdb is not None else options.limit
    exit_code: int | None = None
    with QemuSession(
        folder.elf, machine, limit=limit, gdb=options.gdb, trace=options.trace, echo=echo
    ) as session:
        try:
            exit_code = session.watch(until)
        except RunTimeout:
            if until is not None:
                raise
    # Closing has collected the last text and events.
    text = session.console.text()
    if until is not None and until not in text:
        raise TaskError(
            f"the firmware ended with code {exit_code} before '{until}' came",
            where=str(folder.elf),
        )
    return WatchReport(
        folder,
        tuple(text.splitlines()),
        exit_code,
        until is not None,
        tuple(error.message for error in session.guest_errors),
    )


def _load(known: tuple[TensorInfo, ...], files: Mapping[str, Path]) -> dict[int, bytes]:
    chosen = tensors.resolve(known, files)
    return {index: tensors.load(path, known[index]) for index, path in chosen.items()}


def write_outputs(report: RunReport, directory: Path) -> list[Path]:
    """Write the last inference's outputs: NAME.npy (NCHW) and NAME.bin (as in memory).

    Raises:
        UsageError: the directory cannot be written.
    """
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for tensor in report.outputs:
            data = report.inferences[-1].outputs[tensor.index]
            stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in tensor.name)
            stem = stem.lstrip(".") or f"output{tensor.index}"
            if sum(other.name == tensor.name for other in report.outputs) > 1:
                stem = f"{stem}.{tensor.index}"
            for suffix, content in ((".bin", data), (".npy", None)):
                path = directory / f"{stem}{suffix}"
                temporary = path.with_name(f".{path.name}.{os.getpid()}")
                if content is not None:
                    temporary.write_bytes(content)
                else:
                    with temporary.open("wb") as file:
                        np.save(file, tensors.unpack(data, tensor))
                os.replace(temporary, path)
                written.append(path)
    except OSError as error:
        raise UsageError(
            f"cannot write the outputs: {error.strerror or error}", where=str(directory)
        ) from None
    return written


def monitor_build(
    folder: BuildFolder,
    seconds: float | None = None,
    listen: str | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> None:
    """Boot the firmware and show its console in the terminal until Ctrl-].

    The emulated time follows the wall clock.

    Args:
        folder: the build.
        seconds: wall-clock limit.
        listen: address at which the serial link is offered (fwgen.machine.relay).
        say: gets a line with the port to use.

    Raises:
        UsageError: QEMU is missing, or the address cannot be listened on.
        DeviceError: the emulator ended.
    """
    machine = machine_config(folder.board, icount=False)
    with QemuSession(folder.elf, machine, limit=None) as session:
        if listen is None:
            monitor(session.console_line(), seconds=seconds)
            return
        with Relay(session.link_line(), listen) as relay:
            say(f"the serial link is at --port {relay.port}")
            monitor(session.console_line(), seconds=seconds, relay=relay)
