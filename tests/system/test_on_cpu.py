"""Every published loadable on boards whose CPU does the work, every output byte compared."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest
from test_loadables import LOADABLES, NO_DATA, REFUSE, _cases, _files

from fwgen.emulate import RunOptions, open_build, run_build
from fwgen.errors import ModelError
from fwgen.pipeline import build_model

BOARDS = {
    "nv_small": ["mps2-an385-cpu", "mps2-an386-cpu", "mps3-an547-cpu"],
    "nv_large": ["mps3-an547-cpu-nv-large"],
}
"""Portable kernels on the Cortex-M3, those for the DSP extension on the others."""

INFERENCES = 2


def _runs() -> list[tuple[Path, str]]:
    """Each loadable once; the boards of its configuration take turns."""
    turns = count()
    found = []
    for path in dict.fromkeys(case for case, _ in _cases()[0]):
        boards = BOARDS[json.loads(path.read_text())["config"]]
        found.append((path, boards[next(turns) % len(boards)]))
    return found


RUN = _runs()


@pytest.mark.qemu
@pytest.mark.parametrize(
    ("case", "board"),
    [pytest.param(c, b, id=f"{c.stem}-{b}") for c, b in RUN]
    or [pytest.param(None, None, marks=NO_DATA)],
)
def test_outputs_are_the_hardwares_bytes(case: Path, board: str, tmp_path: Path) -> None:
    facts = json.loads(case.read_text())
    expected = _files(facts, "outputs")
    golden_bytes = sum(path.stat().st_size for path in expected.values())
    build_model(LOADABLES / facts["file"], board, tmp_path / "build")
    report = run_build(
        open_build(tmp_path / "build"),
        RunOptions(inputs=_files(facts, "inputs"), expected=expected, repeats=INFERENCES),
    )
    assert [c for i in report.inferences for c in i.comparisons if not c.equal] == []
    assert report.passed
    assert golden_bytes > 0
    assert report.bytes_compared == INFERENCES * golden_bytes


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.stem) for c in REFUSE] or [pytest.param(None, marks=NO_DATA)],
)
def test_what_no_kernel_can_run_is_refused(case: Path, tmp_path: Path) -> None:
    facts = json.loads(case.read_text())
    with pytest.raises(ModelError):
        build_model(LOADABLES / facts["file"], "mps3-an547-cpu-nv-large", tmp_path / "build")
    assert not (tmp_path / "build").exists()
