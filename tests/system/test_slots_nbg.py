"""Graphs for VeriSilicon NPUs in model slots: their command buffers hold addresses, which
the package has filled in for the slot that it runs from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbg_cases import NbgCase, nbg_cases
from slot_device import Device, start_device

from fwgen.board.profile import load_board
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.cli.main import run as fwgen
from fwgen.machine.from_board import machine_config
from fwgen.machine.slots import slots
from fwgen.pipeline import build_model

BOARDS = Path(__file__).resolve().parents[1] / "nvmem" / "boards"
pytestmark = pytest.mark.qemu


@dataclass
class Started:
    """What a test ends."""

    device: Device | None = None


@pytest.fixture
def started() -> Iterator[Started]:
    found = Started()
    yield found
    if found.device is not None:
        found.device.switch_off()


def case(testdata: Path, name: str) -> NbgCase:
    for found in nbg_cases(testdata):
        if found.name == name:
            return found
    pytest.skip("reference data has no network binary graphs")


def outputs(device: Device, graph: NbgCase) -> list[bytes]:
    """What the device's model gives for the graph's inputs."""
    link = device.link()
    try:
        model = link.model()
        inputs = link.tensors(model, "input")
        for tensor, data in zip(inputs, graph.tensors("in"), strict=True):
            link.write_tensor(tensor, data)
        link.run()
        return [link.read_tensor(tensor) for tensor in link.tensors(model, "output")]
    finally:
        link.transport.close()


@pytest.mark.parametrize(
    ("name", "image", "packed"),
    [
        ("imx8mp-m7-nvmem", "conv3x3_same_9F", ("net_lenet_9F", "conv3x3_same_9F")),
        ("rv1126-nvmem", "conv3x3_oc200", ("net_big_a", "net_pyramid")),
    ],
    ids=["in place", "copied"],
)
def test_graphs_run_from_both_slots(
    testdata: Path,
    tmp_path: Path,
    started: Started,
    capsys: pytest.CaptureFixture[str],
    name: str,
    image: str,
    packed: tuple[str, str],
) -> None:
    profile = str(BOARDS / f"{name}.toml")
    board = load_board(profile)
    first = case(testdata, image)
    options = BuildOptions(kind=BuildKind.TEST, nvmem=True, jobs=2)
    build = build_model(first.path, board, tmp_path / "firmware", options)
    device = start_device(build.elf, machine_config(board), tmp_path / "qmp")
    started.device = device
    assert outputs(device, first) == first.tensors("out")
    for slot, graph in enumerate(case(testdata, name) for name in packed):
        package = tmp_path / f"{graph.name}.pkg"
        files = []
        for option, kind in (("--test-input", "in"), ("--test-output", "out")):
            for number in range(len(graph.tensors(kind))):
                files += [option, f"{number}={graph.folder / graph.name}.{kind}{number}.bin"]
        assert fwgen(["pack", str(graph.path), "-b", profile, "-o", str(package), *files]) == 0
        assert fwgen(["update", "--port", device.port, str(package)]) == 0
        assert f"{graph.name} is confirmed in slot {slot}" in capsys.readouterr().out
        link = device.link()
        found = slots(link)
        link.transport.close()
        assert (found.running, found.confirmed, found.fault) == (slot, slot, 0)
        assert outputs(device, graph) == graph.tensors("out")
