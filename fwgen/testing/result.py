"""What came of a test, and of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fwgen.errors import ExitCode
from fwgen.testing.plan import PlannedTest
from fwgen.testing.sizes import Growth, Sizes


class Verdict(StrEnum):
    """How a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_RUN = "not run"
    """The run was interrupted before the test had an answer."""


@dataclass(frozen=True, slots=True)
class Result:
    """One test.

    Attributes:
        code: exit code of its kind of failure; OK if it did not fail.
        message: one sentence, for a failure or a test that was not run.
        details: further lines of a failure.
        seconds: of wall-clock time.
        bytes_compared: with the expected values, all inferences together; of a console
            case the bytes of text that were looked for and found.
        inferences: that gave outputs.
        cycles, microseconds: most of one inference; None where there was none.
        sizes: of an image.
        growth: what grew, where a budget of size is exceeded.
    """

    test: PlannedTest
    verdict: Verdict
    code: ExitCode = ExitCode.OK
    message: str = ""
    details: tuple[str, ...] = ()
    seconds: float = 0.0
    bytes_compared: int = 0
    inferences: int = 0
    cycles: int | None = None
    microseconds: int | None = None
    sizes: Sizes | None = None
    growth: tuple[Growth, ...] = ()

    def summary(self) -> str:
        """What a reader must know of it, in one line; a pass says what it rests on."""
        if self.verdict is not Verdict.PASSED:
            return self.message.splitlines()[0] if self.message else ""
        if self.sizes is not None:
            return (
                f"flash {self.sizes.flash}, RAM {self.sizes.ram}, "
                f"tensors {self.sizes.tensors} bytes"
            )
        text = f"{self.bytes_compared} bytes compared"
        if self.cycles is not None:
            text += f", {self.cycles} cycles"
        if self.microseconds is not None:
            text += f", {self.microseconds} us"
        return text


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run.

    Attributes:
        results: in the order of the plan, whatever ran first.
        interrupted: it was stopped by the user.
    """

    name: str
    results: tuple[Result, ...]
    seconds: float
    interrupted: bool = False
    notes: tuple[str, ...] = field(default=())

    def count(self, verdict: Verdict) -> int:
        """Tests that ended so."""
        return sum(result.verdict is verdict for result in self.results)

    @property
    def bytes_compared(self) -> int:
        """Of tests that passed."""
        return sum(r.bytes_compared for r in self.results if r.verdict is Verdict.PASSED)

    @property
    def code(self) -> ExitCode:
        """OK; the code of all failures where they agree; else that a task failed."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        codes = {r.code for r in self.results if r.verdict is Verdict.FAILED}
        if len(codes) == 1:
            return codes.pop()
        if codes or not self.count(Verdict.PASSED):
            # Where everything was skipped, nothing was tested.
            return ExitCode.TASK_FAILED
        return ExitCode.OK
