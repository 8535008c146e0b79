"""Console text of a target: collected, shown, and searched for fault reports.

A fault report of the runtime is a run of lines that begin with "***": first
"*** FAULT kind=... pc=...", last "*** END".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_KEEP = 256 * 1024
_FAULT = "*** FAULT"
_END = "*** END"


@dataclass(frozen=True, slots=True)
class FaultReport:
    """A complete or cut fault report.

    Attributes:
        lines: as printed.
        fields: the key=value pairs of all lines ("kind", "pc", "task").
    """

    lines: tuple[str, ...]
    fields: dict[str, str]

    def sentence(self) -> str:
        """What happened, in a few words."""
        kind = self.fields.get("kind", "fault")
        where = [f"{k} {self.fields[k]}" for k in ("task", "pc", "lr") if k in self.fields]
        if "file" in self.fields:
            where.append(f"{self.fields['file']}:{self.fields.get('line', '?')}")
        return f"the firmware stopped with a {kind} fault" + (
            f" ({', '.join(where)})" if where else ""
        )


class Console:
    """Collects console bytes.

    Args:
        echo: gets whole lines as they arrive, without the line end.
    """

    def __init__(self, echo: Callable[[str], None] | None = None) -> None:
        self._echo = echo
        self._lines: list[str] = []
        self._kept = 0
        self._partial = ""
        self._report: list[str] = []
        self.fault: FaultReport | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        text = self._partial + data.decode("utf-8", "replace").replace("\r", "")
        *lines, self._partial = text.split("\n")
        self._partial = self._partial[-4096:]
        for line in lines:
            self._line(line)

    def _line(self, line: str) -> None:
        self._lines.append(line)
        self._kept += len(line) + 1
        while self._kept > _KEEP:
            self._kept -= len(self._lines.pop(0)) + 1
        if self._echo is not None:
            self._echo(line)
        if line.startswith(_FAULT):
            self._report = [line]
        elif self._report and line.startswith("***"):
            self._report.append(line)
        if self._report and line.startswith(_END):
            self.fault = self._make_report()

    def _make_report(self) -> FaultReport:
        lines = tuple(self._report)
        fields = dict(re.findall(r"(\w+)=(\S+)", " ".join(lines)))
        self._report = []
        return FaultReport(lines, fields)

    def finish(self) -> None:
        """The line is closed: a cut report counts too."""
        if self._partial:
            line, self._partial = self._partial, ""
            self._line(line)
        if self._report:
            self.fault = self._make_report()

    def tail(self, count: int = 10) -> list[str]:
        """The last lines, the unfinished one included."""
        lines = [*self._lines, self._partial] if self._partial else self._lines
        return lines[-count:]

    def text(self) -> str:
        """All that is kept."""
        return "\n".join([*self._lines, self._partial])
