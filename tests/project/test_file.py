"""fwgen.toml: what it says, and every way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fwgen.build.options import BuildKind, BuildOptions
from fwgen.errors import FwgenError, UsageError
from fwgen.project.file import read_project

GOOD = """\
name = "camera"
board = "mps2-an385"

[[model]]
file = "models/a.nvdla"

[app]
sources = ["src/*.c", "lib/extra.c"]
include = ["include"]
defines = ["FRAMES=8"]

[build]
test = true
task_priority = 4
link = false
names = false
all_writes = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "models/a.nvdla",
        "src/main.c",
        "src/camera.c",
        "src/camera.h",
        "lib/extra.c",
        "include/deep/extra.h",
        "include/table.inc",
        "build/mps2-an385/app/src/old.c",
        "notes.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("/* text */\n")
    (tmp_path / "fwgen.toml").write_text(GOOD)
    return tmp_path


def test_everything_that_can_be_said(folder: Path) -> None:
    project = read_project(folder)
    assert project.name == "camera"
    assert project.board == "mps2-an385"
    assert project.models == (folder / "models" / "a.nvdla",)
    assert project.directory("mps2-an385") == folder / "build" / "mps2-an385"
    options = project.options
    assert options.kind is BuildKind.TEST
    assert (options.task_priority, options.link, options.with_shell) == (4, False, False)
    assert (options.operation_names, options.optimise_program) == (False, False)
    app = options.app
    assert app is not None
    assert app.sources == ("src/camera.c", "src/main.c", "lib/extra.c")
    assert app.includes == ("src", "lib", "include")
    assert set(app.headers) == {"src/camera.h", "include/deep/extra.h", "include/table.inc"}
    assert app.defines == ("FRAMES=8",)


def test_the_least_that_can_be_said(folder: Path) -> None:
    (folder / "fwgen.toml").write_text('board = "b"\n[[model]]\nfile = "models/a.nvdla"\n')
    project = read_project(folder)
    assert project.name == folder.name
    assert project.options == BuildOptions()


def test_several_models(folder: Path) -> None:
    (folder / "models" / "b.nvdla").write_text("")
    (folder / "fwgen.toml").write_text(
        """\
board = "mps3-an547-dual"
model = [{ file = "models/b.nvdla" }, { file = "models/a.nvdla", accelerator = "dla1" }]
build = { exclusive = [["a", "b"]], queue_length = 3, pipeline = 2 }
"""
    )
    project = read_project(folder)
    assert [path.name for path in project.models] == ["b.nvdla", "a.nvdla"]
    options = project.options
    assert options.accelerators == (("a", "dla1"),)
    assert options.exclusive == (("a", "b"),)
    assert (options.queue_length, options.pipeline_depth) == (3, 2)


def test_what_was_built_is_no_source(folder: Path) -> None:
    (folder / "fwgen.toml").write_text(GOOD.replace('"src/*.c"', '"**/*.c"'))
    app = read_project(folder).options.app
    assert app is not None
    assert app.sources == ("lib/extra.c", "src/camera.c", "src/main.c")


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("name =", "nam =", 1, "unknown key 'nam'"),
        ('"camera"', '"my camera"', 1, "bad value 'my camera'"),
        ('board = "mps2-an385"\n', "", 1, "'board' is missing"),
        ('"mps2-an385"', "5", 2, "bad value 5"),
        ('"mps2-an385"', '"boards/none.toml"', 2, "no such board profile"),
        ("[[model]]", "[model]", 4, "not an array of tables"),
        ('file = "models/a.nvdla"', 'path = "models/a.nvdla"', 5, "unknown key 'path'"),
        ("models/a.nvdla", "models/b.nvdla", 5, "no such model"),
        ('file = "models/a.nvdla"', 'file = "models"', 5, "no such model"),
        ('sources = ["src/*.c", "lib/extra.c"]', "sources = []", 8, "'app.sources'"),
        ('sources = ["src/*.c"', "sources = [7", 8, "app.sources"),
        ("src/*.c", "source/*.c", 8, "matches no file"),
        ("src/*.c", "src/*", 8, "is no source"),
        ("src/*.c", "../*.c", 8, "leaves the project"),
        ("src/*.c", "/etc/*.c", 8, "leaves the project"),
        ('["include"]', '["includes"]', 9, "no such folder"),
        ('["include"]', '[".."]', 9, "leaves the project"),
        ("FRAMES=8", "FRAMES 8", 7, "no definition"),
        ("task_priority = 4", "task_prio = 4", 14, "unknown key 'task_prio' in [build]"),
        ("task_priority = 4", "task_priority = 0", 14, "task_priority"),
        ("task_priority = 4", 'task_priority = "4"', 14, "task_priority"),
        ("task_priority = 4", "task_priority = 99999999999999", 14, "task_priority"),
        ("task_priority = 4", 'idle = "sleep"', 14, "not known for 'build.idle'"),
        ("test = true", "test = 1", 13, "build.test"),
        ("test = true", 'exclusive = [["a", "b"]]', 13, "there is no model 'b'"),
        ("test = true", 'exclusive = ["a"]', 13, "build.exclusive"),
        ("test = true", "pipeline = 3", 13, "build.pipeline"),
        ("[build]", "[build", 12, "not valid TOML"),
    ],
)
def test_mistakes_are_shown_with_their_line(
    folder: Path, old: str, new: str, line: int, part: str
) -> None:
    assert old in GOOD
    file = folder / "fwgen.toml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        read_project(folder)
    assert part in caught.value.message
    assert (caught.value.where or "").startswith(f"{file}:{line}"), caught.value.where


def test_the_nearest_key_is_named(folder: Path) -> None:
    (folder / "fwgen.toml").write_text(GOOD.replace("task_priority", "task_prioritty"))
    with pytest.raises(UsageError) as caught:
        read_project(folder)
    assert caught.value.expected == "'task_priority'"


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no project here"):
        read_project(tmp_path)


def test_without_a_model(folder: Path) -> None:
    (folder / "fwgen.toml").write_text('board = "mps2-an385"\nmodel = []\n')
    with pytest.raises(UsageError, match="has no model"):
        read_project(folder)


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, len(GOOD) - 1), st.sampled_from(list('"[]{}=#.\n0x\0é/*')), st.booleans())
def test_damaged_files_never_crash(folder: Path, at: int, text: str, replaces: bool) -> None:
    damaged = GOOD[:at] + text + GOOD[at + replaces :]
    (folder / "fwgen.toml").write_text(damaged)
    try:
        read_project(folder)
    except FwgenError as error:
        assert error.where
