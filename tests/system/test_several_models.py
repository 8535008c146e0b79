"""Several models in one image: through the serial link, on one engine and on two.

Expected bytes: the example's integer reference and, where the reference data are there,
NVIDIA's own output of LeNet-5.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fwgen.board.profile import load_board
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.cli.main import run
from fwgen.errors import UsageError
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.session import QemuSession
from fwgen.pipeline import build_models

pytestmark = pytest.mark.qemu

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits.nvdla"


@pytest.fixture(scope="module")
def digit() -> tuple[bytes, bytes]:
    """Input and expected output of the digits model."""
    code = (
        "import sys, numpy as np, network, reference;"
        "s = reference.infer(network.load_tests()[0][0], network.load_layers());"
        "sys.stdout.buffer.write(np.asarray(s).astype(np.int8).tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=DIGITS, capture_output=True, check=True)
    cube = np.zeros((8, 8, 8), np.int8)
    with np.load(DIGITS / "tests.npz") as stored:
        cube[..., 0] = stored["images"][0].reshape(8, 8)
    return cube.tobytes(), done.stdout + bytes(6)


@pytest.fixture(scope="module")
def lenet(testdata: Path) -> tuple[Path, bytes, bytes]:
    folder = testdata / "nvdla" / "loadables"
    stem = "lenet5.nv_small.int8.nhwc"
    return (
        folder / f"{stem}.nvdla",
        (folder / f"{stem}.in0.bin").read_bytes(),
        (folder / f"{stem}.out0.bin").read_bytes(),
    )


@pytest.mark.parametrize("kind", list(BuildKind))
@pytest.mark.parametrize("exclusive", [(), (("all",),)])
def test_two_models_on_one_engine(
    tmp_path: Path,
    digit: tuple[bytes, bytes],
    lenet: tuple[Path, bytes, bytes],
    exclusive: tuple[tuple[str, ...], ...],
    kind: BuildKind,
) -> None:
    board = load_board("mps2-an385")
    options = BuildOptions(kind=kind, exclusive=exclusive, jobs=1)
    build_models([MODEL, lenet[0]], board, tmp_path / "build", options)
    elf = tmp_path / "build" / "firmware.elf"
    with QemuSession(elf, machine_config(board), limit=120) as session:
        targets = [Target(session, model=i) for i in range(2)]
        assert [t.model.name for t in targets] == ["digits", "lenet5.nv_small.int8.nhwc"]
        for _ in range(2):
            for target, (data, expected) in zip(targets, (digit, lenet[1:]), strict=True):
                assert target.infer({0: data}, {0: expected}).passed
        assert session.finish() == 0


def test_one_model_twice_on_two_engines(
    tmp_path: Path, digit: tuple[bytes, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "build"
    command = ["build", "-b", "mps3-an547-dual", str(MODEL), str(MODEL), "-o", str(folder)]
    command += ["--accel", "digits=dla1", "--accel", "digits-2=dla0", "-j", "1"]
    assert run([*command, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["changed"]
    assert [m["name"] for m in first["info"]["models"]] == ["digits", "digits-2"]
    assert run([*command, "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["changed"]
    machine = machine_config(load_board("mps3-an547-dual"))
    with QemuSession(folder / "firmware.elf", machine, limit=60) as session:
        with pytest.raises(UsageError, match=r"digits \(0\), digits-2 \(1\)"):
            Target(session, model="digits-3")
        with pytest.raises(UsageError, match="no model 2"):
            Target(session, model="2")
        for index, name in ((0, "dla1"), ("1", "dla0"), ("digits", "dla1"), ("digits-2", "dla0")):
            target = Target(session, model=index)
            assert target.model.accelerator == name
            inference = target.infer({0: digit[0]}, {0: digit[1]})
            assert inference.passed
            assert {o.accelerator for o in inference.operations} == {name}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--accel", "digit=dla0"], "Did you mean 'digits'"),
        (["--accel", "digits=dla7"], "no accelerator 'dla7'"),
        (["--accel", "digits"], "MODEL=NAME"),
        (["--exclusive", "digits,lenet"], "no model 'lenet'"),
        (["--queue-length", "0"], "queue_length"),
    ],
)
def test_wrong_options(
    tmp_path: Path, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["build", "-b", "mps2-an385", str(MODEL), "-o", str(tmp_path / "b"), *arguments]
    assert run(command) == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "b").exists()
