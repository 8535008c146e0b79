"""The help of every verb: examples that parse, codes that exist, variables that are read."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from fwgen.board.profile import list_boards
from fwgen.cli.main import run
from fwgen.cli.pages import ENVIRONMENT, PAGES
from fwgen.docs.cli import PAGE, cli_page, commands
from fwgen.errors import ExitCode

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = {
    path: path.read_text()
    for pattern in ("fwgen/**/*.py", "emulator/**/*.c")
    for path in REPOSITORY.glob(pattern)
    if path.name != "pages.py"
}
VERBS = {path: command for path, command, _ in commands()}


def test_every_verb_has_a_page() -> None:
    leaves = {path for path, command in VERBS.items() if not isinstance(command, click.Group)}
    missing = sorted(leaves - set(PAGES))
    assert not missing, f"give them a page in fwgen/cli/pages.py: {missing}"
    assert set(PAGES) <= set(VERBS)


@pytest.mark.parametrize("path", PAGES)
def test_examples_parse(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verbs, options and their values are right; nothing is carried out."""
    called = []

    def invoke(context: click.Context, *_: object, **__: object) -> int:
        called.append(context.command_path)
        return 0

    monkeypatch.setattr(click.Context, "invoke", invoke)
    for line, meaning in PAGES[path].examples:
        words = shlex.split(line)
        assert words[0] == "fwgen" and meaning
        called.clear()
        assert run(words[1:]) == 0, line
        assert called[-1].startswith(f"fwgen {path.split()[0]}"), line


@pytest.mark.parametrize("path", PAGES)
def test_help_shows_the_page(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path.split(), "--help"]) == 0
    text = capsys.readouterr().out
    page = PAGES[path]
    assert all(f"\n  {line}\n" in text for line, _ in page.examples)
    for heading in (
        "Examples:",
        "Exit codes:",
        "Environment:",
        *(["Files:"] if page.files else []),
    ):
        assert f"\n{heading}\n" in text
    known = {int(code) for code in ExitCode}
    assert {code for code, _ in page.codes} <= known - {0, 130}
    assert "130  interrupted" in text


def test_a_device_still_needs_its_port(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run(["nvmem", "list", "--help"]) == 0
        assert run(["nvmem", "list"]) == 2
        assert "'--port'" in capsys.readouterr().err


def test_variables_are_those_that_are_read() -> None:
    read = set()
    for text in SOURCES.values():
        read |= set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', text))
        if re.search(r"environ\.get\((?:\w+\.)?ENVIRONMENT", text):
            read |= set(re.findall(r'^ENVIRONMENT = "(\w+)"', text, re.MULTILINE))
    own = {name for name in read if name.startswith(("FWGEN_", "NO_", "FREERTOS_"))}
    assert own <= set(ENVIRONMENT)
    for name in ENVIRONMENT:
        assert any(f'"{name}"' in text for text in SOURCES.values()), name
    for page in PAGES.values():
        assert set(page.variables()) <= set(ENVIRONMENT)


def test_the_document_is_current() -> None:
    written = (REPOSITORY / "docs" / PAGE).read_text()
    assert written == cli_page(), "run: python -m fwgen.docs.cli docs"


def completions(*words: str) -> list[str]:
    """What bash is offered for the last word."""
    environment = {
        **os.environ,
        "_FWGEN_COMPLETE": "bash_complete",
        "COMP_WORDS": shlex.join(["fwgen", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from fwgen.cli.main import cli; cli(prog_name='fwgen')"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.split()


def test_boards_are_completed() -> None:
    wanted = [f"plain,{name}" for name in list_boards() if name.startswith("mps2-an38")]
    assert len(wanted) > 2
    assert completions("build", "--board", "mps2-an38") == wanted
    assert completions("boards", "show", "mps2-an38") == wanted
    assert completions("build", "--board", "./mine") == ["file,./mine"]
    assert completions("build", "model") == ["file,model"]
    assert "plain,--junit" in completions("test", "--ju")
