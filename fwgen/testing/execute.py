"""Runs one test: boots its image, runs the inferences, judges what came."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fwgen.emulate import open_build
from fwgen.errors import ExitCode, FwgenError, RunTimeout, TaskError
from fwgen.machine.frames import Status
from fwgen.machine.inference import Comparison, Inference
from fwgen.machine.link import LinkError
from fwgen.testing.bench import Answer, Running, answer_of
from fwgen.testing.expected import Expectations
from fwgen.testing.plan import PlannedTest
from fwgen.testing.result import Result, Verdict
from fwgen.testing.sizes import Sizes, exceeded, sizes_of
from fwgen.testing.stopper import Stopped, Stopper
from fwgen.testing.values import input_bytes

CONSOLE_TAIL = 10
_FAILURES = {"timeout": Status.TIMEOUT, "device": Status.DEVICE, "canary": Status.CANARY}


def failed(test: PlannedTest, error: FwgenError) -> Result:
    """The result of a test that ended with an error."""
    first, *rest = error.message.splitlines() or [""]
    details = list(rest)
    if error.where:
        details.append(f"where: {error.where}")
    if error.expected:
        details.append(f"expected: {error.expected}")
    details += [f"try: {hint}" for hint in error.hints]
    return Result(test, Verdict.FAILED, error.exit_code, first, tuple(details))


def measure(test: PlannedTest, before: Sizes | None) -> Result:
    """Judge the sizes of a finished build.

    Args:
        before: of an earlier run.
    """
    sizes = sizes_of(test.image.directory)
    growth = exceeded(sizes, test.budgets, before)
    if not growth:
        return Result(test, Verdict.PASSED, sizes=sizes)
    details = tuple(line for item in growth for line in item.lines())
    kinds = " and ".join(item.kind for item in growth)
    message = f"{kinds} over budget: " + ", ".join(
        f"{item.used - item.budget} bytes of {item.kind}" for item in growth
    )
    return Result(
        test, Verdict.FAILED, ExitCode.DOES_NOT_FIT, message, details, sizes=sizes, growth=growth
    )


class Executor:
    """Runs tests; safe to use from several threads.

    Args:
        root: folder of the project.
        stopper: ends what runs.
    """

    def __init__(self, root: Path, stopper: Stopper) -> None:
        self._root = root
        self._stopper = stopper
        self._expectations = Expectations(root, stopper)

    def run(self, test: PlannedTest) -> Result:
        """Run a test with a case. What goes wrong in it is in the result."""
        begin = time.monotonic()
        try:
            result = self._console(test) if test.case and test.case.console else self._fed(test)
        except FwgenError as error:
            result = failed(test, error)
        except Stopped:
            result = Result(test, Verdict.NOT_RUN)
        if self._stopper.stopped and result.verdict is Verdict.FAILED:
            # What was killed under it says nothing about the firmware.
            result = Result(test, Verdict.NOT_RUN)
        if result.verdict is Verdict.NOT_RUN:
            result = replace(result, message="interrupted")
        return replace(result, seconds=time.monotonic() - begin)

    def _boot(self, test: PlannedTest) -> Running:
        folder = open_build(test.image.directory, test.image.profile)
        faults = test.fault.spec if test.fault is not None else ()
        return Running(folder, faults=faults, limit=test.timeout)

    def _console(self, test: PlannedTest) -> Result:
        assert test.case is not None
        wanted = test.case.console
        running = self._boot(test)
        code: int | None = None
        found: list[str] = []
        with self._stopper.running(running):
            try:
                code = running.watch(lambda text: _find_in_order(text, wanted, found) is None)
            except RunTimeout as error:
                missing = _find_in_order(running.console, wanted, found)
                raise RunTimeout(
                    f"'{missing}' did not come within {test.timeout:g} s\n"
                    + "\n".join(running.console.splitlines()[-CONSOLE_TAIL:]),
                    where=error.where,
                ) from None
        text = running.console
        missing = _find_in_order(text, wanted, found)
        if missing is not None:
            how = f"; the firmware ended with code {code}" if code is not None else ""
            tail = "\n".join(text.splitlines()[-CONSOLE_TAIL:])
            raise TaskError(f"'{missing}' is not on the console{how}\n{tail}")
        errors = running.session.guest_errors
        if errors:
            raise TaskError(f"guest error: {errors[0].accelerator}: {errors[0].message}")
        if code:
            raise TaskError(f"the firmware ended with code {code}")
        return Result(
            test, Verdict.PASSED, bytes_compared=sum(len(part.encode()) for part in found)
        )

    def _fed(self, test: PlannedTest) -> Result:
        assert test.case is not None
        runs = test.fault.runs if test.fault is not None else test.case.runs
        limit = (test.fault.timeout_ms if test.fault else 0) or test.case.timeout_ms
        attempts: list[_Attempt] = []
        with self._stopper.running(self._boot(test)) as running:
            target = running.target(test.model or 0)
            for number in range(runs):
                inputs = input_bytes(target.inputs, test.case.inputs, self._root, number)
                expected = self._expectations.of(test, target, inputs)
                try:
                    inference = target.infer(inputs, expected, timeout_ms=limit)
                except LinkError as error:
                    if test.fault is None or error.status not in _FAILURES.values():
                        raise
                    attempts.append(_Attempt(None, error))
                else:
                    attempts.append(_Attempt(answer_of(target, inference), None))
            code = running.session.finish()
            late = tuple(e.message for e in running.session.guest_errors)
        if code:
            raise TaskError(f"the firmware ended with code {code}")
        return _judge(test, attempts, late)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One inference: an answer, or the status that the firmware gave."""

    answer: Answer | None
    error: LinkError | None

    @property
    def right(self) -> bool:
        """Every byte is as expected, and no guest error happened."""
        return self.answer is not None and self.answer.passed


