"""Whole builds of a small program with the real compiler and kernel."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import fwgen.build.project as project
from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.application import Application
from fwgen.build.firmware import build, plan_options, up_to_date
from fwgen.build.freertos import Kernel
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.codegen.context import ModelPlan, ProjectContext
from fwgen.errors import FitError, TaskError, UsageError

REPORTS = {
    "firmware.elf",
    "firmware.bin",
    "firmware.hex",
    "firmware.map",
    "compile_commands.json",
    "memory_map.json",
    "operations.json",
    "size.json",
    "build_info.json",
}


@pytest.fixture(scope="module")
def plan(tiny: ModuleType, board: Board) -> ModelPlan:
    made: ModelPlan = tiny.tiny_plan(board)
    return made


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory, plan: ModelPlan, board: Board, kernel: Kernel
) -> Path:
    """A finished project that tests only look at."""
    directory = tmp_path_factory.mktemp("built") / "project"
    assert build(plan.program, plan.layout, board, directory).changed
    return directory


def snapshot(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(directory)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_artefacts(built: Path, board: Board) -> None:
    assert {path.name for path in built.iterdir()} >= REPORTS
    info = json.loads((built / "build_info.json").read_text())
    assert info["board"] == "mps2-an385"
    assert len(info["build_id"]) == 32
    assert bytes.fromhex(info["build_id"]) in (built / "firmware.elf").read_bytes()
    size = json.loads((built / "size.json").read_text())
    names = {component["name"] for component in size["components"]}
    assert {"kernel", "startup", "driver + executor", "program", "weights"} <= names
    assert all(region["used"] <= region["size"] for region in size["regions"])
    assert size["stack"]["unresolved"] == []
    assert {task["entry"] for task in size["stack"]["tasks"]} >= {"engine_task", "link_task"}
    # Constants lie at their planned place in the flat binary.
    weights = next(
        buffer
        for buffer in json.loads((built / "memory_map.json").read_text())["buffers"]
        if buffer["name"] == "weights"
    )
    image = (built / "firmware.bin").read_bytes()
    start = weights["address"] - board.code.base
    assert image[start : start + 100] == bytes(range(100))


def test_a_second_build_does_nothing(built: Path, plan: ModelPlan, board: Board) -> None:
    before = snapshot(built)
    start = time.monotonic()
    result = build(plan.program, plan.layout, board, built)
    assert time.monotonic() - start < 2.0
    assert not result.changed
    assert snapshot(built) == before


def test_the_question_before_lowering(built: Path, plan: ModelPlan, board: Board) -> None:
    models = [plan.program.model_sha256]
    assert up_to_date(built, models, board, BuildOptions()) is not None
    assert up_to_date(built, ["0" * 64], board, BuildOptions()) is None
    assert up_to_date(built, models, board, BuildOptions(shell=False)) is None
    assert up_to_date(built, models, replace(board, idle="wfe"), BuildOptions()) is None
    assert up_to_date(built / "nowhere", models, board, BuildOptions()) is None


def test_same_bytes_in_another_folder(
    built: Path, tmp_path: Path, plan: ModelPlan, board: Board
) -> None:
    other = tmp_path / "an other" / "$HOME (1)"
    build(plan.program, plan.layout, board, other)
    for name in sorted(REPORTS - {"compile_commands.json"}):
        assert (built / name).read_bytes() == (other / name).read_bytes(), name
    elf = (other / "firmware.elf").read_bytes()
    assert str(tmp_path).encode() not in elf


def test_other_options_in_the_same_folder(
    built: Path, tmp_path: Path, plan: ModelPlan, board: Board
) -> None:
    """Everything that includes a changed header is compiled again, the kernel too."""
    other = tmp_path / "project"
    options = BuildOptions(tick_hz=250, max_priorities=6, shell=False)
    build(plan.program, plan.layout, board, other, options)
    assert (built / "firmware.elf").read_bytes() != (other / "firmware.elf").read_bytes()
    build(plan.program, plan.layout, board, other)
    assert (built / "firmware.elf").read_bytes() == (other / "firmware.elf").read_bytes()


def test_scons_alone_finds_nothing_to_do(built: Path) -> None:
    import subprocess
    import sys

    # With the same compiler; its path is part of the command lines.
    commands = json.loads((built / "compile_commands.json").read_text())
    prefix = commands[0]["command"].split()[0].removesuffix("gcc")
    done = subprocess.run(
        [sys.executable, "-m", "SCons", "-Q", "-q", f"CROSS={prefix}", "firmware.elf"],
        cwd=built,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def scratch(
    tmp_path_factory: pytest.TempPathFactory, plan: ModelPlan, board: Board, kernel: Kernel
) -> Iterator[Path]:
    """One project that tests break on purpose; SCons compiles only what they change."""
    directory = tmp_path_factory.mktemp("scratch") / "project"
    build(plan.program, plan.layout, board, directory)
    yield directory
    shutil.rmtree(directory)


def plant(monkeypatch: pytest.MonkeyPatch, before: str, inside: str) -> None:
    """Put code into the application's main()."""
    real = project.project_files

    def with_plant(
        context: ProjectContext, kernel: Kernel, app: Application | None = None
    ) -> dict[str, bytes]:
        files = real(context, kernel, app)
        text = files["rtos/app/main.c"].decode()
        head = "__attribute__((weak)) int main(void)\n{\n"
        assert head in text
        text = text.replace(head, f"{before}\n{head}{inside}\n")
        files["rtos/app/main.c"] = text.encode()
        return files

    monkeypatch.setattr(project, "project_files", with_plant)
    monkeypatch.setattr(project, "up_to_date", lambda *_args, **_names: None)


