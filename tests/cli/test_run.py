"""fwgen run when something goes wrong around it, with a debugger, and its trace."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from processes import children

from fwgen.accel.registry import family
from fwgen.cli.main import run
from fwgen.program.simulate import Player, RegisterWrite

pytestmark = pytest.mark.qemu

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
FWGEN = [sys.executable, "-m", "fwgen"]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits model; an operation that never completes is waited for a quarter of an hour."""
    folder = tmp_path_factory.mktemp("run") / "build"
    command = ["build", "-q", "-b", "mps2-an385", str(MODEL), "-o", str(folder)]
    assert run([*command, "--jobs", "1", "--timeout-ms", "1000000"]) == 0
    # Builds the emulator if that was not done yet: the time limits below do not cover it.
    assert run(["run", "-q", str(folder)]) == 0
    return folder


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment with a TMPDIR that must be empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    yield {**os.environ, "TMPDIR": str(folder)}
    assert list(folder.iterdir()) == []


def wait_for_emulator(process: subprocess.Popen[str], trace: Path) -> int:
    """Its process id, once the inference has begun."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert process.poll() is None
        # Blocks of the trace reach the file when they are full or the run ends.
        if trace.exists() and (pids := children(process.pid)):
            time.sleep(1.0)
            return pids[0]
        time.sleep(0.05)
    raise AssertionError("no emulator")


def test_emulator_killed(build: Path, temporary: dict[str, str], tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    command = [*FWGEN, "run", str(build), "--fault", "stuck-busy", "--trace", str(trace)]
    with subprocess.Popen(
        command, env=temporary, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        emulator = wait_for_emulator(process, trace)
        os.kill(emulator, signal.SIGKILL)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert out == ""
    assert "QEMU was killed by signal 9 unexpectedly" in err
    assert "Traceback" not in err
    assert not Path(f"/proc/{emulator}").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_run_ended_from_outside(build: Path, tmp_path: Path, number: int, code: int) -> None:
    trace = tmp_path / "trace.txt"
    command = [*FWGEN, "run", str(build), "--fault", "stuck-busy", "--trace", str(trace)]
    with subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        emulator = wait_for_emulator(process, trace)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in err
    end = time.monotonic() + 5
    while Path(f"/proc/{emulator}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{emulator}").exists()


def test_endless_inference(build: Path, temporary: dict[str, str]) -> None:
    command = [*FWGEN, "run", str(build), "--fault", "stuck-busy", "--timeout", "1.5"]
    done = subprocess.run(command, env=temporary, text=True, capture_output=True, timeout=60)
    assert done.returncode == 124
    assert "the firmware did not finish within 1.5 s" in done.stderr
    assert re.search(r"Last lines of the console:\nfwgen .*mps2-an385", done.stderr)
    done = subprocess.run(
        [*command, "--json"], env=temporary, text=True, capture_output=True, timeout=60
    )
    assert done.returncode == 124
    assert json.loads(done.stdout)["exit_code"] == 124


def test_debugger(build: Path, temporary: dict[str, str], tmp_path: Path) -> None:
    """The CPU waits at its first instruction; breakpoints work; then the run goes on."""
    gdb = shutil.which("gdb-multiarch")
    if gdb is None:
        pytest.skip("gdb-multiarch not found")
    socket = tmp_path / "gdb"
    command = [*FWGEN, "run", str(build), "--gdb", f"unix:{socket},server=on,wait=off"]
    with subprocess.Popen(
        command, env=temporary, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        end = time.monotonic() + 30
        while not socket.is_socket():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        steps = [f"target remote {socket}", "info symbol $pc", "break fwgen_execute", "continue"]
        steps += ["delete", "continue"]
        options = [word for step in steps for word in ("-ex", step)]
        done = subprocess.run(
            [gdb, "-nx", "-batch", str(build / "firmware.elf"), *options],
            text=True,
            capture_output=True,
            timeout=60,
        )
        out, err = process.communicate(timeout=30)
    assert "Reset_Handler in section" in done.stdout, done.stderr
    assert "Breakpoint 1, fwgen_execute" in done.stdout
    assert process.returncode == 0
    assert "ran to the end" in out
    assert f"-ex 'target remote {socket}'" in err


def test_debugger_address_in_use(build: Path, tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'no' / 'folder'},server=on,wait=off"
    done = subprocess.run(
        [*FWGEN, "run", str(build), "--gdb", address], text=True, capture_output=True, timeout=60
    )
    assert done.returncode == 5
    assert "Output of QEMU:" in done.stderr and "Traceback" not in done.stderr


def program_words(build: Path) -> list[int]:
    """The program as it lies in the image, from the generated source."""
    (source,) = build.glob("src/model_*_program.c")
    text = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.DOTALL)
    body = re.search(r"fwgen_program_\w+\[\d+\] = \{(.*?)\};", text, re.DOTALL)
    assert body is not None
    return [int(word, 0) for word in re.findall(r"0x[0-9a-f]+(?=u,)", body.group(1))]


def test_trace_has_every_write_in_order(build: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    assert run(["run", "-q", str(build), "--repeat", "3", "--trace", str(trace)]) == 0
    nvdla = family("nvdla")
    times, writes = [], []
    for line in trace.read_text().splitlines():
        match = re.fullmatch(r"(\d+) dla0 ([RW]) 0x([0-9a-f]+) 0x([0-9a-f]{8}) (\S+)", line)
        assert match is not None, line
        time_ns, direction, offset, value, name = match.groups()
        times.append(int(time_ns))
        if name == "SOC.RESET":
            assert int(offset, 16) == 0x50020000
            continue
        assert name == nvdla.register_name(int(offset, 16))
        if direction == "W" and not name.startswith("GLB."):
            writes.append((int(offset, 16), int(value, 16)))
    assert times == sorted(times)
    player = Player()
    words = program_words(build)
    expected = [
        (effect.register, effect.value)
        for _ in range(3)
        for effect in player.run(words)
        if isinstance(effect, RegisterWrite)
    ]
    assert len(expected) > 300
    assert writes == expected


# ---- wrong inputs ----


def wrong_files(folder: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Argument -> what the message must name: the tensor, what came, what was expected."""
    good = np.zeros((1, 1, 8, 8), np.int8)
    shape = ("1x1x8x8",)
    arrays = {
        "shape": (good[:, :, :7], ("1x1x7x8", *shape)),
        "flat": (good.reshape(64), ("64", *shape)),
        "batch": (np.zeros((2, 1, 8, 8), np.int8), ("2x1x8x8", *shape)),
        "empty": (np.zeros((0, 1, 8, 8), np.int8), ("0x1x8x8", *shape)),
        "unsigned": (good.astype(np.uint8), ("uint8", "int8")),
        "float": (good.astype(np.float32), ("float32", "int8")),
        "bool": (good.astype(bool), ("bool", "int8")),
        "record": (np.zeros((1, 1, 8, 8), [("a", np.int8)]), ("int8",)),
    }
    cases = {}
    for name, (array, words) in arrays.items():
        np.save(folder / f"{name}.npy", array)
        cases[f"{name}.npy"] = words
    np.save(folder / "pickle.npy", np.array([{"a": 1}], dtype=object))
    np.savez(folder / "archive.npz", good)
    (folder / "archive.npz").rename(folder / "archive.npy")
    (folder / "text.npy").write_text("1 2 3")
    (folder / "nothing.npy").write_bytes(b"")
    np.save(folder / "cut.npy", good)
    (folder / "cut.npy").write_bytes((folder / "cut.npy").read_bytes()[:-1])
    for name in ("pickle", "archive", "text", "nothing", "cut"):
        cases[f"{name}.npy"] = (".npy",)
    for size in (0, 511, 513):
        (folder / f"size{size}.bin").write_bytes(bytes(size))
        cases[f"size{size}.bin"] = (f"{size} bytes", "512 bytes")
    (folder / "folder.npy").mkdir()
    cases["folder.npy"] = ("a directory is no file",)
    cases["missing.npy"] = ("no such file",)
    images = pytest.importorskip("PIL.Image")
    images.new("L", (8, 9)).save(folder / "size.png")
    cases["size.png"] = ("8x9", "8x8")
    images.new("RGB", (8, 8)).save(folder / "colour.png")
    cases["colour.png"] = ("RGB", "L")
    (folder / "broken.png").write_bytes((folder / "size.png").read_bytes()[:40])
    cases["broken.png"] = ("image",)
    return {name: (f"image={folder / name}", words) for name, words in cases.items()}


