"""fwgen test where images are not built, on a terminal, and for applications."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fwgen.cli.main import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def unsupported(tmp_path: Path) -> Path:
    """A project whose model is for another configuration than its board's."""
    shutil.copy(EXAMPLES / "digits" / "digits.nvdla", tmp_path)
    (tmp_path / "fwgen.toml").write_text(
        'board = "mps3-an547-nv-large"\n[[model]]\nfile = "digits.nvdla"\n'
        '[[test.case]]\nname = "a"\ninputs = { image = "zeros" }\nexpect = { scores = "x.npy" }\n'
        "runs = 2\n[[test.budget]]\nflash = 1\n"
    )
    (tmp_path / "x.npy").write_bytes(b"")
    return tmp_path


def test_an_image_that_cannot_be_built(
    unsupported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["test", str(unsupported), "--json"]) == 3
    size, case = json.loads(capsys.readouterr().out)["tests"]
    assert (size["verdict"], case["verdict"]) == ("failed", "failed")
    assert "nv_large" in size["message"] + " ".join(size["details"])
    assert case["message"].startswith("the image is not built: ")
    assert not (unsupported / "build" / ".fwgen" / "last.json").exists()


def test_a_terminal_shows_progress_and_a_pipe_only_results(unsupported: Path) -> None:
    command = [sys.executable, "-m", "fwgen", "test", str(unsupported)]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        assert process.stdout is not None
        output = process.stdout.read().decode()
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # the other side is closed
            pass
        os.close(ours)
    assert process.returncode == 3
    assert b"\x1b[" in shown and b"2/2" in shown
    assert b"Traceback" not in shown
    assert "\x1b" not in output
    assert [line.split()[0] for line in output.splitlines() if line[0] != " "] == [
        "FAILED",
        "FAILED",
        "FAIL:",
    ]


@pytest.mark.qemu
def test_an_application(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The camera example ends by itself; its console is what is tested."""
    ignore = shutil.ignore_patterns("build")
    for name in ("camera", "digits"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=ignore)
    file = tmp_path / "camera" / "fwgen.toml"
    texts = {
        "right": '["frame 0: met", "frame 59: "]',
        "order": '["frame 59: ", "frame 0: "]',
        "never": '["frame 0: ", "there is no such text"]',
    }
    file.write_text(
        file.read_text()
        + "\n[test]\n"
        + "".join(f'[[test.case]]\nname = "{n}"\nconsole = {t}\n' for n, t in texts.items())
    )
    assert run(["test", str(tmp_path / "camera"), "--jobs", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "PASSED  mps2-an385/right: 22 bytes compared"
    ended = "is not on the console; the firmware ended with code 0"
    assert lines[2] == f"FAILED  mps2-an385/order: 'frame 0: ' {ended}"
    failed = [line for line in lines if line.startswith("FAILED")]
    assert failed[1] == f"FAILED  mps2-an385/never: 'there is no such text' {ended}"
    assert lines[-1] == "FAIL: 2 passed, 2 failed; 22 bytes compared"
    assert run(["test", str(tmp_path / "camera"), "-k", "size"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "built: 1 passed; nothing was compared"
