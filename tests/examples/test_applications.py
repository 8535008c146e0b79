"""The example applications: built, booted, every answer compared with integer NumPy."""

from __future__ import annotations

import importlib
import re
import shutil
import zlib
from pathlib import Path
from types import ModuleType

import pytest

from fwgen.emulate import RunOptions, WatchReport, open_build, watch_build
from fwgen.project.build import build_project
from fwgen.project.file import read_project

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = ("two-producers", "camera", "cascade")


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The examples' scripts; they are no packages."""
    for folder in ("digits", "cascade"):
        monkeypatch.syspath_prepend(str(EXAMPLES / folder))
    names = ("network", "reference", "pictures", "locate")
    return {name: importlib.import_module(name) for name in names}


def watch(
    name: str, tmp_path: Path, board: str | None = None, faults: tuple[str, ...] = ()
) -> WatchReport:
    """Build an example and run it to its end."""
    result = build_project(EXAMPLES / name, board=board, directory=tmp_path / "build")
    report = watch_build(open_build(result.directory), RunOptions(limit=120, faults=faults))
    assert report.exit_code == 0
    return report


def found(report: WatchReport, pattern: str) -> list[re.Match[str]]:
    """Matches of the console's lines, each as a whole."""
    return [m for m in (re.fullmatch(pattern, line) for line in report.lines) if m]


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split()]


def expected_scores(modules: dict[str, ModuleType], picture: int) -> list[int]:
    images, _ = modules["network"].load_tests()
    layers = modules["network"].load_layers()
    return [int(v) for v in modules["reference"].infer(images[picture], layers)]


@pytest.mark.parametrize("name", NAMES)
def test_projects_are_right(name: str) -> None:
    project = read_project(EXAMPLES / name)
    assert project.name == name
    assert (EXAMPLES / name / "README.md").is_file()


@pytest.mark.parametrize(("name", "count"), [("two-producers", 24), ("camera", 16)])
def test_pictures_are_what_the_script_makes(
    modules: dict[str, ModuleType], name: str, count: int
) -> None:
    file = EXAMPLES / name / "src" / "pictures.h"
    assert file.read_text() == modules["pictures"].header(count)


def test_the_locator_is_what_the_script_makes(modules: dict[str, ModuleType]) -> None:
    locate = modules["locate"]
    assert locate.MODEL_FILE.read_bytes() == locate.loadable()
    assert locate.SCENES_FILE.read_text() == locate.header()


def test_the_cascade_finds_and_reads(modules: dict[str, ModuleType]) -> None:
    """The reference itself is of use: it reads what lies in the scenes."""
    locate = modules["locate"]
    _, labels = modules["network"].load_tests()
    read = [int(locate.cascade(scene)[2].argmax()) for scene in locate.scenes()]
    right = sum(a == int(b) for a, b in zip(read, labels[40:], strict=False))
    assert right >= locate.SCENES - 1


