"""The package as a user gets it: a wheel, an empty environment, an empty directory."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fwgen import __version__

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
    run(*pip, "--wheel-dir", folder, REPOSITORY, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    run(folder / "bin/pip", "install", "--quiet", "--no-compile", wheel, cwd=folder)
    return folder


def test_wheel_carries_the_resources(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "fwgen/py.typed" in names
    for file in (
        "boards/mps2-an385.toml",
        "emulator/include/accel_model.h",
        "rtos/include/fwgen_model.h",
        "examples/digits/digits.nvdla",
    ):
        assert f"fwgen/_data/{file}" in names
    assert any(name.startswith("fwgen/_data/templates/") for name in names)
    assert not any("__pycache__" in name or name.startswith("tests/") for name in names)


def test_wheel_has_a_typed_metadata_and_licence(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
    text = archive.read(metadata).decode()
    assert f"Version: {__version__}" in text
    assert "License-Expression: Apache-2.0" in text
    assert any(n.endswith("licenses/LICENSE") for n in archive.namelist())


def test_works_from_an_empty_directory(environment: Path, tmp_path: Path) -> None:
    fwgen = environment / "bin/fwgen"
    assert run(fwgen, "--version", cwd=tmp_path) == f"fwgen {__version__}\n"
    assert "mps2-an385" in run(fwgen, "boards", "list", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.qemu
def test_builds_and_runs_from_an_empty_directory(environment: Path, tmp_path: Path) -> None:
    """Templates, runtime, boards, emulator and example all come out of the wheel."""
    text = run(environment / "bin/fwgen", "demo", "--images", "2", cwd=tmp_path)
    assert "PASS: 32 output bytes compared" in text
    assert [path.name for path in tmp_path.iterdir()] == ["build"]
