"""Slots in QEMU: signatures, anti-rollback, a stuck engine, crash loops, a driver of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from slot_device import Device, start_device

from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.build.application import Application
from fwgen.build.options import BuildOptions
from fwgen.cli.main import run as fwgen
from fwgen.machine import tensors
from fwgen.machine.from_board import machine_config
from fwgen.machine.slots import SlotsInfo, slots
from fwgen.package.faults import Fault
from fwgen.pipeline import build_model

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
OWN_FLASH = Path(__file__).parent / "apps" / "own_flash.c"
MODEL = DIGITS / "digits.nvdla"
pytestmark = pytest.mark.qemu

Boot = Callable[..., Device]


@pytest.fixture
def boot(tmp_path: Path) -> Iterator[Boot]:
    """Builds the digits firmware for a board and boots it."""
    running: list[Device] = []

    def start(board: Board, options: BuildOptions, faults: Mapping[str, list[str]]) -> Device:
        build = build_model(MODEL, board, tmp_path / "firmware", options)
        machine = machine_config(board, faults=dict(faults) or None)
        running.append(start_device(build.elf, machine, tmp_path / "qmp"))
        return running[-1]

    yield start
    for device in running:
        device.switch_off()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An image, and what the integer reference makes of it: options of fwgen pack."""
    monkeypatch.syspath_prepend(str(DIGITS))
    import network
    import reference

    image = network.load_tests()[0][3]
    np.save(tmp_path / "image.npy", image)
    scores = reference.infer(image, network.load_layers())
    np.save(tmp_path / "scores.npy", scores.reshape(1, 10, 1, 1))
    return [
        f"--test-input=image={tmp_path}/image.npy",
        f"--test-output=scores={tmp_path}/scores.npy",
    ]


def state(device: Device) -> SlotsInfo:
    link = device.link()
    found = slots(link)
    link.transport.close()
    return found


def scores_of(device: Device, image: Path) -> np.ndarray:  # type: ignore[type-arg]
    link = device.link()
    model = link.model()
    (into,), (out,) = link.tensors(model, "input"), link.tensors(model, "output")
    link.write_tensor(into, tensors.pack(np.load(image), into))
    link.run()
    found = tensors.unpack(link.read_tensor(out), out).reshape(-1)
    link.transport.close()
    return found


def test_only_signed_and_newer_packages_run(
    boot: Boot, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a self-test that meets a stuck engine gives the trial up; the next one is right."""
    name = "mps2-an385-nvmem"

    def new_key(path: Path) -> str:
        assert fwgen(["pack", "--new-key", str(path)]) == 0
        return capsys.readouterr().out.strip().split()[-1]

    def update(title: str, *options: str) -> tuple[int, str]:
        package = tmp_path / f"{title}.pkg"
        make = ["pack", str(MODEL), "-b", name, "-o", str(package), "--name", title, *files]
        assert fwgen([*make, *options]) == 0
        capsys.readouterr()
        code = fwgen(["update", "--port", device.port, str(package)])
        said = capsys.readouterr()
        return code, said.out + said.err

    public = new_key(tmp_path / "key.pem")
    assert new_key(tmp_path / "other.pem") != public
    signed = f"--key={tmp_path}/key.pem"
    options = BuildOptions(nvmem=True, update_key=public, anti_rollback=True)
    device = boot(load_board(name), options, {"dla0": ["stuck-busy:0"]})

    def holds(running: int | None, oldest: int, fault: int = 0) -> None:
        found = state(device)
        assert (found.running, found.confirmed, found.trial) == (running, running, None)
        assert (found.oldest, found.fault, found.signed) == (oldest, fault, True)

    # Refused before anything is written: both slots stay as they were.
    for title, more, words in (
        ("unsigned", [], "accepts signed packages only"),
        ("foreign", [f"--key={tmp_path}/other.pem"], "signature is not by the device's key"),
    ):
        code, said = update(title, *more, "--model-version=7")
        assert (code, words in said) == (3, True), said
        assert [slot.fault for slot in state(device).slots] == [Fault.EMPTY] * 2

    code, said = update("five", signed, "--model-version=5")  # the engine hangs in its self-test
    assert (code, "self-test" in said) == (1, True), said
    holds(None, 0, Fault.SELF_TEST)
    code, said = update("five", signed, "--model-version=5")
    assert code == 0, said
    holds(0, 5)
    code, said = update("four", signed, "--model-version=4")
    assert (code, "older" in said) == (3, True), said
    assert state(device).slots[1].fault == Fault.EMPTY
    code, said = update("six", signed, "--model-version=6")
    assert code == 0, said
    holds(1, 6)
    code, said = update("five", signed, "--model-version=5")
    assert (code, "older" in said) == (3, True), said
    assert np.array_equal(
        scores_of(device, tmp_path / "image.npy"), np.load(tmp_path / "scores.npy").reshape(-1)
    )


def test_a_driver_of_the_user_and_a_model_that_crashes_the_application(
    boot: Boot, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = load_board("mps3-an547-nvmem")
    assert board.nvmem is not None
    board = replace(board, nvmem=replace(board.nvmem, driver="user"))
    options = BuildOptions(nvmem=True, app=Application.of(OWN_FLASH))
    device = boot(board, options, {})

    def nvmem(*arguments: str) -> str:
        assert fwgen(["nvmem", "--port", device.port, *arguments]) == 0
        return capsys.readouterr().out

    for title, more in (("good", files), ("crashes", [])):
        package = ["pack", str(MODEL), "-b", board.name, "-o", str(tmp_path / f"{title}.pkg")]
        assert fwgen([*package, "--name", title, *more]) == 0
    assert fwgen(["update", "--port", device.port, str(tmp_path / "good.pkg")]) == 0
    nvmem("set", "gain", "0.125")
    nvmem("set", "crash", "1")
    assert state(device).confirmed == 0

    # Each start of the trial crashes and resets the device; the fourth runs what was confirmed.
    capsys.readouterr()
    assert fwgen(["update", "--port", device.port, str(tmp_path / "crashes.pkg")]) == 1
    assert "started too often" in capsys.readouterr().err
    found = state(device)
    assert (found.running, found.confirmed, found.trial) == (0, 0, None)
    assert found.fault == Fault.BOOTS
    assert nvmem("get", "gain").strip() == "0.125"
    nvmem("delete", "crash")
    assert fwgen(["update", "--port", device.port, str(tmp_path / "crashes.pkg")]) == 0
    assert "is on trial" in capsys.readouterr().out
    nvmem("confirm")
    assert state(device).confirmed == 1
    assert "gain" in nvmem("list")
    assert np.array_equal(
        scores_of(device, tmp_path / "image.npy"), np.load(tmp_path / "scores.npy").reshape(-1)
    )
