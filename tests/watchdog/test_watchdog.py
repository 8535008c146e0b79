"""The watchdog in QEMU: what resets the board, what does not, and what is known afterwards.

The expected reasons follow from what the application does (app/watchdog_test.c); the
SoC's own word is that of CRU_GLB_RST_ST of an RV1126, bit 5: the watchdog's second
reset. An MPS2 has none, so that nothing is known where the supervisor did not run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fwgen.board.profile import load_board
from fwgen.build.application import Application
from fwgen.build.elf import read_image
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.errors import TaskError, UsageError
from fwgen.machine.from_board import machine_config
from fwgen.machine.link import RestartInfo
from fwgen.machine.session import QemuSession
from fwgen.pipeline import build_model
from fwgen.resources import resource_dir

pytestmark = pytest.mark.qemu

HERE = Path(__file__).resolve().parent
MPS2 = str(HERE / "boards" / "mps2-an385-watchdog.toml")
RV1126 = "rv1126-nvdla"
NORMAL, INFERENCE, STARVE, STARVE_ENGINE, MASKED, FAULT = range(6)
CAUSE = {MPS2: 0, RV1126: 0x20}
MODEL = resource_dir("examples") / "digits" / "digits.nvdla"

Build = Callable[[str], Path]


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The application on a board, as for the product; built once for each."""
    built: dict[str, Path] = {}

    def make(board: str) -> Path:
        if board not in built:
            folder = tmp_path_factory.mktemp("watchdog") / "build"
            app = Application(HERE / "app", ("watchdog_test.c",), tasks=("watched", "villain"))
            options = BuildOptions(
                kind=BuildKind.RELEASE, timeout_ms=400, watchdog=True, jobs=2, app=app
            )
            build_model(MODEL, board, folder, options)
            built[board] = folder / "firmware.elf"
        return built[board]

    return make


def boot(elf: Path, board: str, choice: int, until: str, *faults: str) -> tuple[RestartInfo, str]:
    """Run to a text, then ask over the link and in the shell why the board was reset."""
    # Counting instructions, QEMU 7.2 idles over a reset to the next timer; with interrupts
    # masked there is none left but one at the end of time, and the clock overflows.
    config = machine_config(load_board(board), icount=choice != MASKED, faults={"dla0": faults})
    place = read_image(elf).symbols["choice"].address
    loader = ("-device", f"loader,addr={place:#x},data={choice},data-len=4")
    config = replace(config, extra_args=(*config.extra_args, *loader))
    with QemuSession(elf, config, limit=120.0) as session:
        if choice == FAULT:
            with pytest.raises(TaskError, match="fault"):
                session.watch(until)
        assert session.watch(until) is None, "the emulator ended"
        info = session.guard(session.link.restart)
        session.guard(lambda: session.link.send_text(b"status\n"))
        session.watch(lambda text: text.count("last reset: ") > text.count("FreeRTOS V"))
        return info, session.console.text()


REASONS = [
    # what happens, fault of the engine, kind, name; text that the shell says
    (INFERENCE, "stuck-busy:3", "engine", "dla0", "watchdog, accelerator broken: dla0, operation"),
    (STARVE, None, "task", "watched", "watchdog, task without a sign of life: watched, ticks"),
    (STARVE_ENGINE, None, "task", "dla0", "watchdog, task without a sign of life: dla0, ticks"),
    (FAULT, None, "fault", "", "after a fault: "),
]
FAULT_NAMES = {MPS2: "usagefault", RV1126: "undefined"}


@pytest.mark.parametrize("board", [MPS2, RV1126], ids=["mps2-an385", "rv1126"])
@pytest.mark.parametrize(
    ("choice", "fault", "kind", "name", "words"),
    REASONS,
    ids=["engine", "task", "starved", "fault"],
)
def test_reset_and_its_reason(
    firmware: Build, board: str, choice: int, fault: str | None, kind: str, name: str, words: str
) -> None:
    faults = () if fault is None else (fault,)
    info, text = boot(firmware(board), board, choice, "test: after the reset", *faults)
    assert (info.kind, info.name) == (kind, name or FAULT_NAMES[board])
    # At power-on, after the reset, in the shell.
    said = [
        line.partition("last reset: ")[2] for line in text.splitlines() if "last reset:" in line
    ]
    assert said[0] == "not by the watchdog"
    assert [line.startswith(words) for line in said[1:]] == [True, True]
    if kind != "fault":  # that one is reset by software
        assert info.cause == CAUSE[board]
        assert f"no sign of life of {info.name}" in text
    if kind == "task":
        assert 400 < info.detail


def test_the_supervisor_does_not_run(firmware: Build) -> None:
    """Interrupts are off: nothing can be noted, but the SoC knows its watchdog."""
    info, text = boot(firmware(RV1126), RV1126, MASKED, "test: after the reset")
    assert (info.kind, info.name, info.cause) == ("supervisor", "", CAUSE[RV1126])
    assert "no sign of life" not in text


@pytest.mark.parametrize("board", [MPS2, RV1126], ids=["mps2-an385", "rv1126"])
def test_normal_work_never_resets(firmware: Build, board: str) -> None:
    """Nine seconds, four and a half periods of the hardware."""
    info, text = boot(firmware(board), board, NORMAL, "test: runs")
    assert info == RestartInfo("other", "", 0, 0)
    assert text.count("FreeRTOS V") == 1
    assert "no sign of life" not in text


def test_a_board_without_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no watchdog"):
        build_model(MODEL, "mps3-an547", tmp_path, BuildOptions(watchdog=True))
