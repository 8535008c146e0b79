"""Firmware against the emulated NVDLA with faults: what is reported right is right.

Units work through their two register groups strictly alternately, so after an
inference that broke off the next one must start with the groups that the hardware
expects. Models whose units run an odd number of operations show it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fwgen.board.profile import load_board
from fwgen.cli.main import run
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.link import LinkError
from fwgen.machine.session import QemuSession

pytestmark = pytest.mark.qemu

BOARD = "mps2-an385"
TIMEOUT, DEVICE = 7, 8
MODELS = ("resblock.nv_small.int8.ncxhwx", "mobilish.nv_small.int8.nhwc")


@pytest.fixture(scope="module")
def built(testdata: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folders: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp("recovery") / "build"
            model = testdata / "nvdla" / "loadables" / f"{name}.nvdla"
            command = ["build", "--quiet", "--board", BOARD, str(model)]
            assert run([*command, "-o", str(folders[name]), "--jobs", "1"]) == 0
        return folders[name]

    return build


def attempts(folder: Path, data: tuple[bytes, bytes], count: int, *faults: str) -> list[int]:
    """Status of each of `count` inferences; the good ones have the right bytes."""
    board = load_board(BOARD)
    name = board.accelerators[0].name
    machine = machine_config(board, faults={name: list(faults)} if faults else None)
    results = []
    with QemuSession(folder / "firmware.elf", machine, limit=60) as session:
        target = Target(session)
        for _ in range(count):
            session.link.write_tensor(target.inputs[0], data[0])
            session.link.fill_tensor(target.outputs[0], 0xEE)
            try:
                session.link.run()
            except LinkError as error:
                results.append(error.status)
                continue
            results.append(0)
            assert session.link.read_tensor(target.outputs[0]) == data[1]
        status = session.link.status()
        assert status.inferences == results.count(0)
        assert status.errors == count - results.count(0)
    return results


def tensors(testdata: Path, name: str) -> tuple[bytes, bytes]:
    root = testdata / "nvdla" / "loadables"
    return (root / f"{name}.in0.bin").read_bytes(), (root / f"{name}.out0.bin").read_bytes()


@pytest.mark.parametrize("strike", range(0, 14, 3))
@pytest.mark.parametrize("name", MODELS)
def test_groups_are_right_after_a_lost_interrupt(
    built: Callable[[str], Path], testdata: Path, name: str, strike: int
) -> None:
    results = attempts(built(name), tensors(testdata, name), 4, f"irq-lost:{strike}")
    # an operation whose interrupt nobody waits for may lose it unnoticed
    assert results.count(TIMEOUT) <= 1 and set(results) <= {0, TIMEOUT}
    assert results[-2:] == [0, 0]


@pytest.mark.parametrize("name", MODELS)
def test_lost_interrupts_are_noticed(
    built: Callable[[str], Path], testdata: Path, name: str
) -> None:
    results = attempts(built(name), tensors(testdata, name), 2, "irq-lost:*")
    assert results == [TIMEOUT, TIMEOUT]


@pytest.mark.parametrize("fault", ["irq-twice:*", "irq-spurious:*", "irq-late:*:3000"])
@pytest.mark.parametrize("name", MODELS)
def test_other_interrupt_faults_do_no_harm(
    built: Callable[[str], Path], testdata: Path, name: str, fault: str
) -> None:
    results = attempts(built(name), tensors(testdata, name), 3, fault)
    assert results == [0, 0, 0]


def test_a_unit_that_stays_busy_is_a_broken_device(
    built: Callable[[str], Path], testdata: Path
) -> None:
    name = MODELS[0]
    board = load_board(BOARD)
    results = attempts(built(name), tensors(testdata, name), 3, "stuck-busy:4")
    if board.accelerators[0].reset_register is None:
        # nothing but a reset ends it, and the board has none
        assert results == [DEVICE, DEVICE, DEVICE]
    else:
        assert results == [TIMEOUT, 0, 0]
