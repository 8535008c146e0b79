"""Each Cortex-A board, emulated: its UART, interrupt controller and timer at its addresses.

The program (fixtures/board_a.c) knows nothing but the profile's numbers; the
accelerator at the profile's place is the toy of fixtures/toy_family.c.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fwgen.board.profile import list_boards, load_board
from fwgen.board.types import Board
from fwgen.machine.config import MachineConfig, OverlayDevice
from fwgen.machine.from_board import machine_config
from fwgen.machine.session import QemuSession

pytestmark = pytest.mark.qemu

SAME = ("a311d", "rv1109", "rv1126-cpu")  # machines of vim3 and rv1126
UARTS = {"dw_apb_uart": 1, "imx_uart": 2, "meson_uart": 3}


def with_toys(machine: MachineConfig) -> MachineConfig:
    toys = (replace(device, family="toy", config="fast") for device in machine.accelerators)
    return replace(machine, accelerators=tuple(toys))


def cortex_a(name: str) -> bool:
    board = load_board(name)
    return board.cpu.core.startswith("cortex-a") and board.qemu is not None


def macros(board: Board) -> dict[str, int]:
    cpu, console = board.cpu, board.console
    assert cpu.gic_distributor is not None
    values = {
        "GIC_VERSION": 2 if cpu.irq_controller == "gicv2" else 3,
        "GICD": cpu.gic_distributor,
        "GICC": cpu.gic_cpu_interface or 0,
        "GICR": cpu.gic_redistributor or 0,
        "UART_KIND": UARTS[console.driver],
        "UART": console.base,
        "UART_IRQ": console.receive_irq,
    }
    if board.accelerators:
        values |= {"BASE": board.accelerators[0].base, "IRQ": board.accelerators[0].irq}
    return values


@pytest.mark.parametrize(
    "name", [name for name in list_boards() if cortex_a(name) and name not in SAME]
)
def test_console_tick_and_device_interrupt(
    name: str, board_program: Callable[..., Path], toy_module: Path, tmp_path: Path
) -> None:
    board = load_board(name)
    machine = with_toys(machine_config(board))
    values = macros(board)
    assert board.qemu is not None
    overlays = {overlay.kind: overlay.base for overlay in board.qemu.overlays}
    if "rk_cru" in overlays and "rk_pmu" in overlays:
        values |= {"CRU": overlays["rk_cru"] or 0, "PMU": overlays["rk_pmu"] or 0}
        values |= {"WDT": overlays["dw_wdt"] or 0, "KEEP": 0x01000000}
    if name == "rv1126-nvdla":  # once: a flash of the machine at another address
        values["FLASH"] = 0x30000000
        options = (("alias", "flash"), ("of", "/machine/virt.flash1"), ("base", "0x30000000"))
        machine = replace(machine, overlays=(*machine.overlays, OverlayDevice(options)))
    hole = 0xF0000000
    if "unassigned" in board.qemu.add:
        values["NOTHING"] = hole
    elf = board_program(
        name,
        code=board.vector_table,
        data=board.regions("tensors", "dma")[0].base,
        **values,
    )
    with QemuSession(elf, machine, module=toy_module, limit=30) as session:
        assert session.watch(until="ready") is None
        assert session.console_line().send(b"some bytes\n", time.monotonic() + 5)
        code = session.watch()
    assert code == 0, session.console.text()
    text = session.console.text()
    assert "got some bytes" in text and "ticked" in text
    errors = [(error.accelerator, error.message) for error in session.guest_errors]
    if "CRU" in values:
        powered = bool(machine.accelerators[0].needs)
        assert powered == (name == "rv1126")
        assert ("device off" if powered else "device on") in text
        if powered:
            assert all(who == "npu0" and "not switched on" in what for who, what in errors[:2])
            errors = errors[2:]
    assert errors == (
        [
            ("bus", f"write of 4 bytes at {hole:#010x}, where the board has nothing"),
            ("bus", f"read of 4 bytes at {hole + 4:#010x}, where the board has nothing"),
        ]
        if "NOTHING" in values
        else []
    )
    if "CRU" in values:
        assert text.index("cold start") < text.index("after the watchdog")


def build(board: Board, board_program: Callable[..., Path], **more: int) -> Path:
    return board_program(
        f"{board.name}-{'-'.join(more)}",
        code=board.vector_table,
        data=board.regions("tensors", "dma")[0].base,
        **macros(board),
        **more,
    )


def test_two_runs_agree_to_the_nanosecond(
    board_program: Callable[..., Path], toy_module: Path
) -> None:
    board = load_board("rv1126-nvdla")
    elf = build(board, board_program, ALONE=1)
    times = []
    for _ in range(2):
        machine = with_toys(machine_config(board))
        with QemuSession(elf, machine, module=toy_module, limit=20) as session:
            assert session.wait_exit() == 0
        times.append([operation.time_ns for operation in session.operations])
    assert times[0] == times[1] and len(times[0]) == 1


def test_without_counting_instructions(
    board_program: Callable[..., Path], toy_module: Path
) -> None:
    board = load_board("vim3")
    elf = build(board, board_program, ALONE=1)
    machine = with_toys(machine_config(board, icount=False))
    with QemuSession(elf, machine, module=toy_module, limit=20) as session:
        assert session.wait_exit() == 0
    assert session.guest_errors == []


@pytest.mark.parametrize(
    ("name", "window", "size"),
    [
        ("rv1126-nvdla", "console", 0x100),
        ("rv1126-nvdla", "cru", 0x1000),
        ("rv1126-nvdla", "pmu", 0x1000),
        ("vim3", "console", 0x18),
        ("imx8mp", "console", 0xBC),
    ],
)
def test_random_accesses_end_nothing(
    name: str, window: str, size: int, board_program: Callable[..., Path], toy_module: Path
) -> None:
    board = load_board(name)
    assert board.qemu is not None
    bases = {overlay.name: overlay.base for overlay in board.qemu.overlays}
    base = board.console.base if window == "console" else bases[window]
    assert base is not None
    elf = build(board, board_program, FUZZ_BASE=base, FUZZ_SIZE=size)
    with QemuSession(elf, with_toys(machine_config(board)), module=toy_module, limit=60) as session:
        assert session.wait_exit() == 0
    assert {error.accelerator for error in session.guest_errors} <= {window}


def test_the_cortex_m7_of_imx8mp(bare_program: Callable[..., Path], toy_module: Path) -> None:
    board = load_board("imx8mp-m7")
    device = board.accelerators[0]
    elf = bare_program(
        1,
        cpu="cortex-m7",
        data=board.memory("ddr").base,
        UART=board.console.base,
        UART_IMX=1,
        BASE=device.base,
        IRQ=device.irq,
        STACK=board.memory("dtcm").end,
    )
    machine = with_toys(machine_config(board))
    with QemuSession(elf, machine, module=toy_module, limit=20) as session:
        assert session.wait_exit() == 0, session.console.text()
    assert session.guest_errors == []
    # The toy takes 50,000 cycles of its clock; SysTick counts those of the core.
    ticks = int(session.console.text().split()[1], 16)
    expected = 50_000 * board.cpu.clock_hz // device.clock_hz
    assert expected <= ticks < expected * 1.1
