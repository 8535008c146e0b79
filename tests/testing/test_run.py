"""fwgen test on emulated boards: the example passes, and everything that is wrong fails.

Expected bytes are those of the digits example's NumPy reference, or of the CPU's kernels.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from junit_shape import check
from processes import children

from fwgen.cli.main import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FWGEN = [sys.executable, "-m", "fwgen"]

pytestmark = pytest.mark.qemu


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of examples/ci; tests change its fwgen.toml, and its images stay built."""
    folder = tmp_path_factory.mktemp("ci")
    for name in ("ci", "digits"):
        ignore = shutil.ignore_patterns("build", "__pycache__")
        shutil.copytree(EXAMPLES / name, folder / name, ignore=ignore)
    return folder / "ci"


def write(project: Path, tables: str, **options: str) -> None:
    """Another [test] for the project."""
    original = (EXAMPLES / "ci" / "fwgen.toml").read_text()
    head = original.partition("[test]")[0]
    for old, new in options.items():
        head = head.replace(f"{old} = false", f"{old} = {new}")
    (project / "fwgen.toml").write_text(f"{head}[test]\n{tables}")


def outcome(
    project: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, Any], dict[str, dict[str, Any]]]:
    """Exit code, the whole report and its tests by name."""
    capsys.readouterr()
    code = run(["test", str(project), "--json", *options])
    data = json.loads(capsys.readouterr().out)
    assert data["exit_code"] == code
    return code, data, {test["name"]: test for test in data["tests"]}


