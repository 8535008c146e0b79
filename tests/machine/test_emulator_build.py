"""Building the emulator on first use: key, atomicity, errors. The compiler is a script."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fwgen.errors import TaskError, UsageError
from fwgen.machine import emulator_build

CMAKE = """cmake_minimum_required(VERSION 3.18)
project(tiny C)
add_library(fwgen_model SHARED tiny.c)
add_library(fwgen-qemu MODULE tiny.c)
set_target_properties(fwgen-qemu PROPERTIES PREFIX "")
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small source tree in place of the emulator's, and an empty cache."""
    for program in ("cmake", "gcc"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} not found")
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(CMAKE)
    (sources / "tiny.c").write_text("int tiny(void);\nint tiny(void) { return 1; }\n")
    monkeypatch.setattr(emulator_build, "resource_dir", lambda name: sources)
    monkeypatch.setenv("FWGEN_CACHE", str(tmp_path / "cache"))
    return sources


def cached(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in (tmp_path / "cache" / "emulator").iterdir() if p.is_dir())


def test_build_and_rebuild(tiny: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    first = emulator_build.build_emulator(notes.append)
    assert emulator_build.build_emulator(notes.append) == first
    assert len(notes) == 1
    assert (first / "libfwgen_model.so").is_file() and (first / "fwgen-qemu.so").is_file()
    (tiny / "tiny.c").write_text("int tiny(void);\nint tiny(void) { return 2; }\n")
    second = emulator_build.build_emulator(notes.append)
    assert second != first
    assert cached(tmp_path) == sorted([first.name, second.name])  # no temporary is left


def test_compile_error_is_shown_and_leaves_nothing(tiny: Path, tmp_path: Path) -> None:
    (tiny / "tiny.c").write_text("int tiny(void) { return nonsense; }\n")
    with pytest.raises(TaskError) as caught:
        emulator_build.build_emulator()
    assert "tiny.c:1" in caught.value.message and "nonsense" in caught.value.message
    assert cached(tmp_path) == []


def test_missing_tools(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    gcc = shutil.which("gcc")
    monkeypatch.setenv("PATH", str(empty))
    with pytest.raises(UsageError, match="no C compiler") as caught:
        emulator_build.model_library_path()
    assert any("apt-get install gcc" in hint for hint in caught.value.hints)
    assert gcc is not None
    (empty / "gcc").symlink_to(gcc)
    with pytest.raises(UsageError, match="cmake not found"):
        emulator_build.model_library_path()


def test_cache_that_cannot_be_written(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FWGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="cannot write the cache") as caught:
        emulator_build.qemu_module_path()
    assert "FWGEN_CACHE" in caught.value.hints[0]


def test_two_at_the_same_time_build_once(tiny: Path, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom fwgen.machine import emulator_build as b\n"
        f"b.resource_dir = lambda name: Path({str(tiny)!r})\n"
        "notes = []\nb.build_emulator(notes.append)\nprint(len(notes))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    built = [int(process.communicate(timeout=120)[0]) for process in running]
    assert sum(built) == 1
    assert len(cached(tmp_path)) == 1