def _judge(test: PlannedTest, attempts: list[_Attempt], guest_errors: tuple[str, ...]) -> Result:
    answers = [attempt.answer for attempt in attempts if attempt.answer is not None]
    cycles = [answer.cycles for answer in answers if answer.cycles is not None]
    result = Result(
        test,
        Verdict.PASSED,
        bytes_compared=sum(answer.bytes_compared for answer in answers),
        inferences=len(answers),
        cycles=max(cycles, default=None),
        microseconds=max((answer.microseconds for answer in answers), default=None),
    )
    problem = _faulty(test, attempts) if test.fault is not None else None
    if problem is not None:
        message, details = problem, _story(attempts)
    elif test.fault is not None:
        message, details = "", ()
    else:
        message, details = _differences([answer.inference for answer in answers])
        if not message and guest_errors:
            message = f"guest error: {guest_errors[0]}"
        if not message:
            message = _over_budget(test, result)
    if not message and result.bytes_compared == 0:
        message = "nothing was compared"
    if not message:
        return result
    return replace(
        result,
        verdict=Verdict.FAILED,
        code=ExitCode.TASK_FAILED,
        message=message,
        details=details,
    )


def _differences(inferences: Iterable[Inference]) -> tuple[str, tuple[str, ...]]:
    """What is wrong in inferences that must be right: a sentence, and the first differences."""
    for number, inference in enumerate(inferences):
        for error in inference.guest_errors:
            return f"run {number}: guest error: {error.accelerator}: {error.message}", ()
        for comparison in inference.comparisons:
            if not comparison.equal:
                return _difference(number, comparison)
    return "", ()


def _difference(number: int, comparison: Comparison) -> tuple[str, tuple[str, ...]]:
    message = (
        f"run {number}: {comparison.different} of {comparison.compared} bytes of "
        f"{comparison.tensor} differ"
    )
    return message, tuple(
        f"byte {d.offset}: expected {d.expected:#04x}, got {d.actual:#04x}"
        for d in comparison.first
    )


def _over_budget(test: PlannedTest, result: Result) -> str:
    """The sentence about a budget of time that is exceeded; "" if all are kept."""
    for kind, used in (("cycles", result.cycles), ("microseconds", result.microseconds)):
        limits = [limit for b in test.budgets if (limit := getattr(b, kind)) is not None]
        if not limits:
            continue
        if used is None:
            return (
                f"the budget of {kind} cannot be judged: the board has no emulated accelerator; "
                "use microseconds"
            )
        if used > min(limits):
            return f"{used} {kind} are {used - min(limits)} more than the budget of {min(limits)}"
    return ""


def _faulty(test: PlannedTest, attempts: list[_Attempt]) -> str | None:
    """What is wrong in a run with a fault; None if it went as expected."""
    assert test.fault is not None
    expect = test.fault.expect
    statuses = [attempt.error.status for attempt in attempts if attempt.error is not None]
    wrong = [n for n, a in enumerate(attempts) if a.answer is not None and not a.right]
    if expect == "harmless":
        if statuses or wrong:
            return "the fault did harm"
        return None
    if expect == "differs":
        if not wrong:
            return "no byte differs and no guest error happened: the fault had no effect"
        if statuses:
            return "an inference failed, where wrong bytes were expected"
        return None
    if wrong:
        return f"run {wrong[0]} gave wrong bytes and no error"
    if not statuses:
        return "no inference failed: the fault had no effect"
    if expect == "recovers":
        return None if attempts[-1].right else "the last inference failed too: no recovery"
    other = [status for status in statuses if status != _FAILURES[expect]]
    if other:
        return f"an inference ended with status {_name(other[0])}, where {expect} was expected"
    return None


def _story(attempts: list[_Attempt]) -> tuple[str, ...]:
    """What each inference of a run with a fault did."""
    lines = []
    for number, attempt in enumerate(attempts):
        if attempt.error is not None:
            first = attempt.error.message.splitlines()[0]
            lines.append(f"run {number}: {_name(attempt.error.status)}: {first}")
        elif attempt.right:
            assert attempt.answer is not None
            lines.append(f"run {number}: {attempt.answer.bytes_compared} bytes compared, all equal")
        else:
            assert attempt.answer is not None
            lines.append(
                _differences([attempt.answer.inference])[0].replace("run 0", f"run {number}")
            )
    return tuple(lines)


def _name(status: int) -> str:
    return Status(status).name.lower() if status in set(Status) else str(status)


def _find_in_order(text: str, wanted: Iterable[str], found: list[str]) -> str | None:
    """Collect the texts that come one after the other; the first that is missing, or None."""
    found.clear()
    at = 0
    for part in wanted:
        place = text.find(part, at)
        if place < 0:
            return part
        found.append(part)
        at = place + len(part)
    return None
