"""fwgen init: a project whose tests pass, and files for CI systems whose steps run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fwgen.cli.main import run
from fwgen.errors import UsageError
from fwgen.project.file import read_project
from fwgen.project.init import PACKAGES, init_project
from fwgen.testing.plan import make_plan

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
CASCADE = DIGITS.parent / "cascade" / "locate.nvdla"


def names(folder: Path) -> list[str]:
    return [test.name for test in make_plan(read_project(folder)).tests]


def load(folder: Path, name: str) -> dict[Any, Any]:
    data = yaml.safe_load((folder / name).read_text())
    assert isinstance(data, dict)
    return data


def test_the_example_as_a_project(tmp_path: Path) -> None:
    files = init_project(tmp_path / "p")
    found = {p.relative_to(tmp_path / "p").as_posix() for p in (tmp_path / "p").rglob("*")}
    assert set(files) == {f for f in found if (tmp_path / "p" / f).is_file()}
    assert names(tmp_path / "p") == [
        "mps2-an385/size",
        "mps2-an385/application",
        "mps2-an385/digits/picture",
        "mps2-an385/digits/random",
        "mps2-an385/digits/random+lost-interrupt",
    ]


def test_a_model_of_ones_own(tmp_path: Path) -> None:
    init_project(tmp_path / "p", "mps3-an547", CASCADE)
    assert names(tmp_path / "p")[2:] == [
        "mps3-an547/locate/random",
        "mps3-an547/locate/random+lost-interrupt",
    ]
    assert not (tmp_path / "p" / "tests").exists()


def test_a_board_that_no_other_can_judge(tmp_path: Path) -> None:
    """The CPU's kernels are no reference for themselves: the user writes one, and until then
    the test fails."""
    init_project(tmp_path / "p", "mps2-an385-cpu", CASCADE)
    assert names(tmp_path / "p")[2:] == ["mps2-an385-cpu/locate/picture"]
    script = "import expected; expected.expected(1)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path / "p" / "tests",
        capture_output=True,
        text=True,
    )
    assert "NotImplementedError" in done.stderr


def test_into_a_new_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git" / "HEAD").write_text("kept")
    init_project(tmp_path / "a")
    monkeypatch.chdir(tmp_path / "b")
    assert run(["init", "-q"]) == 0
    for name in ("a", "b"):
        assert (tmp_path / name / ".git" / "HEAD").read_text() == "kept"
        assert (tmp_path / name / ".gitlab-ci.yml").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine").write_text("mine")
    with pytest.raises(UsageError, match="something already"):
        init_project(tmp_path / "used")
    assert run(["init", str(tmp_path / "new"), "--board", "vim3l"]) == 2
    assert "not emulated" in capsys.readouterr().err
    assert run(["init", str(tmp_path / "new"), "--board", "mps3-an547-nv-large"]) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["used"]


def github_steps(folder: Path) -> list[dict[str, Any]]:
    data = load(folder, ".github/workflows/firmware.yml")
    # YAML 1.1 reads the key `on` as a truth value.
    assert set(data) == {"name", True, "jobs"}
    (job,) = data["jobs"].values()
    assert job["container"] == "debian:12"
    steps: list[dict[str, Any]] = job["steps"]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    return steps


def test_github_file(tmp_path: Path) -> None:
    init_project(tmp_path / "p")
    steps = github_steps(tmp_path / "p")
    (upload,) = [s for s in steps if s.get("uses", "").startswith("actions/upload-artifact")]
    # Reports matter most when a test has failed.
    assert upload["if"] == "always()"
    assert "fwgen-report.xml" in upload["with"]["path"].split()


def test_gitlab_file(tmp_path: Path) -> None:
    init_project(tmp_path / "p")
    (job,) = load(tmp_path / "p", ".gitlab-ci.yml").values()
    assert set(job) == {
        "image",
        "timeout",
        "variables",
        "cache",
        "before_script",
        "script",
        "artifacts",
    }
    assert job["artifacts"]["reports"] == {"junit": "fwgen-report.xml"}
    assert job["artifacts"]["when"] == "always"
    assert all(isinstance(line, str) for line in (*job["before_script"], *job["script"]))


def test_packages_are_those_of_the_distribution() -> None:
    if shutil.which("apt-cache") is None:
        pytest.skip("apt-cache is not installed")
    done = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True, check=True)
    known = set(done.stdout.split())
    if "bash" not in known:
        pytest.skip("no lists of packages")
    assert set(PACKAGES) <= known


STUB_APT = """#!/bin/sh
echo "apt-get $*" >>"$STUB_LOG"
"""
# Makes the environment that the steps expect, with the fwgen of this test in it.
STUB_PYTHON = """#!/bin/sh
echo "python3 $*" >>"$STUB_LOG"
[ "$1 $2" = "-m venv" ] || exit 9
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "pip $*" >>"$STUB_LOG"\\n' >"$3/bin/pip"
printf '#!/bin/sh\\nexec "%s" -m fwgen "$@"\\n' "$REAL_PYTHON" >"$3/bin/fwgen"
chmod +x "$3/bin/pip" "$3/bin/fwgen"
"""


@pytest.mark.qemu
def test_the_steps_of_both_systems(tmp_path: Path) -> None:
    """With stand-ins for apt-get and pip, every shell step runs in the written project."""
    project, stubs = tmp_path / "p", tmp_path / "stubs"
    init_project(project)
    stubs.mkdir()
    for name, text in (("apt-get", STUB_APT), ("python3", STUB_PYTHON)):
        (stubs / name).write_text(text)
        (stubs / name).chmod(0o755)
    log = tmp_path / "log"
    environment = {
        **os.environ,
        "PATH": f"{stubs}{os.pathsep}{os.environ['PATH']}",
        "STUB_LOG": str(log),
        "REAL_PYTHON": sys.executable,
        "GITHUB_ENV": str(tmp_path / "env"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }

    def shell(script: str) -> str:
        # As the runners call it.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    output = "".join(shell(step["run"]) for step in github_steps(project) if "run" in step)
    assert output.splitlines()[-1].startswith("PASS: 5 passed; ")
    assert "5 passed" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "env").read_text() == f"FWGEN_CACHE={project}/.fwgen-cache\n"
    report = project / "fwgen-report.xml"
    assert 'tests="5" failures="0"' in report.read_text()
    calls = log.read_text().splitlines()
    assert [call.split()[:2] for call in calls] == [
        ["apt-get", "update"],
        ["apt-get", "install"],
        ["python3", "-m"],
        ["pip", "install"],
    ]
    assert set(PACKAGES) <= set(calls[1].split())

    report.unlink()
    shutil.rmtree(project / ".venv")
    (job,) = load(project, ".gitlab-ci.yml").values()
    output = shell("\n".join((*job["before_script"], *job["script"])))
    assert output.splitlines()[-1].startswith("PASS: 5 passed; ")
    assert report.is_file()
    assert log.read_text().splitlines() == calls * 2
