"""Every command of docs/tutorial.md, in its order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SETUP = ("./run setup", ". .venv/bin/activate")


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


NUMBER = re.compile(r"\d+(?:\.\d+)?")
DRIFT = 0.1  # of times and cycles, so that a page need not follow every change of the estimate


def shown(page: Path) -> list[list[str]]:
    """Blocks of printed text of a page: indented by four, commands left out."""
    blocks = re.findall(r"\n\n((?:    .*\n)+)", page.read_text())
    return [
        lines
        for block in blocks
        if "PASS" in block and (lines := [line[4:].rstrip() for line in block.splitlines()])
    ]


def same(expected: str, printed: str) -> bool:
    """Whether two lines have the same text, and numbers that are nearly the same."""
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(printed), strict=True)
    return all(abs(float(a) - float(b)) <= DRIFT * float(b) for a, b in pairs)


def check_shown(page: Path, output: str) -> None:
    """What a page shows as printed was printed; how long the host took does not matter."""
    printed = [line.rstrip() for line in output.splitlines()]
    blocks = shown(page)
    assert blocks
    for line in (line for block in blocks for line in block):
        if not line.startswith("emulation"):
            assert any(same(line, other) for other in printed), f"{page.name} shows: {line}"


@pytest.mark.qemu
@pytest.mark.slow
def test_every_command_of_the_tutorial_works(tmp_path: Path) -> None:
    found = commands(REPOSITORY / "docs" / "tutorial.md")
    assert tuple(found[:2]) == SETUP
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    output = ""
    for command in found[2:]:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        output += done.stdout
    assert output.count("PASS") == 3
    check_shown(REPOSITORY / "docs" / "tutorial.md", output)
    check_shown(REPOSITORY / "README.md", output)
    assert "\n6\n" in output  # the first test image shows a six
