"""Starting fwgen is cheap: what a verb does not need is not imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
HEAVY = ("numpy", "flatbuffers", "jinja2", "PIL", "SCons", "elftools")
STAGES = (
    "fwgen.accel.nvdla.family",
    "fwgen.model.nvdla",
    "fwgen.plan.planner",
    "fwgen.codegen",
    "fwgen.build.project",
)


def imported(code: str) -> set[str]:
    """Which of the expensive modules are there after the code has run."""
    script = f"{code}\nimport sys, json\nsys.stdout.write('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1])) & {*HEAVY, *STAGES}


@pytest.mark.parametrize(
    "code",
    [
        "import fwgen",
        "import fwgen.pipeline",
        "import fwgen.accel.registry, fwgen.model, fwgen.board.profile",
        "from fwgen.cli.main import run; assert run(['--version']) == 0",
        "from fwgen.cli.main import run; assert run(['--help']) == 0",
        "from fwgen.cli.main import run; assert run(['boards', 'list']) == 0",
        "from fwgen.cli.main import run; assert run(['boards', 'show', 'mps2-an385']) == 0",
    ],
)
def test_light(code: str) -> None:
    assert imported(code) == set()


@pytest.mark.qemu
def test_a_build_with_nothing_to_do(tmp_path: Path) -> None:
    command = ["build", "-q", "--board", "mps2-an385", str(MODEL), "-o", str(tmp_path / "b")]
    code = f"from fwgen.cli.main import run; assert run({[*command, '--jobs', '1']!r}) == 0"
    assert "numpy" in imported(code)
    assert imported(code) == set()
