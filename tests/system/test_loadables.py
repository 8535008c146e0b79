"""Every published loadable: built, booted in QEMU on three boards, every output byte compared.

Two boards have an accelerator; on the third the CPU does the work.

The goldens are those of NVIDIA's own software (see the reference data); three
inferences per boot let the register groups alternate, also for units that
run an odd number of operations.
"""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path

import pytest

from fwgen.emulate import RunOptions, open_build, run_build
from fwgen.errors import ExitCode, FwgenError, ModelError
from fwgen.pipeline import build_model

ROOT = Path(__file__).resolve().parents[2]
LOADABLES = Path(os.environ.get("FWGEN_TESTDATA", ROOT.parent / "shared")) / "nvdla" / "loadables"

BOARDS = {
    "nv_small": ["mps2-an385", "mps2-an386", "mps2-an500", "mps3-an547", "rv1126-nvdla"],
    "nv_large": ["mps3-an547-nv-large", "mps2-an500-nv-large"],
}
ON_CPU = {
    "nv_small": ["mps2-an385-cpu", "mps2-an386-cpu", "mps3-an547-cpu", "rv1126-cpu"],
    "nv_large": ["mps3-an547-cpu-nv-large"],
}
"""Portable kernels on the Cortex-M3, those for the DSP extension on the others."""
INFERENCES = 3
EVERYWHERE = tuple(os.environ.get("FWGEN_LOADABLES_ON", "").split(","))
"""Boards that run every loadable of their configuration, besides the turns: a long run."""


def _cases() -> tuple[list[tuple[Path, str]], list[Path]]:
    """(facts file, board) to run, and the facts files of what must be refused.

    Each case meets two boards with an accelerator and one without; all boards of a
    configuration take turns.
    """
    run: list[tuple[Path, str]] = []
    refuse: list[Path] = []
    turns = {config: count() for config in BOARDS}
    for path in sorted(LOADABLES.glob("*.json")):
        facts = json.loads(path.read_text())
        if facts.get("expect") == "refuse":
            refuse.append(path)
            continue
        boards, on_cpu = BOARDS[facts["config"]], ON_CPU[facts["config"]]
        run += [(path, boards[next(turns[facts["config"]]) % len(boards)]) for _ in range(2)]
        run.append((path, on_cpu[len(run) // 3 % len(on_cpu)]))
        chosen = [board for case, board in run if case == path]
        run += [(path, b) for b in (*boards, *on_cpu) if b in EVERYWHERE and b not in chosen]
    return run, refuse


RUN, REFUSE = _cases()
NO_DATA = pytest.mark.skip(reason=f"reference data not found: {LOADABLES} (set FWGEN_TESTDATA)")


def _files(facts: dict[str, object], kind: str) -> dict[str, Path]:
    entries = facts[kind]
    assert isinstance(entries, list)
    return {str(e["bind_id"]): LOADABLES / e["file"] for e in entries if e["file"]}


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
    assert [e.message for i in report.inferences for e in i.guest_errors] == []
    assert report.passed
    assert golden_bytes > 0
    assert report.bytes_compared == INFERENCES * golden_bytes


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.stem) for c in REFUSE] or [pytest.param(None, marks=NO_DATA)],
)
@pytest.mark.parametrize(
    "board", [name for kind in (BOARDS, ON_CPU) for names in kind.values() for name in names]
)
def test_what_no_board_can_run_is_refused(case: Path, board: str, tmp_path: Path) -> None:
    facts = json.loads(case.read_text())
    with pytest.raises(ModelError) as caught:
        build_model(LOADABLES / facts["file"], board, tmp_path / "build")
    assert caught.value.exit_code == ExitCode.MODEL
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.stem) for c, _ in RUN[::3]] or [pytest.param(None, marks=NO_DATA)],
)
def test_the_other_configuration_is_refused(case: Path, tmp_path: Path) -> None:
    facts = json.loads(case.read_text())
    other = "nv_large" if facts["config"] == "nv_small" else "nv_small"
    with pytest.raises(FwgenError, match=facts["config"]) as caught:
        build_model(LOADABLES / facts["file"], BOARDS[other][0], tmp_path / "build")
    assert caught.value.exit_code == ExitCode.MODEL
    assert other in str(caught.value)