@pytest.mark.qemu
def test_two_producers(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    report = watch("two-producers", tmp_path)
    assert report.passed
    answers = found(report, r"(left|right): picture (\d+) (\w+), scores((?: -?\d+){10}), a (\d)")
    assert sorted(int(m[2]) for m in answers) == list(range(24))
    for answer in answers:
        picture = int(answer[2])
        assert answer[1] == ("left", "right")[picture % 2]
        assert answer[3] == "OK"
        scores = expected_scores(modules, picture)
        assert numbers(answer[4]) == scores
        assert int(answer[5]) == scores.index(max(scores))
    # Neither waits for the other's end, and each keeps its own order.
    makers = [m[1] for m in answers]
    assert makers.index("right") < len(makers) - 1 - makers[::-1].index("left")
    for maker in ("left", "right"):
        mine = [int(m[2]) for m in answers if m[1] == maker]
        assert mine == sorted(mine)
    assert "left: good 12" in report.lines and "right: good 12" in report.lines
    assert "accelerator: inferences 24" in report.lines
    assert "accelerator: errors 0" in report.lines


@pytest.mark.qemu
def test_camera(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    report = watch("camera", tmp_path)
    assert report.passed
    frames = found(report, r"frame (\d+): (\w+) after (\d+) us(?:, scores((?: -?\d+){10}))?")
    assert [int(m[1]) for m in frames] == list(range(60))
    for frame in frames:
        number, outcome, latency = int(frame[1]), frame[2], int(frame[3])
        expected = "met" if latency <= 4000 else "missed"
        if outcome == "dropped":
            assert latency >= 10_000 and frame[4] is None
        else:
            assert outcome == expected
            assert numbers(frame[4]) == expected_scores(modules, number % 16)
    summary = {m[1]: int(m[2]) for m in found(report, r"([a-z, ]+?)(?: in us)?: (\d+)")}
    outcomes = [m[2] for m in frames]
    for outcome in ("met", "missed", "dropped"):
        assert summary[outcome] == outcomes.count(outcome) > 0
    assert (summary["frames"], summary["failed"]) == (60, 0)
    latencies = [int(m[3]) for m in frames if m[2] != "dropped"]
    assert summary["latency, smallest"] == min(latencies)
    assert summary["latency, largest"] == max(latencies)
    assert abs(summary["latency, mean"] - sum(latencies) / len(latencies)) <= 1
    # Undisturbed pictures take the same time each.
    assert outcomes.count("met") > 40
    assert sorted(latencies)[len(latencies) // 2] < min(latencies) + 50


def check_scene(modules: dict[str, ModuleType], line: re.Match[str]) -> None:
    locate = modules["locate"]
    heat, place, scores = locate.cascade(locate.scenes()[int(line[1])])
    assert int(line[2], 16) == zlib.crc32(heat.tobytes())
    assert (int(line[3]), int(line[4])) == place
    assert numbers(line[5]) == scores.tolist()
    assert int(line[6]) == int(scores.argmax())


SCENE = r"scene (\d+): OK, heat 0x(\w{8}), at (\d) (\d), scores((?: -?\d+){10}), a (\d)"


@pytest.mark.qemu
@pytest.mark.parametrize(
    ("board", "counts"),
    [("mps2-an385", {"dla0": 24}), ("mps3-an547-dual", {"dla0": 12, "dla1": 12})],
)
def test_cascade(
    modules: dict[str, ModuleType], tmp_path: Path, board: str, counts: dict[str, int]
) -> None:
    report = watch("cascade", tmp_path, board)
    assert report.passed
    scenes = found(report, SCENE)
    assert [int(m[1]) for m in scenes] == list(range(12))
    for scene in scenes:
        check_scene(modules, scene)
    assert "scenes read: 12" in report.lines
    for name, count in counts.items():
        assert f"{name}: inferences {count}, errors 0" in report.lines


@pytest.mark.qemu
def test_cascade_goes_on_after_a_failure(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    """A lost interrupt of the first model: its scene fails, nobody hangs, the rest is right."""
    report = watch("cascade", tmp_path, faults=("irq-lost:1",))
    failed = found(report, r"scene (\d+): (CANCELLED|TIMEOUT|DEPENDENCY)")
    scenes = found(report, SCENE)
    assert len(failed) == 1
    assert sorted(int(m[1]) for m in (*failed, *scenes)) == list(range(12))
    for scene in scenes:
        check_scene(modules, scene)
    assert "scenes read: 11" in report.lines


def test_an_example_builds_from_a_copy(tmp_path: Path) -> None:
    """Nothing but the example's own folder and the model beside it is needed."""
    for folder in ("camera", "digits"):
        shutil.copytree(
            EXAMPLES / folder, tmp_path / folder, ignore=shutil.ignore_patterns("build")
        )
    assert build_project(tmp_path / "camera").changed
