"""Graphs as cases of the replay: judged by every byte of their outputs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from nbg_cases import nbg_cases

from fwgen.check.replay import Case, find_cases, replay_many
from fwgen.check.result import ReplayResult
from fwgen.errors import UsageError

NAMES = ("conv1x1", "add", "concat_x")


@pytest.fixture
def folder(testdata: Path, tmp_path: Path) -> Path:
    """Three cases: a convolution, one with a shader, one with two inputs."""
    cases = [c for c in nbg_cases(testdata) if c.name in NAMES]
    if len(cases) != len(NAMES):
        pytest.skip("no graphs among the reference data")
    for case in cases:
        for file in case.folder.glob(f"{case.name}.*"):
            shutil.copy(file, tmp_path)
            (tmp_path / file.name).chmod(0o644)
    return tmp_path


def results(folder: Path, library: Path) -> dict[str, ReplayResult]:
    return {r.name: r for r in replay_many(find_cases([folder]), library)}


def test_outputs_are_compared(folder: Path, model_library: Path) -> None:
    found = results(folder, model_library)
    assert found["conv1x1"].passed
    assert found["conv1x1"].config == "vip8000nanosi_pid0xb5"
    assert found["conv1x1"].bytes_compared == (folder / "conv1x1.out0.bin").stat().st_size
    assert found["concat_x"].passed
    assert found["add"].skipped and "shader" in found["add"].reason


def test_a_wrong_byte_fails(folder: Path, model_library: Path) -> None:
    path = folder / "conv1x1.out0.bin"
    data = bytearray(path.read_bytes())
    data[7] ^= 1
    path.write_bytes(data)
    found = results(folder, model_library)["conv1x1"]
    assert not found.passed and not found.skipped
    assert "1 differ, first byte 7" in found.reason


def test_a_short_file_fails(folder: Path, model_library: Path) -> None:
    path = folder / "conv1x1.out0.bin"
    path.write_bytes(path.read_bytes()[:-1])
    found = results(folder, model_library)["conv1x1"]
    assert not found.passed and "its file has" in found.reason


def test_what_is_not_played(folder: Path, model_library: Path) -> None:
    (folder / "concat_x.in1.bin").unlink()
    (folder / "conv1x1.nb").write_bytes(b"VPMN")
    found = results(folder, model_library)
    assert found["concat_x"].skipped and "no concat_x.in1.bin" in found["concat_x"].reason
    assert found["conv1x1"].skipped and "no NPU that is known" in found["conv1x1"].reason


def test_damaged_graph_fails(folder: Path, model_library: Path) -> None:
    path = folder / "conv1x1.nb"
    path.write_bytes(path.read_bytes()[:900])
    assert not results(folder, model_library)["conv1x1"].passed


def test_the_reference_plays_graphs(folder: Path) -> None:
    (case,) = [c for c in find_cases([folder]) if c.path.stem == "conv1x1"]
    assert case == Case(folder / "conv1x1.nb", "vip8000nanosi_pid0xb5")
    (found,) = replay_many([case], None, "reference")
    assert found.passed and found.bytes_compared > 0


def test_nothing_to_play(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no trace"):
        find_cases([tmp_path])
