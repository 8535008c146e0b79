"""Boards of the Cortex-A port, and the test application built for them and booted.

The boards are QEMU's generic `virt` machine with a GICv2 and with a GICv3, and an RV1126
with its own memory map, UART and GIC addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from fwgen.board.profile import load_board
from fwgen.build.application import Application
from fwgen.build.elf import read_image
from fwgen.build.options import BuildKind, BuildOptions
from fwgen.errors import TaskError
from fwgen.machine.from_board import machine_config
from fwgen.machine.session import QemuSession
from fwgen.pipeline import build_model
from fwgen.resources import resource_dir

HERE = Path(__file__).resolve().parent
BOARDS = HERE / "boards"
TASKS = ("conduct", "holder", "disturber", "pender", "yielder")
SECONDS = 90.0

ALL_CHECKS = 0
SOME_CHECKS = 16
"""`choice` of port_test.c; the other numbers are faults."""


GICV2 = str(BOARDS / "virt-a7.toml")
GICV3 = str(BOARDS / "virt-a7-gicv3.toml")
RV1126 = "rv1126-nvdla"


@dataclass(frozen=True)
class Boot:
    """What one run of the application said.

    Attributes:
        values: of the "port:" lines, in order, by their text.
        fault: fields of the fault report; empty without one.
        code: exit code of the emulator.
        text: of the console.
    """

    values: dict[str, list[int]]
    fault: dict[str, str]
    code: int | None
    text: str

    def value(self, name: str) -> int:
        """The only value with that text."""
        (value,) = self.values[name]
        return value


@dataclass(frozen=True)
class Firmware:
    """The application built for a board."""

    folder: Path
    board_file: str

    @property
    def elf(self) -> Path:
        return self.folder / "firmware.elf"

    def boot(self, choice: int, machine: str | None = None, *args: str) -> Boot:
        """Boot it.

        Args:
            choice: what it shall do.
            machine: -M instead of the profile's.
            args: further arguments of QEMU.
        """
        image = read_image(self.elf)
        place = image.symbols["choice"].address
        config = machine_config(load_board(self.board_file))
        config = replace(
            config,
            machine=machine or config.machine,
            extra_args=(
                *config.extra_args,
                *("-device", f"loader,addr={place:#x},data={choice},data-len=4"),
                *args,
            ),
        )
        code: int | None = None
        with QemuSession(self.elf, config, limit=SECONDS) as session:
            try:
                code = session.watch()
            except TaskError:
                code = session.process.wait(5.0)
        values: dict[str, list[int]] = {}
        for line in session.console.text().splitlines():
            if line.startswith("port: "):
                name, _, value = line.removeprefix("port: ").rpartition(" ")
                values.setdefault(name, []).append(int(value))
        report = session.console.fault
        return Boot(
            values,
            dict(report.fields) if report is not None else {},
            code,
            session.console.text(),
        )


def build_application(board_file: str, folder: Path) -> Firmware:
    """Build the application for a board."""
    app = Application(HERE / "app", ("hold.S", "port_test.c"), tasks=TASKS)
    options = BuildOptions(kind=BuildKind.TEST, link=False, jobs=2, app=app)
    model = resource_dir("examples") / "digits" / "digits.nvdla"
    build_model(model, board_file, folder, options)
    return Firmware(folder, board_file)
