"""The one error type that means "not a bug in fwgen".

Every bad input, missing tool or failed task ends in a `FwgenError`. It says
what is wrong, where (file, offset or key), what was expected and what to try.
The command line turns it into text or JSON and into its exit code; library
users catch it. Exit codes follow docs/exit-codes.md.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the `fwgen` command."""

    OK = 0
    TASK_FAILED = 1
    USAGE = 2
    MODEL = 3
    DOES_NOT_FIT = 4
    DEVICE = 5
    TIMEOUT = 124
    INTERRUPTED = 130


class FwgenError(Exception):
    """A failure the user can act on.

    Args:
        message: one sentence, what is wrong. No trailing period is added.
        where: file, offset or key ("model.nvdla, byte 0x1c4", "board.toml:12, cpu.core").
        expected: what would have been right.
        hints: "Things to try", each a full sentence.
    """

    exit_code: ExitCode = ExitCode.TASK_FAILED

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        hints: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.expected = expected
        self.hints = hints

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} (expected {self.expected})" if self.expected else text

    def as_dict(self) -> dict[str, object]:
        """The error as JSON-ready data, the same facts as the text."""
        return {
            "error": type(self).__name__,
            "exit_code": int(self.exit_code),
            "message": self.message,
            "where": self.where,
            "expected": self.expected,
            "hints": list(self.hints),
        }


class TaskError(FwgenError):
    """The task itself failed: a compile error, a failed comparison, a guest fault."""

    exit_code = ExitCode.TASK_FAILED


class UsageError(FwgenError):
    """Wrong arguments, wrong configuration, an unknown board or a missing tool."""

    exit_code = ExitCode.USAGE


class ModelError(FwgenError):
    """The model is damaged, or asks for what the board's accelerator lacks."""

    exit_code = ExitCode.MODEL


class FitError(FwgenError):
    """The model or the image does not fit the board's memory."""

    exit_code = ExitCode.DOES_NOT_FIT


class DeviceError(FwgenError):
    """The device, the emulator process or the serial line failed."""

    exit_code = ExitCode.DEVICE


class RunTimeout(FwgenError):
    """A limit of wall-clock or guest time ran out."""

    exit_code = ExitCode.TIMEOUT
