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
    assert "\n6\n" in output  # the first test image shows a six