PLANTS = [
    (
        "#include <stdlib.h>\nvoid *volatile leak;",
        "leak = malloc(4);",
        "uses the heap",
    ),
    (
        "#include <stdlib.h>\nvoid *volatile leak; char pool[64];\n"
        "void *_sbrk(int n); void *_sbrk(int n) { (void)n; return pool; }",
        "leak = malloc(4);",
        "uses the heap",
    ),
    (
        "volatile int depth;\nint dive(int n);\n"
        "__attribute__((noinline)) int dive(int n) { depth = n; "
        "return n ? dive(n - 1) + depth : 0; }",
        "depth = dive(3);",
        "recursion: dive -> dive",
    ),
    ("", "this is no C;", "does not compile"),
    ("int narrow(long long x);\nint narrow(long long x) { return x; }", "", "does not compile"),
    ("extern int absent;", "absent = 1;", "undefined absent"),
    (
        '__attribute__((section(".odd"), used)) volatile int odd = 1;',
        "odd = 2;",
        r"sections without a place: \.odd",
    ),
    (
        "volatile char sink;\nvoid hungry(int n);\n__attribute__((noinline)) void hungry(int n)"
        "{ volatile char big[3000]; big[n] = 1; sink = big[n + 1]; }",
        "hungry(3);",
        "main stack is too small",
    ),
]


@pytest.mark.parametrize(("before", "inside", "message"), PLANTS, ids=[p[2] for p in PLANTS])
def test_rules_of_the_image(
    scratch: Path,
    plan: ModelPlan,
    board: Board,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    inside: str,
    message: str,
) -> None:
    plant(monkeypatch, before, inside)
    with pytest.raises(TaskError, match=message):
        build(plan.program, plan.layout, board, scratch)
    left = {path.name for path in scratch.iterdir()}
    assert not left & (REPORTS - {"compile_commands.json"}), "an image was left behind"


def test_it_recovers_after_a_failure(scratch: Path, plan: ModelPlan, board: Board) -> None:
    assert build(plan.program, plan.layout, board, scratch).changed
    assert {path.name for path in scratch.iterdir()} >= REPORTS


def test_a_damaged_artefact_is_made_again(scratch: Path, plan: ModelPlan, board: Board) -> None:
    good = (scratch / "firmware.bin").read_bytes()
    (scratch / "firmware.bin").write_bytes(b"short")
    assert build(plan.program, plan.layout, board, scratch).changed
    assert (scratch / "firmware.bin").read_bytes() == good


def test_a_changed_source_is_written_again(scratch: Path, plan: ModelPlan, board: Board) -> None:
    (scratch / "src" / "board.c").write_text("int edited;\n")
    assert build(plan.program, plan.layout, board, scratch).changed
    assert "edited" not in (scratch / "src" / "board.c").read_text()


def test_one_byte_too_many(
    scratch: Path, tiny: ModuleType, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = tuple(
        replace(memory, use=("data",)) if memory.name == "ssram23" else memory
        for memory in board.memories
    )
    roomy = replace(board, memories=memories)
    made = tiny.tiny_plan(roomy)
    build(made.program, made.layout, roomy, scratch)
    sections = json.loads((scratch / "memory_map.json").read_text())["sections"]
    data = board.data
    need = max(
        s["address"] + s["size"] - data.base
        for s in sections
        if data.base <= s["address"] < data.end
    )

    def with_size(size: int) -> Board:
        changed = tuple(
            replace(memory, size=size) if memory.name == "ssram23" else memory
            for memory in memories
        )
        return replace(board, memories=changed)

    assert build(made.program, made.layout, with_size(need), scratch).changed
    with pytest.raises(FitError, match="need 1 bytes more than ssram23 has left") as caught:
        build(made.program, made.layout, with_size(need - 1), scratch)
    assert any("Largest symbols" in hint for hint in caught.value.hints)
    assert not (scratch / "firmware.elf").exists()


def test_a_file_where_the_folder_should_be(
    tmp_path: Path, plan: ModelPlan, board: Board, kernel: Kernel
) -> None:
    (tmp_path / "p").write_text("mine")
    with pytest.raises(UsageError, match="cannot write the project"):
        build(plan.program, plan.layout, board, tmp_path / "p")
    assert (tmp_path / "p").read_text() == "mine"


def test_missing_compiler(
    tmp_path: Path, plan: ModelPlan, board: Board, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="arm-none-eabi-gcc not found"):
        build(plan.program, plan.layout, board, tmp_path / "p", BuildOptions(freertos=kernel.root))
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mps3-an547", BuildKind.TEST),
        pytest.param("mps2-an385", BuildKind.TEST, marks=pytest.mark.slow),
        pytest.param("mps2-an386", BuildKind.RELEASE, marks=pytest.mark.slow),
        pytest.param("mps2-an500", BuildKind.TEST, marks=pytest.mark.slow),
        pytest.param("mps3-an547", BuildKind.RELEASE, marks=pytest.mark.slow),
    ],
)
def test_every_core_compiles(
    tmp_path: Path, tiny: ModuleType, kernel: Kernel, name: str, kind: BuildKind
) -> None:
    target = load_board(name)
    options = BuildOptions(kind=kind, shell=kind is BuildKind.TEST)
    made = tiny.tiny_plan(target, plan_options(options))
    result = build(made.program, made.layout, target, tmp_path / "p", options)
    size = result.size()
    assert size["components"]
    assert os.path.getsize(result.elf) > 0
