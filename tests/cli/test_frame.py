"""The command line's frame: help of every verb, options on both sides, errors, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import click
import pytest

from fwgen.cli import errors, main, output, settings
from fwgen.errors import DeviceError, ExitCode, FitError, ModelError, RunTimeout, TaskError


@click.command()
@click.option("--kind", default="none")
def failing(kind: str) -> None:
    """A verb that fails as asked."""
    if kind == "model":
        raise ModelError(
            "weights end early", where="a.nvdla, byte 0x1c4", expected="96 bytes", hints=("Look.",)
        )
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "bug":
        raise ZeroDivisionError("division by zero")


@pytest.fixture
def failing_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main.VERBS, "failing", (__name__, "failing", "Fail."))


def fwgen(*arguments: str, **keywords: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fwgen", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **keywords)


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("verb", list(main.VERBS))
def test_every_verb_has_help(verb: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([verb, flag]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: fwgen {verb}")
    assert "-v, --verbose" in text


@pytest.mark.parametrize("arguments", [["-h"], ["--help"]])
def test_help_lists_every_verb(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(arguments) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in main.VERBS)


def test_no_verb_shows_help_and_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Verbs:" in captured.err


def test_version_in_all_spellings(capsys: pytest.CaptureFixture[str]) -> None:
    from fwgen import __version__

    assert main.run(["--version"]) == 0
    assert main.run(["version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"fwgen {__version__}"
    assert second.startswith(first)


@pytest.mark.parametrize("arguments", [["--json", "version"], ["version", "--json"]])
def test_options_work_on_both_sides(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 0
    assert "fwgen" in json.loads(capsys.readouterr().out)


def test_unknown_verb_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["bild"]) == 2
    assert "Did you mean 'build'?" in capsys.readouterr().err


def test_unknown_option_is_usage_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["version", "--json", "--jsom"]) == 2
    error = json.loads(capsys.readouterr().out)
    assert error["exit_code"] == 2
    assert "--jsom" in error["message"]


@pytest.mark.usefixtures("failing_verb")
def test_error_text_has_all_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["failing", "--kind", "model"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "error: weights end early",
        "  where:    a.nvdla, byte 0x1c4",
        "  expected: 96 bytes",
        "Things to try:",
        "  - Look.",
    ]


@pytest.mark.usefixtures("failing_verb")
def test_error_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--json", "failing", "--kind", "model"]) == 3
    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out) == {
        "error": "ModelError",
        "exit_code": 3,
        "message": "weights end early",
        "where": "a.nvdla, byte 0x1c4",
        "expected": "96 bytes",
        "hints": ["Look."],
    }


@pytest.mark.usefixtures("failing_verb")
def test_interrupt_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["failing", "--kind", "interrupt"]) == 130


@pytest.mark.usefixtures("failing_verb")
def test_unexpected_exception_is_called_a_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FWGEN_DEBUG", raising=False)
    assert main.run(["failing", "--kind", "bug"]) == 1
    text = capsys.readouterr().err
    assert "this is a bug in fwgen: ZeroDivisionError" in text
    assert "Traceback" not in text


@pytest.mark.usefixtures("failing_verb")
def test_traceback_only_when_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FWGEN_DEBUG", "1")
    assert main.run(["failing", "--kind", "bug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [(TaskError, 1), (ModelError, 3), (FitError, 4), (DeviceError, 5), (RunTimeout, 124)],
)
def test_exit_code_of_each_error(error: type[TaskError], code: int) -> None:
    settings.reset()
    assert errors.report(error("no")) == code
    assert code in list(ExitCode)


def test_closed_pipe_is_no_error() -> None:
    # The help is read up to its first byte; the rest meets a closed pipe.
    script = f"{sys.executable} -m fwgen boards show mps2-an385 --json | head -c 1; "
    script += "echo ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("0\n")
    assert done.stderr == ""


def test_no_color_on_request() -> None:
    environment = {**os.environ, "NO_COLOR": "1"}
    assert "\x1b" not in fwgen("bild", env=environment).stderr
    assert "\x1b" in fwgen("--color", "always", "bild").stderr
    assert "\x1b" not in fwgen("--color", "never", "bild").stderr


def test_terminated_process_ends_with_143() -> None:
    code = (
        "import sys, time, fwgen.cli.main as m; m.cli.main = lambda **k: time.sleep(30); m.main()"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 143


def test_start_imports_nothing_heavy() -> None:
    code = "import sys, fwgen.cli.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "jinja2", "msgspec", "PIL", "SCons", "serial"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", shell]) == 0
    assert "_FWGEN_COMPLETE" in capsys.readouterr().out


def test_completion_knows_the_verbs() -> None:
    environment = {
        **os.environ,
        "_FWGEN_COMPLETE": "bash_complete",
        "COMP_WORDS": "fwgen ch",
        "COMP_CWORD": "1",
    }
    assert "check" in fwgen(env=environment).stdout


def test_plain_hides_contents_of_bytes() -> None:
    assert output.plain({"data": b"abc", "list": (1, 2.5, None)}) == {
        "data": {
            "bytes": 3,
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        },
        "list": [1, 2.5, None],
    }


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**31, "2.0 GiB")]
)
def test_size_text(count: int, text: str) -> None:
    assert output.size_text(count) == text
