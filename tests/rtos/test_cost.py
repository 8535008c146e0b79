"""What the executor costs: bytes on a Cortex-M3, instructions per hardware layer."""

from __future__ import annotations

import bisect
import dataclasses
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fwgen.board.profile import load_board
from fwgen.cli.main import run
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Target
from fwgen.machine.session import QemuSession

pytestmark = pytest.mark.qemu

# Files of driver and executor, and the functions that an inference runs in them.
PARTS = ("exec/accel.c", "exec/executor.c", "drivers/nvdla.c", "exec/models.c")
MODEL = "mobilish.nv_small.int8.nhwc"
BOARD = "mps2-an385"


def _symbols(elf: Path) -> list[tuple[int, int, str, str]]:
    """Address, size, name and source file of each function."""
    listing = subprocess.run(
        ["arm-none-eabi-nm", "-S", "-l", str(elf)], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"^(\w+) (\w+) [tTwW] (\S+)(?:\t(\S+):\d+)?$", listing, re.MULTILINE)
    return sorted((int(a, 16) & ~1, int(s, 16), n, f) for a, s, n, f in found)


@pytest.fixture(scope="module")
def folder(testdata: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cost") / "build"
    model = testdata / "nvdla" / "loadables" / f"{MODEL}.nvdla"
    command = ["build", "--quiet", "--board", BOARD, str(model), "-o", str(out), "--jobs", "1"]
    assert run([*command, "--no-profile"]) == 0
    return out


def test_driver_and_executor_are_small(firmware: Callable[..., Path]) -> None:
    objects = {path: 0 for path in PARTS}
    data = 0
    listing = subprocess.run(
        ["arm-none-eabi-nm", "-S", "-l", str(firmware())],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for size, kind, name, file in re.findall(
        r"^\w+ (\w+) (\w) (\S+)\t(\S+):\d+$", listing, re.MULTILINE
    ):
        part = next((p for p in PARTS if file.endswith(p)), None)
        if part is None or name == "stacks":  # the task's stack is the application's choice
            continue
        if kind in "tTwWrR":
            objects[part] += int(size, 16)
        else:
            data += int(size, 16)
    assert all(objects.values()), objects
    assert sum(objects.values()) <= 3072, objects
    assert 0 < data <= 1024


def test_what_a_small_model_needs_is_small(testdata: Path, tmp_path: Path) -> None:
    """LeNet-5 with all defaults: nothing is in the image that it does not use."""
    model = testdata / "nvdla" / "loadables" / "lenet5.nv_small.int8.nhwc.nvdla"
    folder = tmp_path / "build"
    command = ["build", "--quiet", "-b", BOARD, str(model), "-o", str(folder), "-j", "1"]
    assert run(command) == 0
    components = json.loads((folder / "size.json").read_text())["components"]
    text = {component["name"]: component["text"] for component in components}
    assert text["driver + executor"] <= 2969, text
    assert text["startup"] + text["driver + executor"] + text["program"] <= 6144, text
    unused = ("fwgen_fence", "fwgen_task_", "fwgen_tensor_", "place_fairly", "first_ready")
    names = [name for _, _, name, _ in _symbols(folder / "firmware.elf")]
    assert not [name for name in names if name.startswith(unused) and name != "fwgen_task_info"]


def test_instructions_per_hardware_layer(folder: Path, tmp_path: Path) -> None:
    help_text = subprocess.run(
        ["qemu-system-arm", "-help"], capture_output=True, text=True, check=True
    ).stdout
    if "-singlestep" not in help_text or shutil.which("arm-none-eabi-nm") is None:
        pytest.skip("counting needs a QEMU with -singlestep")
    symbols = [s for s in _symbols(folder / "firmware.elf") if s[3].endswith(PARTS)]
    ranges = ",".join(f"0x{address:x}+0x{size:x}" for address, size, *_ in symbols)
    log = tmp_path / "log"
    # without icount: with it, QEMU begins instructions that touch devices twice
    machine = machine_config(load_board(BOARD), icount=False)
    counting = ("-singlestep", "-d", "exec,nochain", "-D", str(log), "-dfilter", ranges)
    machine = dataclasses.replace(machine, extra_args=(*machine.extra_args, *counting))
    runs = 4
    with QemuSession(folder / "firmware.elf", machine, limit=120) as session:
        Target(session)
        for _ in range(runs):
            session.link.run()
        layers = session.link.model().operations
    starts = [address for address, *_ in symbols]
    counts: Counter[str] = Counter()
    for address in re.findall(r"\[[0-9a-f]+/([0-9a-f]+)/", log.read_text()):
        counts[symbols[bisect.bisect_right(starts, int(address, 16)) - 1][2]] += 1
    assert counts["fwgen_execute"] > 100 * runs * layers, "the log is not what it seems"
    # recovery ran once, at start; it walks over the program with fwgen_command_words
    for name in ("nvdla_recover", "recover", "fwgen_command_words"):
        counts.pop(name, None)
    print(f"{sum(counts.values()) / (runs * layers):.0f} instructions per layer")
    assert sum(counts.values()) / (runs * layers) <= 500, counts
