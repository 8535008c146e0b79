"""Network binary graphs in firmware: every output byte as the vendor simulator computes it.

By default a selection of the reference data runs that has every engine, container and
NPU; FWGEN_NBG=all runs all cases that can run. The graphs of an NPU are models of one
image, so that one boot serves them all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from nbg_cases import NbgCase, nbg_cases

from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.session import QemuSession
from fwgen.pipeline import build_models

pytestmark = pytest.mark.qemu

BOARDS = {0xB5: "rv1126", 0x9F: "imx8mp-m7", 0x88: "vim3", 0x82: "rk1808"}

SELECTION = (
    "conv3x3_oc200",
    "conv3x3_sparse60",
    "dw3x3_c33",
    "fc_777_33",
    "maxpool3s2",
    "leaky",
    "transpose_2013",
    "net_pyramid",
    "net_big_a",
    "net_mbv1_64",
    "net_lenet_9F",
    "conv3x3_same_9F",
    "dw_pw_88",
    "sigmoid_88",
    "net_lenet_82",
    "v1_net_big_a",
    "v1_net_leaky_det",
)

PROFILE = """
name = "an500-vip"
extends = "mps2-an500"
description = "AN500 with an emulated VIP"

[[accelerator]]
name = "dla0"
family = "vip"
config = "{config}"
base = 0x50000000
window = "16KiB"
irq = 29
clock_hz = 25_000_000
timeout_ms = 20_000
"""


def cases(testdata: Path, target: int) -> list[NbgCase]:
    """The graphs for an NPU that can run and shall."""
    every = [c for c in nbg_cases(testdata) if c.kind != "negative" and c.target == target]
    if not every:
        pytest.skip("reference data has no network binary graphs")
    if os.environ.get("FWGEN_NBG") == "all":
        return every
    return [case for case in every if case.name in SELECTION]


def an500(folder: Path, target: int) -> Board:
    """A Cortex-M7 board with that NPU."""
    path = folder / "an500-vip.toml"
    path.write_text(PROFILE.format(config=BY_TARGET[target].name))
    return load_board(str(path))


def run_all(graphs: Sequence[NbgCase], board: Board, folder: Path, options: BuildOptions) -> int:
    """Build one image of all graphs and compare every output; bytes compared."""
    build = build_models([g.path for g in graphs], board, folder / "build", options)
    compared = 0
    with QemuSession(build.elf, machine_config(board), limit=600) as session:
        for number, graph in enumerate(graphs):
            target = Target(session, model=number)
            inputs = dict(enumerate(graph.tensors("in")))
            expected = dict(enumerate(graph.tensors("out")))
            result = target.infer(inputs, expected)
            bad = [c for c in result.comparisons if not c.equal]
            assert not bad, f"{graph.name} ({graph.engines}): {bad}"
            assert not result.guest_errors, f"{graph.name}: {result.guest_errors}"
            size = sum(map(len, expected.values()))
            assert result.bytes_compared == size > 0
            compared += size
            print(f"{graph.name:24} {graph.engines:28} {size:6} bytes equal")
    return compared


@pytest.mark.parametrize("target", list(BOARDS), ids=list(BOARDS.values()))
def test_graphs_run_on_a_cortex_m(testdata: Path, tmp_path: Path, target: int) -> None:
    graphs = cases(testdata, target)
    options = BuildOptions(kind=BuildKind.TEST, exclusive=(("all",),), jobs=2)
    assert run_all(graphs, an500(tmp_path, target), tmp_path, options) > 0