def test_the_example(
    project: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both boards, both cases, the fault; every report says the same."""
    shutil.copy(EXAMPLES / "ci" / "fwgen.toml", project)
    step = tmp_path / "step.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    files = ("--junit", str(tmp_path / "out" / "junit.xml"), "--markdown", str(tmp_path / "x.md"))
    code, data, tests = outcome(project, capsys, "--jobs", "2", *files)
    assert code == 0
    assert (data["passed"], data["failed"], data["skipped"]) == (7, 0, 1)
    assert list(tests) == [
        f"{board}/{name}"
        for board in ("mps2-an385", "mps2-an385-cpu")
        for name in ("size", "digits/picture", "digits/noise", "digits/noise+lost-interrupt")
    ]
    # Ten scores in a cube of 16 bytes; of the run with the fault two inferences of three.
    for board in ("mps2-an385", "mps2-an385-cpu"):
        assert tests[f"{board}/digits/picture"]["bytes_compared"] == 16
        assert tests[f"{board}/digits/noise"]["bytes_compared"] == 48
    assert tests["mps2-an385/digits/noise+lost-interrupt"]["bytes_compared"] == 32
    assert data["bytes_compared"] == 160
    assert "cycles" not in tests["mps2-an385-cpu/digits/noise"]
    root = check((tmp_path / "out" / "junit.xml").read_text())
    assert [c.get("name") for c in root[0]][1] == "digits/picture"
    page = (tmp_path / "x.md").read_text()
    assert step.read_text() == "before\n" + page
    assert "7 passed, 1 skipped; 160 bytes compared" in page
    assert (
        json.loads((project / "build" / ".fwgen" / "last.json").read_text())["images"][
            "mps2-an385"
        ]["flash"]
        == tests["mps2-an385/size"]["flash"]
    )


WRONG = """
[[test.case]]
name = "wrong"
inputs = { image = "six.npy" }
reference = "wrong.py:off_by_one"

[[test.case]]
name = "silent"
inputs = { image = "six.npy" }
reference = "wrong.py:zeros"

[[test.case]]
name = "broken"
inputs = { image = "six.npy" }
reference = "wrong.py:broken"

[[test.case]]
name = "shape"
inputs = { image = "six.npy" }
reference = "wrong.py:shape"

[[test.case]]
name = "no-input"
reference = "expected.py:scores"

[[test.case]]
name = "slow"
inputs = { image = "six.npy" }
reference = "wrong.py:slow"
timeout = 6

[[test.case]]
name = "right"
inputs = { image = "random:5" }
reference = "cpu"
runs = 2

[[test.budget]]
cycles = 11_140

[[test.fault]]
name = "no-effect"
spec = ["irq-lost:500"]
expect = "recovers"
cases = ["right"]

[[test.fault]]
name = "harm"
spec = ["irq-lost:3"]
expect = "harmless"
cases = ["right"]
timeout_ms = 20

[[test.fault]]
name = "other"
spec = ["irq-lost:3"]
expect = "device"
cases = ["right"]
timeout_ms = 20

[[test.fault]]
name = "for-ever"
spec = ["stuck-busy:*"]
expect = "recovers"
cases = ["right"]
timeout_ms = 20

[[test.fault]]
name = "flipped"
spec = ["bit-flip:7:8"]
expect = "differs"
cases = ["right"]

[[test.fault]]
name = "unnoticed"
spec = ["bit-flip:7:8"]
expect = "recovers"
cases = ["right"]

[[test.fault]]
name = "twice"
spec = ["irq-twice:*"]
expect = "harmless"
cases = ["right"]
"""
WRONG_PY = """
import time
import numpy as np
from expected import scores

def off_by_one(image):
    print("this is no part of the report")
    return scores(image) + np.int8(1)

def zeros(image):
    return np.zeros(10, np.int8)

def broken(image):
    raise RuntimeError("on purpose")

def shape(image):
    return np.ones(9, np.int8)

def slow(image):
    time.sleep(60)
"""
MESSAGES = {
    "wrong": (1, "run 0: 10 of 16 bytes of scores differ"),
    "silent": (1, "the expected outputs are zero in every byte"),
    "broken": (1, "the reference failed"),
    "shape": (2, "has shape 9"),
    "no-input": (2, "no value for the input 'image'"),
    "slow": (124, "did not return within 6 s"),
    "right": (1, "11141 cycles are 1 more than the budget of 11140"),
    "right+no-effect": (1, "no inference failed: the fault had no effect"),
    "right+harm": (1, "the fault did harm"),
    "right+other": (1, "ended with status timeout, where device was expected"),
    "right+for-ever": (1, "the last inference failed too"),
    "right+unnoticed": (1, "run 0 gave wrong bytes and no error"),
}


def test_what_is_wrong_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, WRONG)
    (project / "wrong.py").write_text(WRONG_PY)
    code, data, tests = outcome(project, capsys, "--jobs", "3")
    assert code == 1
    for name, (kind, message) in MESSAGES.items():
        test = tests[f"mps2-an385/digits/{name}"]
        assert test["verdict"] == "failed", name
        assert message in test["message"], (name, test["message"])
        assert test["exit_code"] == kind, name
    assert any("on purpose" in line for line in tests["mps2-an385/digits/broken"]["details"])
    assert len(tests["mps2-an385/digits/wrong"]["details"]) == 8
    passed = [name for name, test in tests.items() if test["verdict"] == "passed"]
    assert passed == [
        "mps2-an385/size",
        "mps2-an385/digits/right+flipped",
        "mps2-an385/digits/right+twice",
    ]
    assert data["failed"] == len(MESSAGES)


def test_one_kind_of_failure_gives_its_code(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, WRONG)
    (project / "wrong.py").write_text(WRONG_PY)
    assert outcome(project, capsys, "-k", "shape or no-input")[0] == 2
    assert outcome(project, capsys, "-k", "twice", "--timeout", "0.01")[0] == 124


def test_a_byte_over_budget(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The image with names of operations is larger; the report says by what."""
    case = '[[test.case]]\nname = "a"\ninputs = { image = "zeros" }\nreference = "cpu"\n'
    budget = "[[test.budget]]\nflash = {}\n"
    baseline = 'baseline = "sizes.json"\n'
    write(project, baseline + case)
    _, _, tests = outcome(project, capsys, "-k", "size", "--update-baseline")
    small = tests["mps2-an385/size"]
    assert (
        json.loads((project / "sizes.json").read_text())["images"]["mps2-an385"]["flash"]
        == (small["flash"])
    )
    write(project, baseline + case + budget.format(small["flash"]))
    assert outcome(project, capsys, "-k", "size")[0] == 0
    write(project, baseline + case + budget.format(small["flash"] - 1))
    code, _, tests = outcome(project, capsys, "-k", "size")
    assert code == 4
    assert tests["mps2-an385/size"]["message"] == "flash over budget: 1 bytes of flash"
    write(project, baseline + case + budget.format(small["flash"]), names="true")
    code, _, tests = outcome(project, capsys, "-k", "size")
    assert code == 4
    (over,) = tests["mps2-an385/size"]["over_budget"]
    assert over["before"] == over["budget"] == small["flash"]
    assert sum(over["changes"].values()) == over["used"] - small["flash"] > 0
    # What was too large is not what the next run is compared with.
    last = json.loads((project / "build" / ".fwgen" / "last.json").read_text())
    assert last["images"]["mps2-an385"]["flash"] == small["flash"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(project: Path, tmp_path: Path, number: int, code: int) -> None:
    """Every emulator ends; what was done and what was not is in the report."""
    endless = "".join(
        f'[[test.case]]\nname = "{name}"\ninputs = {{ image = "six.npy" }}\n'
        f'expect = {{ scores = "scores.npy" }}\nruns = {runs}\n'
        for name, runs in (("first", 1), ("a", 100_000), ("b", 100_000), ("c", 100_000))
    )
    write(project, "timeout = 600\n" + endless)
    script = (
        "import numpy as np; from expected import scores;"
        "np.save('scores.npy', scores(np.load('six.npy').reshape(1, 1, 8, 8)).reshape(10, 1, 1))"
    )
    subprocess.run([sys.executable, "-c", script], cwd=project, check=True)
    junit = tmp_path / "junit.xml"
    command = [*FWGEN, "test", str(project), "--jobs", "2", "--junit", str(junit)]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            # The second line says that the first case has passed: the endless ones run.
            lines = [process.stdout.readline(), process.stdout.readline()]
            end = time.monotonic() + 60
            while len(children(process.pid)) < 2 and time.monotonic() < end:
                time.sleep(0.05)
            emulators = children(process.pid)
            assert len(emulators) == 2
            process.send_signal(number)
            output, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == code, errors
    assert not any(Path(f"/proc/{pid}").exists() for pid in emulators)
    assert list((tmp_path / "temporary").iterdir()) == []
    assert "Traceback" not in errors
    if number == signal.SIGINT:
        assert "first: 16 bytes compared" in lines[1]
        assert output.splitlines()[-1] == (
            "FAIL: interrupted after 2 of 5 tests: 2 passed, 3 not run; 16 bytes compared"
        )
        root = check(junit.read_text())
        assert (root.get("tests"), root.get("skipped")) == ("5", "3")
