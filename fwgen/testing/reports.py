"""A run's results for machines and pages: JUnit XML, JSON-ready data, Markdown.

The JUnit file has the form that Jenkins, GitLab and GitHub's report actions read:
testsuites > testsuite (a board) > testcase, with properties, and failure or skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree

from fwgen.errors import ExitCode
from fwgen.testing.result import Report, Result, Verdict

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FAILURE_TYPES = {
    ExitCode.TASK_FAILED: "TaskFailed",
    ExitCode.USAGE: "Usage",
    ExitCode.MODEL: "Model",
    ExitCode.DOES_NOT_FIT: "DoesNotFit",
    ExitCode.DEVICE: "Device",
    ExitCode.TIMEOUT: "Timeout",
}


def junit_xml(report: Report) -> str:
    """The run as JUnit XML."""
    root = ElementTree.Element("testsuites", {"name": report.name, **_counts(report.results)})
    root.set("time", f"{report.seconds:.3f}")
    for board, group in groupby(report.results, lambda result: result.test.image.board.name):
        results = tuple(group)
        suite = ElementTree.SubElement(root, "testsuite", {"name": board, **_counts(results)})
        suite.set("time", f"{sum(result.seconds for result in results):.3f}")
        for result in results:
            _testcase(suite, report.name, board, result)
    ElementTree.indent(root)
    return (
        "<?xml version='1.0' encoding='UTF-8'?>\n"
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _counts(results: Iterable[Result]) -> dict[str, str]:
    verdicts = [result.verdict for result in results]
    skipped = verdicts.count(Verdict.SKIPPED) + verdicts.count(Verdict.NOT_RUN)
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count(Verdict.FAILED)),
        "errors": "0",
        "skipped": str(skipped),
    }


def _testcase(suite: ElementTree.Element, project: str, board: str, result: Result) -> None:
    name = result.test.name.removeprefix(f"{board}/")
    attributes = {
        "name": name,
        "classname": f"{project}.{board}",
        "time": f"{result.seconds:.3f}",
    }
    case = ElementTree.SubElement(suite, "testcase", attributes)
    properties = ElementTree.SubElement(case, "properties")
    for key, value in facts(result).items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": str(value)})
    if not len(properties):
        case.remove(properties)
    if result.verdict is Verdict.FAILED:
        kind = _FAILURE_TYPES.get(result.code, "TaskFailed")
        failure = ElementTree.SubElement(
            case, "failure", {"message": _clean(result.message), "type": kind}
        )
        failure.text = _clean("\n".join((result.message, *result.details)))
    elif result.verdict is not Verdict.PASSED:
        ElementTree.SubElement(case, "skipped", {"message": _clean(result.message)})


def _clean(text: str) -> str:
    """Without characters that XML does not know; a console may hold any."""
    return _NOT_XML.sub("?", text)


def facts(result: Result) -> dict[str, int]:
    """The numbers of a result that are known."""
    numbers: dict[str, int | None] = {
        "bytes_compared": result.bytes_compared or None,
        "inferences": result.inferences or None,
        "cycles": result.cycles,
        "microseconds": result.microseconds,
    }
    if result.sizes is not None:
        sizes = result.sizes
        numbers |= {"flash": sizes.flash, "ram": sizes.ram, "tensors": sizes.tensors}
    return {key: value for key, value in numbers.items() if value is not None}


def as_data(report: Report) -> dict[str, object]:
    """The run as JSON-ready data."""
    return {
        "project": report.name,
        "exit_code": int(report.code),
        "interrupted": report.interrupted,
        "seconds": round(report.seconds, 3),
        "passed": report.count(Verdict.PASSED),
        "failed": report.count(Verdict.FAILED),
        "skipped": report.count(Verdict.SKIPPED),
        "not_run": report.count(Verdict.NOT_RUN),
        "bytes_compared": report.bytes_compared,
        "tests": [
            {
                "name": result.test.name,
                "board": result.test.image.board.name,
                "verdict": str(result.verdict),
                "exit_code": int(result.code),
                "message": result.message,
                "details": list(result.details),
                "seconds": round(result.seconds, 3),
                **facts(result),
                "over_budget": [
                    {
                        "kind": item.kind,
                        "used": item.used,
                        "budget": item.budget,
                        "before": item.since,
                        "changes": dict(item.changes),
                    }
                    for item in result.growth
                ],
            }
            for result in report.results
        ],
    }


_MARKS = {
    Verdict.PASSED: "pass",
    Verdict.FAILED: "**FAIL**",
    Verdict.SKIPPED: "skipped",
    Verdict.NOT_RUN: "not run",
}


def markdown(report: Report) -> str:
    """The run as a page: the verdict, a table of tests, the failures in full."""
    lines = [f"## Firmware tests of {_cell(report.name)}", "", f"{summary(report)}", ""]
    lines += ["| | test | bytes compared | cycles | us | |", "|---|---|--:|--:|--:|---|"]
    for result in report.results:
        cells = [
            _MARKS[result.verdict],
            f"`{result.test.name}`",
            str(result.bytes_compared or ""),
            "" if result.cycles is None else str(result.cycles),
            "" if result.microseconds is None else str(result.microseconds),
            _cell(result.summary()) if result.sizes or result.message else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    for result in report.results:
        if result.verdict is Verdict.FAILED:
            text = "\n".join((result.message, *result.details)).replace("```", "'''")
            lines += ["", f"### {result.test.name}", "", "```text", _clean(text), "```"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return _clean(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def summary(report: Report) -> str:
    """The last line: how many of each verdict, and what the passes rest on."""
    counts = [f"{report.count(verdict)} {verdict}" for verdict in Verdict if report.count(verdict)]
    compared = f"{report.bytes_compared} bytes" if report.bytes_compared else "nothing was"
    text = f"{', '.join(counts)}; {compared} compared"
    if report.interrupted:
        done = len(report.results) - report.count(Verdict.NOT_RUN)
        return f"interrupted after {done} of {len(report.results)} tests: {text}"
    return text
