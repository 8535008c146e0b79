"""Build, run, size, monitor and demo with real tools: the digits model in QEMU."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fwgen.cli.main import run

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits.nvdla"

pytestmark = pytest.mark.qemu


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits") / "build"
    command = ["build", "--quiet", "--board", "mps2-an385", str(MODEL), "-o", str(folder)]
    assert run([*command, "--jobs", "1"]) == 0
    return folder


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    with np.load(DIGITS / "tests.npz") as stored:
        return stored["images"][0]


@pytest.fixture(scope="module")
def scores(image: np.ndarray) -> np.ndarray:
    """The reference's output for the image."""
    code = (
        "import sys, numpy as np, network, reference;"
        "s = reference.infer(network.load_tests()[0][0], network.load_layers());"
        "sys.stdout.buffer.write(s.tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=DIGITS, capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.int8).reshape(1, 10, 1, 1)


@pytest.fixture
def files(tmp_path: Path, image: np.ndarray, scores: np.ndarray) -> dict[str, str]:
    np.save(tmp_path / "image.npy", image)
    np.save(tmp_path / "scores.npy", scores)
    wrong = scores.copy()
    wrong[0, 3] ^= 1
    np.save(tmp_path / "wrong.npy", wrong)
    return {name: str(tmp_path / f"{name}.npy") for name in ("image", "scores", "wrong")}


def test_artefacts(build: Path) -> None:
    names = {path.name for path in build.iterdir()}
    assert {
        "firmware.elf",
        "firmware.bin",
        "firmware.hex",
        "firmware.map",
        "compile_commands.json",
        "memory_map.json",
        "size.json",
        "build_info.json",
    } <= names
    info = json.loads((build / "build_info.json").read_text())
    assert info["board"] == "mps2-an385"
    for name, digest in info["files"].items():
        assert hashlib.sha256((build / name).read_bytes()).hexdigest() == digest


def test_second_build_does_nothing(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {p: p.stat().st_mtime_ns for p in build.rglob("*")}
    command = ["build", "--board", "mps2-an385", str(MODEL), "-o", str(build), "--jobs", "1"]
    assert run([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["changed"] is False
    assert result["size"]["text"] > 0
    assert {p: p.stat().st_mtime_ns for p in build.rglob("*")} == before


def test_same_inputs_give_the_same_bytes(build: Path, tmp_path: Path) -> None:
    other = tmp_path / "a" / "different" / "place"
    command = ["build", "--quiet", "--board", "mps2-an385", str(MODEL), "-o", str(other)]
    assert run([*command, "--jobs", "1"]) == 0
    for name in ("firmware.elf", "firmware.bin", "firmware.hex"):
        assert (other / name).read_bytes() == (build / name).read_bytes(), name


def test_run_compares_every_byte(
    build: Path,
    files: dict[str, str],
    scores: np.ndarray,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["run", str(build), "--input", f"image={files['image']}"]
    arguments += ["--expect", f"0={files['scores']}", "--repeat", "3"]
    assert run([*arguments, "--output", str(tmp_path / "out")]) == 0
    # Ten scores and six unused channels, three times.
    assert "PASS: 48 bytes compared, all equal" in capsys.readouterr().out
    assert (np.load(tmp_path / "out" / "scores.npy") == scores).all()
    assert (tmp_path / "out" / "scores.bin").read_bytes()[:10] == scores.tobytes()


def test_run_as_json_is_repeatable(
    build: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", str(build), "--json", "--input", f"0={files['image']}"]
    arguments += ["--expect", f"scores={files['scores']}"]
    assert run(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["result"] == "pass"
    assert report["bytes_compared"] == 16
    assert report["inferences"][0]["accelerator_cycles"] > 0
    assert report["inferences"][0]["guest_errors"] == []


def test_difference_fails(
    build: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", str(build), "--input", f"0={files['image']}"]
    assert run([*arguments, "--expect", f"0={files['wrong']}"]) == 1
    text = capsys.readouterr().out
    assert "FAIL: 16 bytes compared, 1 different" in text
    assert "byte 3: expected" in text


def test_nothing_compared_is_no_pass(
    build: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(build)]) == 0
    captured = capsys.readouterr()
    assert "PASS" not in captured.out
    assert "nothing was compared" in captured.out
    assert "inputs that were not given are zero: image" in captured.err


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((1, 8, 9), np.int8), "shape 1x8x9"),
        (np.zeros((1, 8, 8), np.uint8), "type uint8"),
        (np.zeros((1, 8, 8), np.float32), "type float32"),
    ],
    ids=["shape", "unsigned", "float"],
)
def test_wrong_input(
    build: Path,
    array: np.ndarray,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save(tmp_path / "bad.npy", array)
    assert run(["run", str(build), "--input", f"0={tmp_path / 'bad.npy'}"]) == 2
    assert message in capsys.readouterr().err


def test_wrong_size_and_unknown_name(
    build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short.bin").write_bytes(bytes(511))
    assert run(["run", str(build), "--input", f"0={tmp_path / 'short.bin'}"]) == 2
    assert "expected: 512 bytes" in capsys.readouterr().err
    assert run(["run", str(build), "--input", f"picture={tmp_path / 'short.bin'}"]) == 2
    assert "'picture' is no tensor of the model" in capsys.readouterr().err
    assert run(["run", str(build), "--input", "0=missing.npy"]) == 2


def test_time_limit(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(build), "--timeout", "0.001"]) == 124
    assert "did not finish within 0.001 s" in capsys.readouterr().err


def test_trace_names_registers(build: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    assert run(["run", str(build), "--trace", str(trace)]) == 0
    assert "CDMA" in trace.read_text()


def test_lost_interrupt_fails_in_time(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(build), "--fault", "irq-lost", "--timeout-ms", "50"]) == 5
    assert "did not raise its interrupt" in capsys.readouterr().err


def test_flipped_bit_is_found(
    build: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One bit of the scores (the eighth operation's output) changed in memory."""
    arguments = [
        "run",
        str(build),
        "--input",
        f"0={files['image']}",
        "--fault",
        "dla0:bit-flip:7:8",
    ]
    assert run([*arguments, "--expect", f"0={files['scores']}"]) == 1
    assert "16 bytes compared, 1 different" in capsys.readouterr().out


def test_size(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["size", str(build)]) == 0
    text = capsys.readouterr().out
    for word in ("kernel", "driver + executor", "weights", "engine_task"):
        assert word in text
    assert run(["size", "--json", str(build)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert sum(c["text"] for c in report["components"]) == report["text"]


def test_sbom(build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sbom", str(build)]) == 0
    text = capsys.readouterr().out
    elf = hashlib.sha256((build / "firmware.elf").read_bytes()).hexdigest()
    document = json.loads(text)
    assert document["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": elf}]
    assert {"FreeRTOS-Kernel", "newlib", "digits"} <= {c["name"] for c in document["components"]}
    assert run(["sbom", str(build), "--output", str(tmp_path / "bom.json")]) == 0
    assert (tmp_path / "bom.json").read_text() == text
    assert run(["sbom", str(build), "--output", str(tmp_path / "no" / "bom.json")]) == 2


def test_monitor_shows_the_console(build: Path) -> None:
    command = [sys.executable, "-m", "fwgen", "monitor", str(build), "--timeout", "3"]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_other_programs_reach_the_emulated_board(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new model goes into a slot of the board in `fwgen monitor --listen`, and runs."""
    model, board = str(MODEL), "mps2-an385-nvmem"
    folder, package = tmp_path / "firmware", tmp_path / "model.pkg"
    assert run(["build", model, "-b", board, "--nvmem", "-o", str(folder)]) == 0
    assert run(["pack", model, "-b", board, "-o", str(package)]) == 0
    command = [sys.executable, "-m", "fwgen", "monitor", str(folder)]
    port = f"unix:{tmp_path / 'link'}"
    with subprocess.Popen(
        [*command, "--listen", port],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as monitor:
        assert monitor.stdout is not None
        try:
            while "slots:" not in (line := monitor.stdout.readline()):
                assert line, "the monitor ended"
            capsys.readouterr()
            assert run(["nvmem", "--port", port, "slots"]) == 0
            assert "no package" in capsys.readouterr().out
            assert run(["update", "--port", port, str(package)]) == 0
            capsys.readouterr()
            assert run(["nvmem", "--port", port, "--json", "slots"]) == 0
            assert "digits" in capsys.readouterr().out
        finally:
            monitor.terminate()


@pytest.mark.parametrize("board", ["mps2-an385", "mps2-an386", "mps2-an500", "mps3-an547"])
def test_demo(board: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["demo", "--board", board, "--images", "20", "--output", str(tmp_path / "demo")]
    assert run([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["passed"] is True
    assert report["bytes_compared"] == 20 * 16
    assert report["right"] == report["right_by_reference"] >= 18
    assert report["cycles"] > 0
    assert run([*command, "--images", "100000"]) == 2
