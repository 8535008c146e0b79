"""Inferences on a target: inputs in, run, outputs out, compared.

The target is firmware behind a Link, in QEMU or on a board; with a QemuSession
the emulator's cycle counts and guest errors belong to each result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fwgen.errors import UsageError
from fwgen.machine import tensors
from fwgen.machine.events import GuestError, OperationEvent
from fwgen.machine.link import Info, Link, LinkError, ModelInfo, RunInfo, TensorInfo
from fwgen.machine.session import QemuSession

FIRST_DIFFERENCES = 8


@dataclass(frozen=True, slots=True)
class Difference:
    """One byte that is not as expected."""

    offset: int
    expected: int
    actual: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output against its expected bytes.

    Attributes:
        compared: number of bytes compared; all of the tensor.
        different: how many differ.
        first: the first few of them.
    """

    tensor: str
    compared: int
    different: int
    first: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        """Every byte is as expected, and there was one."""
        return self.different == 0 and self.compared > 0


@dataclass(frozen=True, slots=True)
class Inference:
    """One inference.

    Attributes:
        outputs: bytes by bind index.
        run: the target's own account.
        cycles: accelerator cycles with a unit at work, by the emulator's
            estimate (busy_cycles); None on a real board.
        operations: what the emulated accelerators completed.
        guest_errors: what the firmware did wrong to them.
        comparisons: of the outputs for which there were expected bytes.
    """

    outputs: dict[int, bytes]
    run: RunInfo
    cycles: int | None
    operations: tuple[OperationEvent, ...]
    guest_errors: tuple[GuestError, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def passed(self) -> bool:
        """No difference and no guest error; says nothing when nothing was compared."""
        return not self.guest_errors and all(c.equal for c in self.comparisons)

    @property
    def bytes_compared(self) -> int:
        """Over all outputs."""
        return sum(c.compared for c in self.comparisons)


class Target:
    """A model on a target, ready to run.

    Args:
        place: a running session, or a link to a board.
        model: number or name of the model in the firmware; digits are a number.
        build_id: what the firmware must be, as hex digits; None takes any.

    Raises:
        UsageError: the firmware is another build, or has no such model.
        TaskError, DeviceError, RunTimeout: as QemuSession.guard().
    """

    def __init__(
        self, place: QemuSession | Link, *, model: int | str = 0, build_id: str | None = None
    ) -> None:
        self.session = place if isinstance(place, QemuSession) else None
        self.link = place.link if isinstance(place, QemuSession) else place
        self.info: Info = self.session.wait_ready() if self.session else self.link.info()
        if build_id is not None and self.info.build_id != build_id.lower():
            raise UsageError(
                f"the target runs build {self.info.build_id}",
                where=self.link.transport.name,
                expected=build_id.lower(),
                hints=("Flash the image of this build folder first.",),
            )
        self.model: ModelInfo
        self.inputs: tuple[TensorInfo, ...]
        self.outputs: tuple[TensorInfo, ...]
        if self.session:
            self.session.guard(lambda: self._ask(model))
        else:
            self._ask(model)

    def _ask(self, model: int | str) -> None:
        self.model = self._find(model)
        self.inputs = self.link.tensors(self.model, "input")
        self.outputs = self.link.tensors(self.model, "output")

    def _find(self, wanted: int | str) -> ModelInfo:
        if isinstance(wanted, str) and wanted.isdecimal():
            wanted = int(wanted)
        if isinstance(wanted, int) and wanted < self.info.models:
            return self.link.model(wanted)
        models = [self.link.model(index) for index in range(self.info.models)]
        for model in models:
            if model.name == wanted:
                return model
        raise UsageError(
            f"the firmware has no model {wanted!r}",
            expected="one of " + ", ".join(f"{m.name} ({m.index})" for m in models),
        )

    def infer(
        self,
        inputs: Mapping[int, bytes],
        expected: Mapping[int, bytes] | None = None,
        *,
        timeout_ms: int = 0,
    ) -> Inference:
        """Write the given inputs, clear the outputs, run once, read and compare them.

        Args:
            inputs: bytes by bind index; an input that is not given keeps its bytes.
            expected: bytes by bind index of outputs.
            timeout_ms: the target's limit for one inference; 0: only its operations have one.

        Raises:
            UsageError: a size or an index is wrong.
            LinkError: the inference failed on the target.
            TaskError, DeviceError, RunTimeout: as QemuSession.guard().
        """
        expected = expected or {}
        _check_sizes("input", self.inputs, inputs)
        _check_sizes("output", self.outputs, expected)
        if self.session is None:
            return self._infer(inputs, expected, timeout_ms)
        return self.session.guard(lambda: self._infer(inputs, expected, timeout_ms))

    def _infer(
        self, inputs: Mapping[int, bytes], expected: Mapping[int, bytes], timeout_ms: int
    ) -> Inference:
        for index, data in inputs.items():
            self.link.write_tensor(self.inputs[index], data)
        # What an earlier run left behind must not pass for a result.
        for output in self.outputs:
            self.link.fill_tensor(output, 0)
        first_operation = first_error = 0
        patience = None
        if self.session is not None:
            self.session.update_events()
            first_operation = len(self.session.operations)
            first_error = len(self.session.guest_errors)
            # An emulated line loses nothing; asking again would only queue up.
            patience = self.session.limit if self.session.limit is not None else 86400.0
        try:
            run = self.link.run(self.model.index, timeout_ms=timeout_ms, patience=patience)
        except LinkError as error:
            raise self._explained(error, first_error) from None
        operations: tuple[OperationEvent, ...] = ()
        errors: tuple[GuestError, ...] = ()
        if self.session is not None:
            self.session.update_events()
            operations = tuple(self.session.operations[first_operation:])
            errors = tuple(self.session.guest_errors[first_error:])
        outputs = {i: self.link.read_tensor(t) for i, t in enumerate(self.outputs)}
        return Inference(
            outputs=outputs,
            run=run,
            cycles=busy_cycles(operations),
            operations=operations,
            guest_errors=errors,
            comparisons=tuple(
                compare(self.outputs[i].name, data, outputs[i])
                for i, data in sorted(expected.items())
            ),
        )

    def _explained(self, error: LinkError, first_error: int) -> LinkError:
        """A failed inference, with what the emulator saw the firmware do wrong."""
        if self.session is None:
            return error
        self.session.update_events()
        seen = self.session.guest_errors[first_error:]
        lines = [f"{e.accelerator}: guest error: {e.message}" for e in seen[:5]]
        if not lines:
            return error
        text = "\n".join((error.message, *lines))
        return LinkError(text, error.status, error.payload, where=error.where)

    def output_array(self, inference: Inference, index: int = 0) -> tensors.Array:
        """An output as an NCHW array."""
        return tensors.unpack(inference.outputs[index], self.outputs[index])


def run_inference(
    place: QemuSession | Link,
    inputs: Mapping[int, bytes],
    expected: Mapping[int, bytes] | None = None,
    *,
    repeats: int = 1,
    model: int = 0,
    timeout_ms: int = 0,
) -> tuple[Inference, ...]:
    """Run the same inputs `repeats` times; arguments and errors as Target.infer()."""
    target = Target(place, model=model)
    return tuple(target.infer(inputs, expected, timeout_ms=timeout_ms) for _ in range(repeats))


def compare(name: str, expected: bytes, actual: bytes) -> Comparison:
    """Byte by byte; both have the same length."""
    if len(expected) != len(actual):
        raise ValueError("comparison of different lengths")
    a, b = np.frombuffer(expected, np.uint8), np.frombuffer(actual, np.uint8)
    offsets = np.flatnonzero(a != b)
    first = tuple(Difference(int(i), int(a[i]), int(b[i])) for i in offsets[:FIRST_DIFFERENCES])
    return Comparison(name, len(expected), int(offsets.size), first)


def _check_sizes(word: str, known: tuple[TensorInfo, ...], given: Mapping[int, bytes]) -> None:
    for index, data in given.items():
        if not 0 <= index < len(known):
            raise UsageError(f"the model has no {word} {index}", expected=f"0 to {len(known) - 1}")
        if len(data) != known[index].size:
            raise UsageError(
                f"{len(data)} bytes for {word} '{known[index].name}'",
                expected=f"{known[index].size} bytes",
            )


def busy_cycles(operations: Sequence[OperationEvent]) -> int | None:
    """Cycles in which at least one unit of the accelerator worked; None without operations.

    Operations of different units overlap (a convolution and its SDP), so this
    is the length of the union of their times. What the CPU does in between, and
    how fast the host is, do not count.
    """
    if not operations:
        return None
    busy = reached = 0
    for operation in sorted(operations, key=lambda o: (o.start_cycle, o.end_cycle)):
        start = max(operation.start_cycle, reached)
        busy += max(0, operation.end_cycle - start)
        reached = max(reached, operation.end_cycle)
    return busy
