"""What a case's outputs must be: files, the user's function, or another board."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from fwgen.emulate import open_build
from fwgen.errors import TaskError
from fwgen.machine import tensors
from fwgen.machine.inference import Target
from fwgen.project.suite import callable_parts
from fwgen.testing import reference
from fwgen.testing.bench import Running, Value, packed
from fwgen.testing.plan import PlannedTest
from fwgen.testing.stopper import Stopper

T = TypeVar("T")


class Expectations:
    """Computes expected outputs; what several tests need is computed once.

    Args:
        root: folder of the project's files.
    """

    def __init__(self, root: Path, stopper: Stopper) -> None:
        self._root = root
        self._stopper = stopper
        self._known: dict[object, _Once] = {}
        self._lock = threading.Lock()

    def of(
        self, test: PlannedTest, target: Target, inputs: Mapping[int, bytes]
    ) -> dict[int, bytes]:
        """The expected bytes of outputs, by number.

        Raises:
            UsageError: a file or array does not fit its tensor.
            TaskError: the reference failed, or expects nothing but zeros.
            FwgenError: as the reference board's run raises it.
        """
        case = test.case
        assert case is not None
        values: Mapping[str, Value]
        if case.expect:
            values = {name: self._root / file for name, file in case.expect.items()}
        elif test.oracle is not None:
            values = self._of_board(test, target, inputs)
        else:
            values = self._of_function(test, target, inputs)
        expected = packed(target.outputs, values)
        if not any(any(data) for data in expected.values()):
            raise TaskError(
                "the expected outputs are zero in every byte, as if nothing was computed",
                where=f"case '{case.name}'",
                expected="inputs for which the answer is another one",
            )
        return expected

    def _of_function(
        self, test: PlannedTest, target: Target, inputs: Mapping[int, bytes]
    ) -> dict[str, Value]:
        assert test.case is not None and test.case.reference is not None
        parts = callable_parts(test.case.reference)
        assert parts is not None, "the project file was checked"
        file, function = parts
        arrays = [tensors.unpack(inputs[i], t) for i, t in enumerate(target.inputs)]
        names = [t.name for t in target.outputs]
        key = (file, function, tuple(names), *(array.tobytes() for array in arrays))

        def compute() -> dict[str, Value]:
            return dict(
                reference.call(
                    self._root / file,
                    function,
                    arrays,
                    names,
                    limit=test.timeout,
                    started=lambda process: self._stopper.add(process.kill),
                )
            )

        return self._once(key, compute)

    def _of_board(
        self, test: PlannedTest, target: Target, inputs: Mapping[int, bytes]
    ) -> dict[str, Value]:
        image, case = test.oracle, test.case
        assert image is not None and case is not None
        given: dict[str, Value] = {
            str(i): tensors.unpack(inputs[i], t) for i, t in enumerate(target.inputs)
        }
        key = (image.directory, test.model, *(inputs[i] for i in sorted(inputs)))

        def compute() -> dict[str, Value]:
            running = Running(open_build(image.directory, image.profile), limit=test.timeout)
            with self._stopper.running(running):
                answer = running.infer(given, model=test.model or 0)
            if answer.inference.guest_errors:
                raise TaskError(
                    "the reference board's firmware made a guest error: "
                    + answer.inference.guest_errors[0].message,
                    where=image.key,
                )
            return dict(answer.outputs)

        return self._once(key, compute)

    def _once(self, key: object, compute: Callable[[], dict[str, Value]]) -> dict[str, Value]:
        with self._lock:
            once = self._known.setdefault(key, _Once())
        with once.lock:
            if once.value is None:
                once.value = compute()
            return once.value


class _Once:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: dict[str, Value] | None = None
