"""JUnit, JSON and Markdown of results made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from junit_shape import check

from fwgen.board.profile import load_board
from fwgen.build.options import BuildOptions
from fwgen.errors import ExitCode
from fwgen.testing.plan import Image, PlannedTest
from fwgen.testing.reports import as_data, junit_xml, markdown, summary
from fwgen.testing.result import Report, Result, Verdict


def result(name: str, board: str, verdict: Verdict, **more: object) -> Result:
    image = Image(board, load_board(board), board, (), (), BuildOptions(), Path("build"))
    return Result(PlannedTest(name, image, 60.0), verdict, **more)  # type: ignore[arg-type]


PASSED = result(
    "mps2-an385/m/a", "mps2-an385", Verdict.PASSED, bytes_compared=48, inferences=3, cycles=7
)
FAILED = result(
    "mps2-an386/m/a",
    "mps2-an386",
    Verdict.FAILED,
    code=ExitCode.TIMEOUT,
    message="it <hung> & \x1b[31m |\ud800 died",
    details=("line ]]> 2", "```"),
    bytes_compared=16,
)
SKIPPED = result("mps2-an386/m/b", "mps2-an386", Verdict.SKIPPED, message="no accelerator")
NOT_RUN = result("mps2-an386/m/c", "mps2-an386", Verdict.NOT_RUN, message="interrupted")


def test_junit() -> None:
    report = Report("p", (PASSED, FAILED, SKIPPED, NOT_RUN), 1.5)
    root = check(junit_xml(report))
    assert [suite.get("name") for suite in root] == ["mps2-an385", "mps2-an386"]
    (case,) = root[0]
    assert (case.get("classname"), case.get("name")) == ("p.mps2-an385", "m/a")
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties == {"bytes_compared": "48", "inferences": "3", "cycles": "7"}
    (failure,) = root.iter("failure")
    assert failure.get("type") == "Timeout"
    assert failure.get("message") == "it <hung> & ?[31m |? died"
    assert "line ]]> 2" in (failure.text or "")


def test_markdown() -> None:
    text = markdown(Report("p", (PASSED, FAILED, SKIPPED), 1.5))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {7}
    assert "| pass | `mps2-an385/m/a` | 48 | 7 |" in text
    assert text.count("```") == 2
    assert "<hung>" not in text.split("```")[0]


def test_a_pass_says_what_it_rests_on() -> None:
    assert "48 bytes compared" in PASSED.summary()
    report = Report("p", (PASSED, FAILED), 1.0)
    # Bytes of tests that failed prove nothing.
    assert report.bytes_compared == as_data(report)["bytes_compared"] == 48
    assert summary(report) == "1 passed, 1 failed; 48 bytes compared"


def test_interrupted() -> None:
    report = Report("p", (PASSED, NOT_RUN, NOT_RUN), 1.0, interrupted=True)
    assert summary(report).startswith("interrupted after 1 of 3 tests: 1 passed, 2 not run")
    assert report.code is ExitCode.INTERRUPTED


FIT = replace(FAILED, code=ExitCode.DOES_NOT_FIT)


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ((PASSED,), ExitCode.OK),
        ((PASSED, SKIPPED), ExitCode.OK),
        ((SKIPPED,), ExitCode.TASK_FAILED),
        ((PASSED, FAILED), ExitCode.TIMEOUT),
        ((FIT, FIT), ExitCode.DOES_NOT_FIT),
        ((FIT, FAILED), ExitCode.TASK_FAILED),
    ],
)
def test_exit_codes(results: tuple[Result, ...], code: ExitCode) -> None:
    assert Report("p", results, 1.0).code is code
