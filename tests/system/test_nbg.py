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
from fwgen.machine.frames import Status
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.link import LinkError
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
def test_graphs_run_on_their_board(testdata: Path, tmp_path: Path, target: int) -> None:
    graphs = cases(testdata, target)
    options = BuildOptions(kind=BuildKind.TEST, exclusive=(("all",),), jobs=2)
    assert run_all(graphs, load_board(BOARDS[target]), tmp_path, options) > 0


def test_each_operation_by_itself(testdata: Path, tmp_path: Path) -> None:
    """States, the VIP's SRAM and the pool hold from one submission to the next."""
    names = ("net_big_a", "v1_net_pyramid", "concat_ch")
    every = {c.name: c for c in nbg_cases(testdata)}
    if not every:
        pytest.skip("reference data has no network binary graphs")
    options = BuildOptions(kind=BuildKind.TEST, exclusive=(("all",),), each_operation=True, jobs=2)
    graphs = [every[name] for name in names]
    assert run_all(graphs, load_board("rv1126"), tmp_path, options) == 36864 + 2304 + 4096


FAULTS = [
    # fault, status of the inference it hits (None: it succeeds), whether the network is split
    ("irq-lost:0", Status.TIMEOUT, False),
    ("irq-lost:1", Status.TIMEOUT, True),
    ("stuck-busy:2", Status.TIMEOUT, False),
    ("stuck-busy:2", Status.TIMEOUT, True),
    ("dma-error:3", Status.DEVICE, False),
    ("dma-error:3", Status.DEVICE, True),
    ("irq-twice:0", None, False),
    ("irq-spurious:0", None, True),
]


@pytest.fixture(scope="module")
def split(testdata: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """net_lenet_9F, five NN jobs, in one submission and in one for each job: the ELF files."""
    (graph,) = [c for c in cases(testdata, 0x9F) if c.name == "net_lenet_9F"]
    out = {}
    for each in (False, True):
        folder = tmp_path_factory.mktemp("split")
        options = BuildOptions(kind=BuildKind.TEST, each_operation=each, timeout_ms=50, jobs=2)
        out[each] = build_models([graph.path], an500(folder, 0x9F), folder / "b", options).elf
    return out


@pytest.mark.parametrize(("fault", "status", "each"), FAULTS)
def test_a_failed_run_is_reported_and_the_next_one_is_right(
    testdata: Path,
    tmp_path: Path,
    split: dict[bool, Path],
    fault: str,
    status: Status | None,
    each: bool,
) -> None:
    (graph,) = [c for c in cases(testdata, 0x9F) if c.name == "net_lenet_9F"]
    inputs = dict(enumerate(graph.tensors("in")))
    expected = dict(enumerate(graph.tensors("out")))
    machine = machine_config(an500(tmp_path, 0x9F), faults={"dla0": [fault]})
    with QemuSession(split[each], machine, limit=120) as session:
        target = Target(session)
        if status is None:
            assert target.infer(inputs, expected).passed
        else:
            with pytest.raises(LinkError) as caught:
                target.infer(inputs)
            assert caught.value.status == status
            failed = session.link.status().last_failed_operation
            assert failed == (int(fault.rpartition(":")[2]) if each else None)
        for _ in range(2):
            assert target.infer(inputs, expected).passed
        if each:
            times = session.link.profile()
            assert len(times) == 5 and all(times)


def test_the_wrong_npu_is_told(testdata: Path, tmp_path: Path, split: dict[bool, Path]) -> None:
    """Firmware for an i.MX 8M Plus on an RV1126's NPU: the register is named, nothing runs."""
    (graph,) = [c for c in cases(testdata, 0x9F) if c.name == "net_lenet_9F"]
    with QemuSession(split[False], machine_config(an500(tmp_path, 0xB5)), limit=120) as session:
        target = Target(session)
        with pytest.raises(LinkError) as caught:
            target.infer(dict(enumerate(graph.tensors("in"))))
        assert caught.value.status == Status.DEVICE
        text = session.console.text()
    assert (
        "dla0: identity register 0x00000024 reads 0x00008003, this image is for "
        "vip8000nanosi_plus_pid0x9f with 0x00008002" in text
    )
