"""The user's own sources in a build."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from fwgen.board.types import Board
from fwgen.build.application import Application
from fwgen.build.firmware import build, up_to_date
from fwgen.build.options import BuildOptions
from fwgen.codegen.context import ModelPlan
from fwgen.errors import TaskError, UsageError

SOURCE = """\
#include "deep/helper.h"
#include "fwgen_app.h"

const int application_mark = HELPER + MARK;

static void application_task(void *argument)
{
    (void)*(const volatile int *)&application_mark;
    (void)argument;
}

void (*volatile application_entry)(void *);

void fwgen_app_start(void)
{
    application_entry = application_task;
}
"""


@pytest.fixture
def app(tmp_path: Path) -> Application:
    root = tmp_path / "source"
    (root / "src").mkdir(parents=True)
    (root / "include" / "deep").mkdir(parents=True)
    (root / "src" / "app.c").write_text(SOURCE)
    (root / "include" / "deep" / "helper.h").write_text("#define HELPER 40\n")
    return Application(
        root,
        ("src/app.c",),
        ("include/deep/helper.h",),
        ("src", "include"),
        ("MARK=2",),
        ("application_task",),
    )


def plan_of(tiny: ModuleType, board: Board) -> ModelPlan:
    made = tiny.tiny_plan(board)
    assert isinstance(made, ModelPlan)
    return made


def test_sources_join_the_image(
    tmp_path: Path, app: Application, tiny: ModuleType, board: Board, kernel: object
) -> None:
    plan = plan_of(tiny, board)
    out = tmp_path / "out"
    options = BuildOptions(app=app, link=False)
    result = build(plan.program, plan.layout, board, out, options)
    tasks = {task["entry"] for task in result.size()["stack"]["tasks"]}  # type: ignore[index,call-overload]
    assert "application_task" in tasks
    assert result.changed
    assert (out / "app" / "src" / "app.c").read_text() == SOURCE
    symbols = (out / "firmware.map").read_text()
    assert "application_mark" in symbols and "link_task" not in symbols
    models = [plan.program.model_sha256]
    assert up_to_date(out, models, board, options) is not None
    text = (app.root / "include" / "deep" / "helper.h").read_text()
    (app.root / "include" / "deep" / "helper.h").write_text(text + "/* changed */\n")
    assert up_to_date(out, models, board, options) is None


def test_a_mistake_is_shown_in_the_users_file(
    tmp_path: Path, app: Application, tiny: ModuleType, board: Board, kernel: object
) -> None:
    plan = plan_of(tiny, board)
    file = app.root / "src" / "app.c"
    file.write_text(SOURCE + "int wrong = ;\n")
    with pytest.raises(TaskError) as caught:
        build(plan.program, plan.layout, board, tmp_path / "out", BuildOptions(app=app))
    assert (caught.value.where or "").startswith(f"{file}:{SOURCE.count(chr(10)) + 1}:")
    assert not (tmp_path / "out" / "firmware.elf").exists()


def test_a_task_that_does_not_exist(
    tmp_path: Path, app: Application, tiny: ModuleType, board: Board, kernel: object
) -> None:
    plan = plan_of(tiny, board)
    options = BuildOptions(app=replace(app, tasks=("other_task",)))
    with pytest.raises(TaskError, match="no function other_task"):
        build(plan.program, plan.layout, board, tmp_path / "out", options)


def test_recursion_in_a_task(
    tmp_path: Path, app: Application, tiny: ModuleType, board: Board, kernel: object
) -> None:
    plan = plan_of(tiny, board)
    source = SOURCE.replace(
        "    (void)argument;\n",
        "    if (argument) {\n        application_task((char *)argument - 1);\n"
        "        application_entry = 0;\n    }\n",
    ).replace(
        "static void application_task",
        """void (*volatile application_entry)(void *);
__attribute__((noinline)) static void application_task""",
        1,
    )
    (app.root / "src" / "app.c").write_text(source)
    with pytest.raises(TaskError, match="application_task"):
        build(plan.program, plan.layout, board, tmp_path / "out", BuildOptions(app=app))


def test_made_from_files(tmp_path: Path) -> None:
    for name in ("a/one.c", "a/one.h", "b/two.c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("/* text */\n")
    made = Application.of(tmp_path / "a" / "one.c", tmp_path / "b" / "two.c")
    assert made.root == tmp_path
    assert made.sources == ("a/one.c", "b/two.c")
    assert made.headers == ("a/one.h",)
    assert made.includes == ("a", "b")
    assert sorted(made.contents()) == ["app/a/one.c", "app/a/one.h", "app/b/two.c"]
    before = made.digest()
    (tmp_path / "a" / "one.h").write_text("/* other */\n")
    assert made.digest() != before


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"sources": ("src/none.c",)}, "cannot read"),
        ({"sources": ("../x.c",)}, "cannot be the name"),
        ({"sources": ("src/a b.c",)}, "cannot be the name"),
        ({"sources": ("src/app.py",)}, "no source file"),
        ({"sources": ("src/app.c", "src/app.S")}, "same object"),
        ({"tasks": ("a b",)}, "no name of a function"),
        ({"defines": ("1X",)}, "no definition"),
        ({"defines": ('X="a"',)}, "no definition"),
    ],
)
def test_what_is_refused(app: Application, change: dict[str, object], part: str) -> None:
    (app.root / "src" / "app.S").write_text("")
    with pytest.raises(UsageError, match=part):
        replace(app, **change).contents()  # type: ignore[arg-type]


def test_no_file_at_all() -> None:
    with pytest.raises(UsageError, match="needs a source"):
        Application.of()
