"""What a replayed case gave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check that was made: `size` bytes compared (4 for a register)."""

    line: int
    kind: str
    size: int
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Outcome of one case. `reason` is empty when it passed."""

    name: str
    path: Path
    config: str
    model: str
    passed: bool
    reason: str
    skipped: bool = False
    malformed: bool = False
    checks: tuple[CheckResult, ...] = ()
    guest_errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def bytes_compared(self) -> int:
        """Bytes that the checks looked at."""
        return sum(check.size for check in self.checks)

    def as_dict(self) -> dict[str, object]:
        """JSON-ready data."""
        return {
            "name": self.name,
            "path": str(self.path),
            "config": self.config,
            "model": self.model,
            "passed": self.passed,
            "skipped": self.skipped,
            "reason": self.reason,
            "bytes_compared": self.bytes_compared,
            "checks": [
                {
                    "line": check.line,
                    "kind": check.kind,
                    "bytes": check.size,
                    "passed": check.passed,
                    "detail": check.detail,
                }
                for check in self.checks
            ],
            "guest_errors": list(self.guest_errors),
            "notes": list(self.notes),
        }