def check_refused(
    arguments: list[str], tensor: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one message that names the tensor and has all the words."""
    assert run(arguments) == 2, arguments
    captured = capsys.readouterr()
    assert captured.out == "", arguments
    assert captured.err.count("error: ") == 1 and "bug in fwgen" not in captured.err
    for word in (f"'{tensor}'", *words):
        assert word in captured.err, (word, captured.err)


def test_wrong_input_files(build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argument, words in wrong_files(tmp_path).values():
        check_refused(["run", str(build), "--input", argument], "image", words, capsys)


def test_wrong_expected_files(
    build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong_files(tmp_path)
    for name, words in (
        ("shape.npy", ("1x1x7x8", "1x10x1x1")),
        ("pickle.npy", ("Python objects",)),
        ("size0.bin", ("0 bytes", "16 bytes")),
        ("folder.npy", ("a directory is no file",)),
        ("missing.npy", ("no such file",)),
        ("size.png", ("10 channels",)),
    ):
        argument = f"scores={tmp_path / name}"
        check_refused(["run", str(build), "--expect", argument], "scores", words, capsys)


def test_unknown_tensors(build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(512))
    for name in ("picture", "1", "-1", "Image", "0x0"):
        assert run(["run", str(build), "--input", f"{name}={tmp_path / 'a.bin'}"]) == 2
        text = capsys.readouterr().err
        assert f"'{name}' is no tensor of the model" in text
        assert "image (0)" in text
    file = f"={tmp_path / 'a.bin'}"
    assert run(["run", str(build), "--input", "image" + file, "--input", "0" + file]) == 2
    assert "'image' is given twice" in capsys.readouterr().err
    assert run(["run", str(build), "--input", "image"]) == 2
    assert "is not NAME=FILE" in capsys.readouterr().err
