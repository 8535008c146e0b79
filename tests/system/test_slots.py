"""Model slots in QEMU: update over the line, trial by self-test, rollback, reset."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from slot_device import Device, start_device

from fwgen.board.profile import load_board
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.cli.main import run as fwgen
from fwgen.machine import slots, tensors
from fwgen.machine.from_board import machine_config
from fwgen.package.faults import Fault
from fwgen.pipeline import build_model

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
FLASH = str(Path(__file__).resolve().parents[1] / "nvmem/boards/virt-a7-nvmem.toml")
pytestmark = pytest.mark.qemu


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules of the digits example."""
    monkeypatch.syspath_prepend(str(DIGITS))
    import loadable
    import network
    import reference

    return {"network": network, "reference": reference, "loadable": loadable}


@pytest.fixture
def boot(tmp_path: Path) -> Iterator[Callable[[str], Device]]:
    """Builds and boots the digits firmware with slots: (board) -> Device.

    A second call is a second start of the emulator; flash is a file and keeps its contents.
    """
    running: list[Device] = []

    def start(name: str) -> Device:
        board = load_board(name)
        options = BuildOptions(kind=BuildKind.TEST, nvmem=True)
        result = build_model(DIGITS / "digits.nvdla", board, tmp_path / "firmware", options)
        monitor = tmp_path / f"qmp{len(running)}"
        machine = machine_config(board)
        more: list[str] = []
        if name == FLASH:
            flash = tmp_path / "flash"
            with flash.open("ab") as file:
                file.truncate(64 << 20)
            more += ["-drive", f"if=pflash,unit=1,format=raw,file={flash}"]
        running.append(start_device(result.elf, machine, monitor, more))
        return running[-1]

    yield start
    for device in running:
        device.switch_off()


@pytest.mark.parametrize(
    "board",
    ["mps2-an385-nvmem", "mps3-an547-nvmem", FLASH],
    ids=["in place", "copied", "cfi flash"],
)
def test_update_trial_and_rollback(
    board: str,
    boot: Callable[[str], Device],
    example: dict[str, ModuleType],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reference, network = example["reference"], example["network"]
    layers = network.load_layers()
    image = network.load_tests()[0][7]
    # Another network of the same shape: the classes in the opposite order.
    full = layers[2]
    other = (*layers[:2], replace(full, weights=full.weights[::-1], bias=full.bias[::-1]))
    results = {"image": reference.infer(image, layers), "other": reference.infer(image, other)}
    assert np.array_equal(results["image"], results["other"][::-1])
    assert not np.array_equal(results["image"], results["other"])

    model = tmp_path / "other.nvdla"
    model.write_bytes(example["loadable"].digits_loadable(other))
    np.save(tmp_path / "image.npy", image)
    for name, scores in (("right", results["other"]), ("wrong", results["image"])):
        np.save(tmp_path / f"{name}.npy", scores.reshape(1, 10, 1, 1))
        package = ["pack", str(model), "-b", board, "--name", name]
        package += ["-o", str(tmp_path / f"{name}.pkg")]
        package += ["--test-input", f"image={tmp_path / 'image.npy'}"]
        assert fwgen([*package, "--test-output", f"scores={tmp_path / name}.npy"]) == 0

    device = boot(board)

    def scores(name: str) -> np.ndarray:  # type: ignore[type-arg]
        link = device.link()
        found = link.model()
        assert found.name == name
        (into,), (out,) = link.tensors(found, "input"), link.tensors(found, "output")
        link.write_tensor(into, tensors.pack(image, into))
        link.run()
        array = tensors.unpack(link.read_tensor(out), out).reshape(-1)
        link.transport.close()
        return array

    def info() -> slots.SlotsInfo:
        link = device.link()
        found = slots.slots(link)
        link.transport.close()
        return found

    # 1. The model in the image runs; settings can be kept.
    assert info().running is None
    assert np.array_equal(scores("digits"), results["image"])
    assert fwgen(["nvmem", "--port", device.port, "set", "gain", "0.125"]) == 0

    # 2. Update: its self-test confirms it.
    assert fwgen(["update", "--port", device.port, str(tmp_path / "right.pkg")]) == 0
    assert "right is confirmed in slot 0" in capsys.readouterr().out
    assert np.array_equal(scores("right"), results["other"])

    # 3. It lives through a reset, and so does the setting.
    device.system_reset()
    time.sleep(0.5)
    assert (info().running, info().confirmed, info().trial) == (0, 0, None)
    assert np.array_equal(scores("right"), results["other"])
    assert fwgen(["nvmem", "--port", device.port, "get", "gain"]) == 0
    assert "0.125" in capsys.readouterr().out

    # 4. A model whose self-test fails is tried once, and the one before comes back.
    assert fwgen(["update", "--port", device.port, str(tmp_path / "wrong.pkg")]) == 1
    assert "self-test" in capsys.readouterr().err
    found = info()
    assert (found.running, found.confirmed, found.trial) == (0, 0, None)
    assert found.fault == Fault.SELF_TEST
    assert np.array_equal(scores("right"), results["other"])
    assert fwgen(["nvmem", "--port", device.port, "slots"]) == 0
    assert "running, confirmed" in capsys.readouterr().out

    # 5. A package for the other board is refused before anything is written.
    foreign = "mps3-an547-nvmem" if board == "mps2-an385-nvmem" else "mps2-an385-nvmem"
    package = ["pack", str(model), "-b", foreign, "-o", str(tmp_path / "foreign.pkg")]
    assert fwgen(package) == 0
    assert fwgen(["update", "--port", device.port, str(tmp_path / "foreign.pkg")]) == 3
    assert "another board" in capsys.readouterr().err

    # 6. Flash keeps all that without power.
    if board == FLASH:
        device.switch_off()
        device = boot(board)
        assert (info().running, info().confirmed) == (0, 0)
        assert np.array_equal(scores("right"), results["other"])
        link = device.link()
        assert slots.get(link, "gain") == b"0.125"
        link.transport.close()
