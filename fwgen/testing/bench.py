"""Firmware on the bench: boot an image, feed it arrays, read console and answers.

`fwgen test` and the pytest plugin are made of this; it is as good for a script:

    with Bench("mps2-an385").build(Path("digits.nvdla"), folder).boot() as running:
        answer = running.infer({"image": image})
        assert (answer.outputs["scores"] == expected).all()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.emulate import BuildFolder, open_build, parse_faults
from fwgen.errors import UsageError
from fwgen.machine import tensors
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Inference, Target
from fwgen.machine.session import QemuSession
from fwgen.machine.tensors import Array

Value = Array | bytes | Path | str
"""An array in NCHW order, the bytes as in memory, or a file as `fwgen run --input` takes it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One inference, as arrays.

    Attributes:
        outputs: (N, C, H, W) by name.
        inference: bytes, operations and comparisons.
    """

    outputs: Mapping[str, Array]
    inference: Inference

    @property
    def output(self) -> Array:
        """The only output.

        Raises:
            UsageError: the model has several.
        """
        if len(self.outputs) != 1:
            raise UsageError(
                "the model has several outputs",
                expected="outputs[NAME] with one of " + ", ".join(self.outputs),
            )
        return next(iter(self.outputs.values()))

    @property
    def cycles(self) -> int | None:
        """Cycles in which the accelerator worked (estimate); None where the CPU computes."""
        return self.inference.cycles

    @property
    def microseconds(self) -> int:
        """Duration on the firmware's clock, driver included, rounded up."""
        run = self.inference.run
        return -(-run.duration_ticks * 1_000_000 // run.timer_hz) if run.timer_hz else 0

    @property
    def bytes_compared(self) -> int:
        """With what was expected; 0 if nothing was."""
        return self.inference.bytes_compared

    @property
    def passed(self) -> bool:
        """Something was compared, all of it is equal, and no guest error happened."""
        return self.bytes_compared > 0 and self.inference.passed


class Running:
    """Firmware that runs in the emulator; a context manager.

    Args:
        folder: the build.
        faults: of the emulated accelerators, "SPEC" or "NAME:SPEC" (docs/emulator.md).
        limit: seconds of wall-clock time for everything; None for none.
        echo: gets the console's lines.
    """

    def __init__(
        self,
        folder: BuildFolder,
        *,
        faults: Sequence[str] = (),
        limit: float | None = 60.0,
        echo: Callable[[str], None] | None = None,
    ) -> None:
        self.folder = folder
        machine = machine_config(folder.board, faults=parse_faults(folder.board, tuple(faults)))
        self.session = QemuSession(folder.elf, machine, limit=limit, echo=echo)
        self._targets: dict[int | str, Target] = {}

    def __enter__(self) -> Running:
        self.session.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the emulator; safe to call again."""
        self.session.close()

    def kill(self) -> None:
        """End the emulator at once, from any thread; whoever waits for it gets an error."""
        process = getattr(self.session, "process", None)
        if process is not None:
            process.kill()

    def target(self, model: int | str = 0) -> Target:
        """The client of one model: tensors, status, profile.

        Raises:
            UsageError: no such model, or a firmware without the serial link.
            TaskError, DeviceError, RunTimeout: as QemuSession.guard().
        """
        if not self.folder.has_link:
            raise UsageError(
                "inputs and outputs go through the serial link",
                where=str(self.folder.path),
                expected="a build with the link",
                hints=("Build with link = true, or read the console.",),
            )
        if model not in self._targets:
            self._targets[model] = Target(self.session, model=model, build_id=self.folder.build_id)
        return self._targets[model]

    def infer(
        self,
        inputs: Mapping[str, Value],
        expect: Mapping[str, Value] | None = None,
        *,
        model: int | str = 0,
        timeout_ms: int = 0,
    ) -> Answer:
        """Run one inference.

        Args:
            inputs: by name or number of the tensor; all of them.
            expect: outputs that are compared, byte by byte.
            model: number or name.
            timeout_ms: the firmware's limit; 0: only its operations have one.

        Raises:
            UsageError: unknown or missing tensors, wrong shapes or types.
            LinkError: the firmware reports that the inference failed.
            TaskError, DeviceError, RunTimeout: as QemuSession.guard().
        """
        target = self.target(model)
        given = packed(target.inputs, inputs)
        missing = [t.name for i, t in enumerate(target.inputs) if i not in given]
        if missing:
            raise UsageError(
                "no value for the input" + "s"[: len(missing) > 1] + " " + ", ".join(missing),
                expected="a value for every input of the model",
            )
        wanted = packed(target.outputs, expect or {})
        return answer_of(target, target.infer(given, wanted, timeout_ms=timeout_ms))

    @property
    def console(self) -> str:
        """The console's text so far."""
        return self.session.console.text()

    def watch(self, until: str | Callable[[str], bool] | None = None) -> int | None:
        """Collect the console until it shows `until` (None) or the firmware ends (its code).

        Raises:
            TaskError: the firmware printed a fault report.
            RunTimeout: the limit of wall-clock time ran out.
        """
        return self.session.watch(until)

    @property
    def guest_errors(self) -> tuple[str, ...]:
        """What the firmware did wrong to the accelerators so far."""
        self.session.update_events()
        return tuple(f"{e.accelerator}: {e.message}" for e in self.session.guest_errors)


class Built:
    """A finished build that can be booted."""

    def __init__(self, folder: BuildFolder) -> None:
        self.folder = folder

    def boot(
        self,
        *,
        faults: Sequence[str] = (),
        limit: float | None = 60.0,
        echo: Callable[[str], None] | None = None,
    ) -> Running:
        """The firmware, to be started by `with`; arguments as Running."""
        return Running(self.folder, faults=faults, limit=limit, echo=echo)

    def size(self) -> dict[str, Any]:
        """Contents of size.json."""
        from fwgen.build.result import SIZE, read_json

        return read_json(self.folder.path / SIZE)


class Bench:
    """A board on which images are built and booted.

    Args:
        board: name, or profile file.
    """

    def __init__(self, board: str) -> None:
        self.profile = board
        self.board: Board = load_board(board)

    def build(
        self, models: Path | Sequence[Path], directory: Path, options: BuildOptions | None = None
    ) -> Built:
        """Build one image of one or more models.

        Raises:
            FwgenError: as pipeline.build_models.
        """
        from fwgen.pipeline import build_models

        paths = [models] if isinstance(models, Path) else list(models)
        result = build_models(paths, self.board, directory, options or BuildOptions())
        return Built(open_build(result.directory, self.profile))


def packed(known: Sequence[tensors.TensorLike], values: Mapping[str, Value]) -> dict[int, bytes]:
    """The bytes of tensors by number.

    Raises:
        UsageError: an unknown tensor, a wrong shape, type, size or file.
    """
    result = {}
    for index, value in tensors.resolve(known, values).items():
        tensor = known[index]
        if isinstance(value, bytes):
            result[index] = value
        elif isinstance(value, str | Path):
            result[index] = tensors.load(Path(value), tensor)
        else:
            result[index] = tensors.pack(shaped(np.asarray(value), tensor), tensor)
    return result


def shaped(array: Array, tensor: tensors.TensorLike) -> Array:
    """The array in the tensor's shape, if it differs from it in dimensions of 1 only."""
    long = tuple(n for n in array.shape if n != 1)
    if long == tuple(n for n in tensor.shape if n != 1):
        return array.reshape(tensor.shape)
    return array


def answer_of(target: Target, inference: Inference) -> Answer:
    """An inference as arrays."""
    return Answer(
        {t.name: target.output_array(inference, i) for i, t in enumerate(target.outputs)},
        inference,
    )
