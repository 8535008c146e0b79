"""fwgen new app: a project that builds and runs; nothing half-written."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from fwgen.cli.main import run
from fwgen.emulate import RunOptions, open_build, watch_build
from fwgen.errors import FwgenError, ModelError, UsageError
from fwgen.project.build import build_project
from fwgen.project.file import read_project
from fwgen.project.new import new_application

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits.nvdla"


def test_what_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "my app"
    files = new_application(folder, "mps2-an385", MODEL)
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert set(files) == found
    assert (folder / "models" / "digits.nvdla").read_bytes() == MODEL.read_bytes()
    project = read_project(folder)
    assert project.name == "my-app"
    assert project.options.app is not None
    assert [path.name for path in folder.parent.iterdir()] == ["my app"]


def test_into_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    new_application(tmp_path / "a", "mps2-an385", MODEL)
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    new_application(Path(), "mps2-an385", MODEL)
    assert Path("fwgen.toml").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_nothing_is_overwritten(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "app"
    if kind == "file":
        place.write_text("mine")
    elif kind == "link":
        place.symlink_to(tmp_path / "nowhere")
    else:
        place.mkdir()
        (place / "mine").write_text("mine")
    before = sorted(p.name for p in tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="something already"):
        new_application(place, "mps2-an385", MODEL)
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


def test_bad_board_and_model_leave_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.nvdla"
    bad.write_bytes(MODEL.read_bytes()[:1000])
    place = tmp_path / "app"
    with pytest.raises(UsageError):
        new_application(place, "no-such-board", MODEL)
    with pytest.raises(UsageError):
        new_application(place, "mps2-an385", tmp_path / "none")
    with pytest.raises(ModelError):
        new_application(place, "mps2-an385", bad)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.nvdla"]


def test_strange_names_become_plain(tmp_path: Path) -> None:
    model = tmp_path / 'we"ird *- näme.nvdla'
    model.write_bytes(MODEL.read_bytes())
    folder = tmp_path / '"*/\nx'.replace("/", "-")
    new_application(folder, "mps2-an385", model)
    project = read_project(folder)
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", project.name)
    assert project.models[0].is_file()


def test_a_profile_of_ones_own_goes_along(tmp_path: Path) -> None:
    from fwgen.resources import resource_dir

    text = (resource_dir("boards") / "mps3-an547.toml").read_text()
    profile = tmp_path / "mine.toml"
    profile.write_text(text.replace('name = "mps3-an547"', 'name = "mine"'))
    new_application(tmp_path / "app", str(profile), MODEL)
    assert read_project(tmp_path / "app").board.endswith("mine.toml")
    text = (resource_dir("boards") / "mps2-an385.toml").read_text()
    profile.write_text(text.replace('name = "mps2-an385"', 'name = "mine"'))
    with pytest.raises(FwgenError):
        new_application(tmp_path / "other", str(profile), MODEL)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["new", "app", str(tmp_path / "a"), "-b", "mps2-an385", "-m", str(MODEL)]
    assert run(arguments) == 0
    assert "fwgen.toml" in capsys.readouterr().out
    assert run(arguments) == 2
    assert "something already" in capsys.readouterr().err


@pytest.mark.qemu
def test_it_runs_and_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application's answers against the example's integer reference."""
    new_application(tmp_path / "app", "mps2-an385", MODEL)
    result = build_project(tmp_path / "app")
    assert result.directory == tmp_path / "app" / "build" / "mps2-an385"
    assert not build_project(tmp_path / "app").changed
    report = watch_build(open_build(result.directory), RunOptions(), "inference 4")
    assert report.passed

    monkeypatch.syspath_prepend(str(DIGITS))
    network = importlib.import_module("network")
    reference = importlib.import_module("reference")
    layers = network.load_layers()
    y, x = np.mgrid[0:8, 0:8]
    answers = [line for line in report.lines if line.startswith("inference ")]
    for number in range(5):
        image = ((x * 3 + y * 5 + number) % 64).astype(np.int8)[None]
        expected = " ".join(str(int(v)) for v in reference.infer(image, layers))
        assert re.fullmatch(
            rf"inference {number}: OK, \d+ us, scores = {expected}", answers[number]
        )
