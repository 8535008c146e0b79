"""Firmware for the boards that QEMU does not have: the image for the board, bit-exact outputs.

One published network a board, with the outputs of the hardware's own tools as goldens
(NVDLA: NVIDIA's compiler and model; VIP: the vendor's simulator), chosen by the NPU
that the network was compiled for. The image is what would run on the board; the
emulated machine has the board's memory map and nothing else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fwgen.board.profile import load_board
from fwgen.emulate import RunOptions, open_build, run_build
from fwgen.machine.events import GuestError
from fwgen.pipeline import build_model

pytestmark = pytest.mark.qemu

NVDLA = Path("nvdla") / "loadables"
VIP = Path("vip") / "corpus" / "given"
# The other boards run the graphs of test_nbg.py.
CASES = [
    ("rv1126-nvdla", NVDLA, "lenet5.nv_small.int8.nhwc", "nvdla"),
    ("imx8mp", VIP, "net_lenet_9F", "nb"),
]


@pytest.mark.parametrize(("name", "folder", "model", "suffix"), CASES, ids=[c[0] for c in CASES])
def test_a_network_runs_on_the_board(
    name: str, folder: Path, model: str, suffix: str, testdata: Path, tmp_path: Path
) -> None:
    source = testdata / folder / f"{model}.{suffix}"
    if not source.is_file():
        pytest.skip(f"reference data not found: {source.name}")
    golden = source.with_name(f"{model}.out0.bin")
    board = load_board(name)
    assert board.emulation in ("overlays", "stand-in")
    build_model(source, name, tmp_path)
    report = run_build(
        open_build(tmp_path, name),
        RunOptions(
            inputs={"0": source.with_name(f"{model}.in0.bin")},
            expected={"0": golden},
            repeats=2,
        ),
    )
    errors: list[GuestError] = [e for i in report.inferences for e in i.guest_errors]
    assert errors == []
    assert report.passed
    assert report.bytes_compared == 2 * golden.stat().st_size > 0
